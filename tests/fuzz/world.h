/* SPDX-License-Identifier: MIT */
/* What targets with a whole end have in common: its time, its work for threads of libuv, and the
 * messages of the other ends. An input is a row of steps, taken between turns of its loop. Time is
 * real time and what the steps skip; the loop does the work. Only data threads run beside it. */
#pragma once

#include "fuzz.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/version.h"
#include "connection/memory.h"
#include "control/codec.h"
#include "control/hello.h"
#include "plan/plan.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>

#define TURNS 5 /* from a plan to its ready message */

static struct input input;
static uint8_t token[TOKEN_SIZE];
static char folder[] = "/tmp/uncork-fuzz-XXXXXX"; /* of sockets */

static _Atomic uint64_t skipped_ns;

int clock_gettime(clockid_t id, struct timespec *time)
{
    long result = syscall(SYS_clock_gettime, id, time);
    if (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE && id != CLOCK_BOOTTIME)
        return (int)result;
    uint64_t ns = (uint64_t)time->tv_nsec + skipped_ns;
    time->tv_sec += (time_t)(ns / NS_PER_S);
    time->tv_nsec = (long)(ns % NS_PER_S);
    return (int)result;
}

struct work {
    uv_timer_t timer;
    uv_work_t *request;
    uv_after_work_cb after;
};

static void on_work_closed(uv_handle_t *timer)
{
    free(timer);
}

static void on_work_done(uv_timer_t *timer)
{
    const struct work *work = (struct work *)timer;
    work->after(work->request, 0);
    uv_close((uv_handle_t *)timer, on_work_closed);
}

int __wrap_uv_queue_work(uv_loop_t *loop, uv_work_t *request, uv_work_cb does, uv_after_work_cb after);
int __wrap_uv_queue_work(uv_loop_t *loop, uv_work_t *request, uv_work_cb does, uv_after_work_cb after)
{
    struct work *work = malloc(sizeof *work);
    abort_if(!work);
    *work = (struct work){.request = request, .after = after};
    uv_timer_init(loop, &work->timer);
    does(request);
    return uv_timer_start(&work->timer, on_work_done, 0, 0);
}

void __real_probe_counters(void);
void __wrap_probe_counters(void);
void __wrap_probe_counters(void)
{
    static bool is_done;
    if (!is_done) /* it sleeps */
        __real_probe_counters();
    is_done = true;
}

/* Turns the loop. `wait_ms`: data threads may do something meanwhile. */
static void turn(uv_loop_t *loop, int wait_ms)
{
    struct pollfd ready = {uv_backend_fd(loop), POLLIN, 0};
    do {
        for (int i = 0; i < TURNS; i++)
            uv_run(loop, UV_RUN_NOWAIT);
    } while (wait_ms-- > 0 && poll(&ready, 1, 1) >= 0);
}

static void remove_folder(void)
{
    folder_remove(folder);
}

static void world_open(void)
{
    atexit(remove_folder);
    abort_if(!mkdtemp(folder) || !(stderr = fopen("/dev/null", "we"))); /* the log */
    signal(SIGPIPE, SIG_IGN);
    memory_bound_set(8 << 20);
}

/* ---- other ends ---- */

static void disconnect(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void send_bytes(int fd, const void *bytes, size_t size)
{
    if (fd >= 0)
        (void)!send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void send_message(int fd, enum control_type type, json_t *body)
{
    struct problem problem = {0};
    struct bytes bytes = {0};
    if (control_encode(type, body, &bytes, &problem) == 0)
        send_bytes(fd, bytes.data, bytes.size);
    free(bytes.data);
    json_decref(body);
}

/* A message of any type, whose values come from the input. */
static void send_any(int fd)
{
    enum control_type type = input_byte(&input) % CONTROL_TYPE_COUNT;
    uint8_t choice = input_byte(&input);
    const char *end = end_names[choice % END_COUNT];
    char tokens[2 * TOKEN_SIZE + 1];
    json_t *body = NULL, *bytes;

    hex_format(tokens, token, TOKEN_SIZE);
    if (type == CONTROL_ASK) {
        body = json_pack("{s:s}", "version", choice & 1 ? "" : UNCORK_VERSION);
    } else if (type == CONTROL_DRAIN) {
        bytes = json_array();
        for (unsigned i = 0; i < choice >> 5; i++)
            json_array_append_new(bytes,
                                  json_integer((json_int_t)input_byte(&input) << input_byte(&input) % 57));
        body = json_pack("{s:s, s:o}", "end", end, "bytes", bytes);
    } else if (type == CONTROL_DRAINING) {
        body = json_pack("{s:s}", "end", end);
    } else if (type == CONTROL_FAILED || type == CONTROL_REFUSED) {
        body = json_pack("{s:s, s:s*, s:s}", "kind", "failed", "phase", type == CONTROL_FAILED ? "run" : NULL,
                         "text", "because");
    } else if (type == CONTROL_SINK) {
        body = json_pack("{s:o, s:s, s:s, s:s}", "address", json_sprintf("unix:%s/%d", folder, choice & 1),
                         "token", choice & 2 ? "x" : tokens, "key", "", "host", "fuzz");
    } else if (type == CONTROL_READY) {
        body = json_pack("{s:i, s:o, s:s, s:s, s:s, s:s}", "port", choice >> 7, "path",
                         json_sprintf("%s/data", folder), "token", choice & 1 ? "x" : tokens, "key",
                         choice & 2 ? "" : tokens, "handshake", choice & 4 ? "certificate" : "psk-ecdhe",
                         "host", "fuzz");
    } else if (type == CONTROL_REPORT || type == CONTROL_FACTS) {
        struct input part = input_part(&input, input_byte(&input));
        json_t *value = json_loadb((const char *)part.data, part.size, JSON_ALLOW_NUL, NULL);
        body = json_pack("{s:o}", "value", json_is_object(value) ? json_incref(value) : json_object());
        json_decref(value);
    }
    send_message(fd, type, body);
}
