/* SPDX-License-Identifier: MIT */
#include "own_server.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/netns.h"
#include "base/secret.h"
#include "control/channel_tls.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define READY_WITHIN_MS 5000
#define ENDS_WITHIN_MS 2000
#define KEY_FILE "/dev/fd/3" /* after standard input, output and error */
#define DYING_MS 50          /* its connections close before its exit is reported */

static void on_exit_of_server(uv_process_t *process, int64_t status, int signal)
{
    struct own_server *server = process->data;

    server->ended = server->has_line = true;
    server->exit_status = status;
    server->exit_signal = signal;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct own_server *server = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(server->line + server->size, (unsigned)(sizeof server->line - 1 - server->size));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct own_server *server = stream->data;

    (void)buffer;
    if (size > 0)
        server->size += (size_t)size;
    server->has_line |= memchr(server->line, '\n', server->size) != NULL;
    if (size < 0 || server->size == sizeof server->line - 1)
        uv_read_stop(stream);
}

/* Runs the loop until `*done` or the time is over. */
static bool run_until(const struct own_server *server, const bool *done, uint64_t within_ms)
{
    uint64_t until = clock_now_ns() + within_ms * NS_PER_MS;

    uv_run(server->loop, UV_RUN_NOWAIT);
    while (!*done && clock_now_ns() < until) {
        uv_sleep(1);
        uv_run(server->loop, UV_RUN_NOWAIT);
    }
    return *done;
}

/* The server's program is in the directory of the client's. */
static int find_program(char *path, size_t size, struct problem *problem)
{
    static const char name[] = "uncork-server";
    char *slash;

    if (uv_exepath(path, &size) < 0 || !(slash = strrchr(path, '/')) ||
        (size_t)(slash + 1 - path) + sizeof name > 4096)
        return problem_failure(problem,
                               "cannot tell where this program is, and so not where uncork-server is");
    memcpy(slash + 1, name, sizeof name);
    return 0;
}

/* The read end of a pipe that holds the line with the server's key; -1 with a failure. A key in
 * an argument, a file or the environment would stay readable there. */
static int open_key(const struct own_server *server, struct problem *problem)
{
    char line[PSK_LINE_MAX];
    size_t size = psk_format(line, &server->keys->entries[0]);
    int ends[2];
    bool is_written;

    if (pipe(ends) < 0)
        return problem_failure(problem, "cannot make a pipe for a key: %s", strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);                      /* the server gets it as KEY_FILE */
    is_written = write(ends[1], line, size) == (ssize_t)size; /* an empty pipe holds a page */
    secret_wipe(line, sizeof line);
    close(ends[1]);
    if (is_written)
        return ends[0];
    close(ends[0]);
    return problem_failure(problem, "cannot write a key into a pipe");
}

/* The arguments of the server, ended by NULL. The texts belong to `where`. */
static void list_arguments(char *arguments[10], char *program, bool proxy, const struct where *where)
{
    char **next = arguments;

    *next++ = program;
    *next++ = "--with-parent";
    *next++ = "--listen";
    *next++ = (char *)(uintptr_t)where->listen;
    if (where->netns) {
        *next++ = "--psk";
        *next++ = KEY_FILE;
    }
    if (proxy)
        *next++ = "--proxy";
    if (where->sink) {
        *next++ = "--allow-sink";
        *next++ = (char *)(uintptr_t)where->sink;
    }
    *next = NULL;
}

/* `key`: descriptor that becomes KEY_FILE; -1: none. */
static int spawn(struct own_server *server, bool proxy, const struct where *where, int key,
                 struct problem *problem)
{
    char program[4096], *arguments[10];
    uv_stdio_container_t stdio[4] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&server->input},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&server->output},
        {.flags = UV_INHERIT_FD, .data.fd = 2},
        {.flags = UV_INHERIT_FD, .data.fd = key},
    };
    uv_process_options_t options = {.exit_cb = on_exit_of_server,
                                    .file = program,
                                    .args = arguments,
                                    .stdio = stdio,
                                    .stdio_count = key < 0 ? 3 : 4};
    int result;

    if (find_program(program, sizeof program, problem) < 0)
        return -1;
    list_arguments(arguments, program, proxy, where);
    uv_pipe_init(server->loop, &server->input, 0);
    uv_pipe_init(server->loop, &server->output, 0);
    server->process.data = server->input.data = server->output.data = server;
    result = uv_spawn(server->loop, &server->process, &options);
    server->spawned = true;
    server->ended = result < 0;
    if (result < 0)
        return problem_failure(problem, "cannot start %s: %s", program, uv_strerror(result));
    uv_read_start((uv_stream_t *)&server->output, on_alloc, on_read);
    return 0;
}

static int parse_ready(struct own_server *server, struct problem *problem)
{
    CLEANUP_JSON json_t *line = json_loadb(server->line, server->size, JSON_DISABLE_EOF_CHECK, NULL);
    const json_t *ready = json_object_get(line, "ready");
    const char *host = json_string_value(json_object_get(ready, "address"));
    char text[ADDRESS_MAX];

    if (!host)
        return problem_failure(problem, "uncork-server said '%.100s' instead of its ready line",
                               server->line);
    snprintf(text, sizeof text, "%s:%lld", host,
             (long long)json_integer_value(json_object_get(ready, "port")));
    return address_parse(&server->address, text, problem);
}

static int spawn_there(struct own_server *server, bool proxy, const struct where *where,
                       struct problem *problem)
{
    CLEANUP_CLOSE int key = -1;
    int before, result, left;

    if (where->netns) {
        if (channel_tls_check("lab=on", problem) < 0 || !(server->keys = psk_draw(problem)) ||
            (key = open_key(server, problem)) < 0)
            return -1;
    }
    before = where->netns ? netns_enter(where->netns) : 0;
    if (before < 0)
        return problem_failure(problem, "cannot enter the network namespace %s: %s", where->netns,
                               strerror(-before));
    result = spawn(server, proxy, where, key, problem); /* starts in the namespace */
    left = where->netns ? netns_leave(before) : 0;
    if (left < 0)
        return problem_failure(problem, "cannot come back from the network namespace %s: %s", where->netns,
                               strerror(-left));
    return result;
}

int own_server_start(struct own_server *server, uv_loop_t *loop, bool proxy, const struct where *where,
                     struct problem *problem)
{
    if (server->spawned && !server->ended)
        return 0;
    own_server_stop(server);
    *server = (struct own_server){.loop = loop};
    if (spawn_there(server, proxy, where, problem) < 0)
        return -1;
    if (!run_until(server, &server->has_line, READY_WITHIN_MS) || server->ended)
        return problem_failure(problem, "uncork-server did not become ready");
    return parse_ready(server, problem);
}

static void on_closed(uv_handle_t *handle)
{
    struct own_server *server = handle->data;

    server->closed = --server->open_handles == 0;
}

void own_server_stop(struct own_server *server)
{
    uv_handle_t *handles[] = {(uv_handle_t *)&server->process, (uv_handle_t *)&server->input,
                              (uv_handle_t *)&server->output};

    psk_free(server->keys);
    server->keys = NULL;
    if (!server->spawned)
        return;
    if (!server->ended)
        uv_process_kill(&server->process, SIGTERM);
    if (!run_until(server, &server->ended, ENDS_WITHIN_MS)) {
        uv_process_kill(&server->process, SIGKILL);
        run_until(server, &server->ended, ENDS_WITHIN_MS);
    }
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        uv_close(handles[i], on_closed);
        server->open_handles++;
    }
    run_until(server, &server->closed, ENDS_WITHIN_MS);
    server->spawned = false;
}

const char *own_server_fate(struct own_server *server, char text[64])
{
    if (server->spawned)
        run_until(server, &server->ended, DYING_MS);
    if (!server->spawned || !server->ended)
        return NULL;
    if (server->exit_signal)
        snprintf(text, 64, "was ended by signal %d", server->exit_signal);
    else
        snprintf(text, 64, "ended with status %d", (int)server->exit_status);
    return text;
}
