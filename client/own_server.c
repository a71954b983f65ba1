/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "base/bytes.h"
#include "base/cleanup.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <string.h>

#define READY_WITHIN_MS 5000
#define ENDS_WITHIN_MS 3000
#define EXIT_WITHIN_MS 50 /* its connections close before its exit can be seen */
#define KEY_FD 3          /* after standard input, output and error */
#define KEY_FILE "/dev/fd/3"
#define ARGUMENTS_MAX 12

/* The server is ready, or has failed to start: tells who waits. */
static void report(struct own_server *server, const struct problem *problem)
{
    struct link *link = server->waiting;
    server->waiting = NULL;
    server->is_ready = problem->kind == PROBLEM_NONE;
    if (server->open_handles) {
        uv_timer_stop(&server->timer);
        uv_read_stop((uv_stream_t *)&server->output);
    }
    if (link)
        link_server_ready(link, problem);
}

/* Its time is up, or it has ended. */
static void on_silent(uv_timer_t *timer)
{
    struct problem problem = {0};
    problem_failure(&problem, "uncork-server printed no ready line");
    report(timer->data, &problem);
}

/* ---- its process ---- */

static void on_closed(uv_handle_t *handle)
{
    struct own_server *server = handle->data;
    if (--server->open_handles == 0 && server->waiting)
        own_server_start(server->waiting);
}

static void close_handles(struct own_server *server)
{
    uv_close((uv_handle_t *)&server->process, on_closed);
    uv_close((uv_handle_t *)&server->input, on_closed);
    uv_close((uv_handle_t *)&server->output, on_closed);
    uv_close((uv_handle_t *)&server->timer, on_closed);
}

static void on_ended(uv_process_t *process, int64_t status, int signal_number)
{
    struct own_server *server = process->data;
    child_note_end(&server->child, status, signal_number);
    if (!server->is_ready)
        on_silent(&server->timer);
    close_handles(server);
}

/* Appends an option to a list with a NULL at the end. */
static void add_option(char **arguments, const char *option, const char *value)
{
    while (*arguments)
        arguments++;
    arguments[0] = (char *)(uintptr_t)option;
    arguments[1] = (char *)(uintptr_t)value;
}

/* For `server->waiting`, which is set. `key`: descriptor that becomes KEY_FD; -1: none. */
static int spawn(struct own_server *server, int key, struct problem *problem)
{
    struct client *client = server->waiting->run->client;
    enum end end = server->waiting->end; /* END_PROXY: it is a proxy */
    const struct options *options = client->options;
    const struct location *server_place = &options->locations[END_SERVER];
    char own[PATH_MAX - 16], program[PATH_MAX], *arguments[ARGUMENTS_MAX] = {program};
    uv_stdio_container_t stdio[KEY_FD + 1] = {
        {UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&server->input},
        {UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&server->output},
        {UV_INHERIT_FD, .data.fd = STDERR_FILENO},
        {UV_INHERIT_FD, .data.fd = key}};
    uv_process_options_t process = {.exit_cb = on_ended,
                                    .file = program,
                                    .args = arguments,
                                    .stdio = stdio,
                                    .stdio_count = KEY_FD + (key >= 0)};

    if (uv_exepath(own, &(size_t){sizeof own}) < 0)
        return problem_failure(problem, "cannot find uncork-server: the path of this program is not known");
    snprintf(program, sizeof program, "%s/uncork-server", dirname(own));
    add_option(arguments, "--with-parent", NULL);
    add_option(arguments, "--listen", options->locations[end].listen);
    if (key >= 0)
        add_option(arguments, "--psk", KEY_FILE);
    if (end == END_PROXY)
        add_option(arguments, "--proxy", NULL);
    if (options->subjects)
        add_option(arguments, "--subjects", options->subjects);
    if (end == END_PROXY && server_place->netns) /* else its sink must be on loopback */
        add_option(arguments, "--allow-sink", server_place->host);
    uv_timer_init(&client->loop, &server->timer);
    uv_pipe_init(&client->loop, &server->input, 0);
    uv_pipe_init(&client->loop, &server->output, 0);
    server->open_handles = 4;
    server->timer.data = server->input.data = server->output.data = server->process.data = server;
    int error = uv_spawn(&client->loop, &server->process, &process);
    if (error) {
        close_handles(server);
        return problem_failure(problem, "cannot start %s: %s", program, uv_strerror(error));
    }
    server->child.pid = server->process.pid;
    server->has_started = true;
    return 0;
}

/* ---- its network namespace and its key ---- */

static int enter_namespace(int netns)
{
#ifdef __linux__
    return setns(netns, CLONE_NEWNET);
#else
    (void)netns;
    errno = ENOSYS;
    return -1;
#endif
}

/* In a network namespace the server gets a random key, as a line in a pipe. In an argument, a file
 * or the environment the key would stay readable. */
static int spawn_in_namespace(struct own_server *server, struct problem *problem)
{
    const struct link *link = server->waiting;
    const char *netns = link->run->client->options->locations[link->end].netns;
    CLEANUP_CLOSE int key = -1, before = -1, target = -1;
    char line[PSK_LINE_MAX];
    int ends[2];

    if (!netns)
        return spawn(server, key, problem);
    if (channel_tls_check("lab=on", problem) < 0 || !(server->keys = psk_generate(line, problem)))
        return -1;
    if (pipe(ends) < 0) {
        secret_wipe(line, sizeof line);
        return problem_failure(problem, "cannot make a pipe for a key: %s", strerror(errno));
    }
    key = ends[0];
    fcntl(key, F_SETFD, FD_CLOEXEC);                          /* the server gets it as KEY_FILE */
    bool is_written = write(ends[1], line, strlen(line)) > 0; /* an empty pipe holds a page */
    secret_wipe(line, sizeof line);
    close(ends[1]);
    if (!is_written)
        return problem_failure(problem, "cannot write a key into a pipe");

    before = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    target = open(netns, O_RDONLY | O_CLOEXEC);
    if (before < 0 || target < 0 || enter_namespace(target) < 0)
        return problem_failure(problem, "cannot enter the network namespace %s: %s", netns, strerror(errno));
    int result = spawn(server, key, problem); /* starts in the namespace */
    if (enter_namespace(before) < 0)
        return problem_failure(problem, "cannot return from the network namespace %s: %s", netns,
                               strerror(errno));
    return result;
}

/* ---- its ready line, and its end ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct own_server *server = handle->data;
    size_t size = strlen(server->line);
    (void)suggested;
    *buffer = uv_buf_init(server->line + size, (unsigned)(sizeof server->line - 1 - size));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct own_server *server = stream->data;
    struct problem problem = {0};
    char text[ADDRESS_MAX];
    const char *host;
    int port;

    if (size < 0) { /* it ends */
        uv_read_stop(stream);
        return;
    }
    buffer->base[size] = '\0';
    if (!strchr(server->line, '\n'))
        return;
    CLEANUP_JSON json_t *ready = json_loads(server->line, JSON_DISABLE_EOF_CHECK, NULL);
    if (json_unpack(ready, "{s:{s:s, s:i}}", "ready", "address", &host, "port", &port) < 0) {
        problem_failure(&problem, "uncork-server printed '%.100s' in place of its ready line", server->line);
    } else {
        snprintf(text, sizeof text, "%s:%d", host, port);
        address_parse_numeric(&server->address, text, &problem);
    }
    report(server, &problem);
}

void own_server_start(struct link *link)
{
    struct own_server *server = &link->run->client->own[link->end];
    struct problem problem = {0};

    server->waiting = link;
    if (server->child.pid && server->is_ready) {
        report(server, &problem);
        return;
    }
    if (server->child.pid || server->open_handles)
        return; /* it starts, or has just ended: it starts again when its handles are closed */
    psk_free(server->keys);
    server->keys = NULL;
    server->has_started = server->is_ready = false;
    *server->line = '\0';
    if (spawn_in_namespace(server, &problem) < 0) {
        report(server, &problem);
        return;
    }
    uv_timer_start(&server->timer, on_silent, READY_WITHIN_MS, 0);
    uv_read_start((uv_stream_t *)&server->output, on_alloc, on_read);
}

void own_server_stop(struct client *client, enum end end, struct problem *reason)
{
    struct own_server *server = &client->own[end];
    char how[CHILD_TEXT_MAX], text[96];

    if (reason && server->has_started && child_ends_within(&server->child, EXIT_WITHIN_MS)) {
        child_describe(&server->child, how);
        snprintf(text, sizeof text, "the %s %s", end_names[end], how);
        problem_add(reason, text);
    }
    server->waiting = NULL;
    child_end(&server->child, ENDS_WITHIN_MS);
    if (server->open_handles && !uv_is_closing((uv_handle_t *)&server->process))
        close_handles(server);
    while (server->open_handles > 0)
        uv_run(&client->loop, UV_RUN_ONCE);
    psk_free(server->keys);
    *server = (struct own_server){0};
}
