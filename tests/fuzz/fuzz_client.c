/* SPDX-License-Identifier: MIT */
/* A run of the client, among servers, proxies and data connections that say anything in any order:
 * it ends with a record, whose failure has a reason, and no descriptor is left. */
#include "world.h"

#include "client/run.h"
#include "words/word.h"

#include <sys/socket.h>

#define STEPS_MAX 48
#define DATA_MAX 4
#define TURNS_MAX 5000 /* of 50 ms after the last step: more than any limit of time */

/* The ends that the client connects to: a server, a proxy, and the data connections of both. */
enum where { SERVER, PROXY, DATA, PLACES };
static const char *const names[PLACES] = {"server", "proxy", "data"};
static int listeners[PLACES], channels[PLACES], data[DATA_MAX];
static struct client client;
static unsigned steps, turns;

#define UNIX "place=free", "transport=unix", "duration=10ms"
static const char *const shapes[][9] = {
    {UNIX, "warmup=2ms"},
    {UNIX, "warmup=0s", "engine=poll", "connections=3"},
    {UNIX, "warmup=2ms", "workload=stream"},
    {UNIX, "warmup=2ms", "workload=stream", "direction=receive"},
    {UNIX, "warmup=2ms", "workload=stream", "direction=both", "engine=poll"},
    {UNIX, "warmup=0s", "workload=connect", "engine=poll"},
    {UNIX, "warmup=2ms", "workload=proxy"},
    {UNIX, "warmup=0s", "workload=proxy", "connections=2", "engine=poll"},
    {UNIX, "warmup=0s", "security=gnutls", "write=writev"},
    {UNIX, "warmup=0s", "protocol=resp", "op=get:32", "verify=on"},
    {"place=free", "transport=unix", "messages=2", "warmup=0s", "message=16", "reply=16", "engine=block"},
};
#undef UNIX
#define SHAPES (sizeof shapes / sizeof *shapes)
static struct plan plans[SHAPES];

static void discard(int fd)
{
    static uint8_t bytes[65536];
    while (fd >= 0 && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
}

static void accept_all(void)
{
    for (enum where place = 0; place < PLACES; place++)
        for (int fd; listeners[place] >= 0 && (fd = sockets_accept(listeners[place], false)) >= 0;) {
            int *to = place == DATA ? data : &channels[place];
            while (place == DATA && *to >= 0 && to < &data[DATA_MAX - 1])
                to++;
            disconnect(to);
            *to = fd;
        }
    for (int i = 0; i < PROXY + 1; i++)
        discard(channels[i]);
}

enum step { MESSAGE, FRAME, BYTES, PAUSE, CLOSE, HALF_CLOSE, SEND, SILENCE, READ, WAIT, STEPS };

static void take_step(uv_loop_t *loop)
{
    static const uint8_t zeros[4096];
    uint8_t first = input_byte(&input);
    int *channel = &channels[first >> 7], *one = &data[(first >> 4) % DATA_MAX];
    struct input part;

    switch ((enum step)(first & 15) % STEPS) {
    case MESSAGE:
        send_any(*channel);
        break;
    case FRAME:
        part = input_part(&input, input_byte(&input));
        send_bytes(*channel, (uint8_t[4]){0, 0, 0, (uint8_t)part.size}, 4);
        send_bytes(*channel, part.data, part.size);
        break;
    case BYTES:
    case SEND:
        part = input_part(&input, input_byte(&input));
        send_bytes((first & 15) == SEND ? *one : *channel, part.data, part.size);
        break;
    case PAUSE:
        skipped_ns += NS_PER_MS << input_byte(&input) % 14;
        break;
    case CLOSE:
        disconnect(first & 64 ? channel : one);
        break;
    case HALF_CLOSE:
        shutdown(first & 64 ? *channel : *one, SHUT_WR);
        break;
    case SILENCE:
        send_bytes(*one, zeros, 16 * (size_t)input_byte(&input));
        break;
    case READ:
        discard(*one);
        break;
    case WAIT:
        turn(loop, 1 + first / 64);
        break;
    case STEPS:
        break;
    }
}

/* The client turns its loop: first the steps of the input come, then all ends go. */
int __real_uv_run(uv_loop_t *loop, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode)
{
    if (loop != &client.loop || mode != UV_RUN_ONCE)
        return __real_uv_run(loop, mode);
    if (steps == 0 && turns == 0)
        turn(loop, 0); /* it connects */
    accept_all();
    if (steps++ < STEPS_MAX && input.size) {
        take_step(loop);
    } else {
        for (int i = 0; i < DATA_MAX; i++)
            disconnect(&data[i]);
        for (enum where place = 0; place < PLACES; place++) {
            disconnect(&listeners[place]);
            disconnect(&channels[place]);
        }
        abort_if(turns++ > TURNS_MAX);
        skipped_ns += turns > 100 ? 50 * NS_PER_MS : 0;
        turn(loop, 1);
    }
    turn(loop, 0);
    return 1;
}

static void run(bool wants_facts, const struct plan *plan)
{
    struct problem problem = {0};
    struct options options = {.parent_fd = NO_PARENT_FD};

    client = (struct client){.options = &options};
    abort_if(loop_open(&client.loop, &problem) < 0);
    CLEANUP_JSON json_t *record =
        wants_facts ? run_facts(&client, plan, &problem) : run_cell(&client, plan, &problem);
    abort_if(!record && (problem.kind == PROBLEM_NONE || !*problem.text));
    const char *status = json_string_value(json_object_get(record, "status"));
    if (status && !strcmp(status, "ok"))
        answer_print(record);
    else if (status)
        abort_if(!*record_text(record, "reason"));
    CLEANUP_FREE char *text = record ? json_dumps(record, 0) : NULL;
    abort_if(record && !text);
    uv_run(&client.loop, UV_RUN_NOWAIT);
    abort_if(uv_loop_close(&client.loop) < 0);
}

static void run_among(const uint8_t *bytes, size_t size)
{
    struct problem problem = {0};
    char path[64];

    input = (struct input){bytes, size};
    uint8_t kind = input_byte(&input);
    skipped_ns = steps = turns = 0;
    for (int i = 0; i < DATA_MAX; i++)
        data[i] = -1;
    for (enum where place = 0; place < PLACES; place++) {
        struct address address;
        channels[place] = -1;
        snprintf(path, sizeof path, "%s/%s", folder, names[place]);
        abort_if(address_set_path(&address, path) < 0);
        unlink(path);
        abort_if((listeners[place] = address_listen(-1, &address, &problem)) < 0);
    }
    run(kind >> 4 == 15, &plans[kind % 16 % SHAPES]);
    for (enum where place = 0; place < PLACES; place++) {
        disconnect(&listeners[place]);
        disconnect(&channels[place]);
    }
    for (int i = 0; i < DATA_MAX; i++)
        disconnect(&data[i]);
    skipped_ns = 0;
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    struct problem problem = {0};

    world_open();
    abort_if(!(stdout = fopen("/dev/null", "we"))); /* answers */
    for (size_t i = 0; i < SHAPES; i++) {
        char server[64], via[64];
        const char *words[11] = {server};
        size_t words_count = 1;

        snprintf(server, sizeof server, "server=unix:%s/server", folder);
        snprintf(via, sizeof via, "via=unix:%s/proxy", folder);
        for (const char *const *word = shapes[i]; *word; word++) {
            if (!strcmp(*word, "workload=proxy"))
                words[words_count++] = via;
            words[words_count++] = *word;
        }
        abort_if(plan_parse(&plans[i], words, words_count, &problem) < 0);
    }
    run_among(NULL, 0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int lowest = dup(0);
    close(lowest);
    run_among(bytes, size);
    int again = dup(0);
    close(again);
    abort_if(again != lowest);
    return 0;
}
