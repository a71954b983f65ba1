/* SPDX-License-Identifier: MIT */
#include "own_server.h"

#include "base/cleanup.h"
#include "base/secret.h"
#include "control/channel_tls.h"

#include <fcntl.h>
#include <jansson.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <uv.h>

#define READY_WITHIN_S 5
#define ENDS_WITHIN_MS 9000 /* a server that starts a subject may be busy for 8 s */
#define KEY_FD 3            /* after standard input, output and error */
#define KEY_FILE "/dev/fd/3"
#define EXIT_WITHIN_MS 50 /* its connections close before its exit can be seen */

extern char **environ;

static int find_program(char *path, size_t size, struct problem *problem)
{
    static const char name[] = "uncork-server";
    char *slash;

    if (uv_exepath(path, &size) < 0 || !(slash = strrchr(path, '/')) ||
        (size_t)(slash + 1 - path) + sizeof name > 4096)
        return problem_failure(problem, "cannot find uncork-server: the path of this program is not known");
    memcpy(slash + 1, name, sizeof name);
    return 0;
}

/* Makes a random key for the server. Returns the read end of a pipe that contains its line, or -1
 * with a failure. In an argument, a file or the environment the key would stay readable. */
static int open_key(struct own_server *server, struct problem *problem)
{
    char line[PSK_LINE_MAX];
    int ends[2];
    bool is_written;

    if (!(server->keys = psk_generate(line, problem)))
        return -1;
    if (pipe(ends) < 0)
        return problem_failure(problem, "cannot make a pipe for a key: %s", strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);                 /* the server gets it as KEY_FILE */
    is_written = write(ends[1], line, strlen(line)) > 0; /* an empty pipe holds a page */
    secret_wipe(line, sizeof line);
    close(ends[1]);
    if (is_written)
        return ends[0];
    close(ends[0]);
    return problem_failure(problem, "cannot write a key into a pipe");
}

/* Lists the arguments of the server, with a NULL at the end. The texts belong to `location`. */
static void list_arguments(char *arguments[12], char *program, bool proxy, const struct location *location)
{
    const bool keyed = location->netns;
    const char *const all[] = {program,
                               "--with-parent",
                               "--listen",
                               location->listen,
                               keyed ? "--psk" : NULL,
                               keyed ? KEY_FILE : NULL,
                               proxy ? "--proxy" : NULL,
                               location->subjects ? "--subjects" : NULL,
                               location->subjects,
                               location->sink ? "--allow-sink" : NULL,
                               location->sink};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            *arguments++ = (char *)(uintptr_t)all[i];
    *arguments = NULL;
}

/* `key`: descriptor that becomes KEY_FD; -1: none. */
static int spawn(struct own_server *server, bool proxy, const struct location *location, int key,
                 struct problem *problem)
{
    char program[4096], *arguments[12];
    posix_spawn_file_actions_t actions;
    int ends[2], error;

    if (find_program(program, sizeof program, problem) < 0)
        return -1;
    list_arguments(arguments, program, proxy, location);
    error = uv_socketpair(SOCK_STREAM, 0, ends, 0, 0);
    if (error)
        return problem_failure(problem, "cannot start %s: %s", program, uv_strerror(error));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (key >= 0)
        posix_spawn_file_actions_adddup2(&actions, key, KEY_FD);
    error = posix_spawn(&server->child.pid, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (!error) {
        server->channel_fd = ends[0];
        return 0;
    }
    close(ends[0]);
    server->child.pid = 0;
    return problem_failure(problem, "cannot start %s: %s", program, uv_strerror(-error));
}

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

static int spawn_in_namespace(struct own_server *server, bool proxy, const struct location *location,
                              struct problem *problem)
{
    CLEANUP_CLOSE int key = -1, before = -1, target = -1;
    int result;

    if (!location->netns)
        return spawn(server, proxy, location, key, problem);
    if (channel_tls_check("lab=on", problem) < 0 || (key = open_key(server, problem)) < 0)
        return -1;
    before = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    target = open(location->netns, O_RDONLY | O_CLOEXEC);
    if (before < 0 || target < 0 || enter_namespace(target) < 0)
        return problem_failure(problem, "cannot enter the network namespace %s: %s", location->netns,
                               strerror(errno));
    result = spawn(server, proxy, location, key, problem); /* starts in the namespace */
    if (enter_namespace(before) < 0)
        return problem_failure(problem, "cannot return from the network namespace %s: %s", location->netns,
                               strerror(errno));
    return result;
}

/* Reads the first line that the server prints. Returns its size; 0 if the server ended or was
 * silent for READY_WITHIN_S. */
static size_t read_line(const struct own_server *server, char *line, size_t room)
{
    static const struct timeval within = {.tv_sec = READY_WITHIN_S};
    size_t size = 0;

    setsockopt(server->channel_fd, SOL_SOCKET, SO_RCVTIMEO, &within, sizeof within);
    while (!memchr(line, '\n', size)) {
        ssize_t got = recv(server->channel_fd, line + size, room - size, 0);

        if (got == 0 || (got < 0 && errno != EINTR)) /* closing a probed ring causes EINTR */
            return 0;
        size += got > 0 ? (size_t)got : 0;
    }
    return size;
}

int own_server_start(struct own_server *server, bool proxy, const struct location *location,
                     struct problem *problem)
{
    CLEANUP_JSON json_t *ready = NULL;
    char line[512] = "", text[ADDRESS_MAX];
    const char *host;
    size_t size;
    int port;

    if (!child_ends_within(&server->child, 0))
        return 0;
    own_server_stop(server);
    if (spawn_in_namespace(server, proxy, location, problem) < 0)
        return -1;
    size = read_line(server, line, sizeof line - 1);
    if (!size)
        return problem_failure(problem, "uncork-server printed no ready line");
    ready = json_loadb(line, size, JSON_DISABLE_EOF_CHECK, NULL);
    if (json_unpack(ready, "{s:{s:s, s:i}}", "ready", "address", &host, "port", &port) < 0)
        return problem_failure(problem, "uncork-server printed '%.100s' in place of its ready line", line);
    snprintf(text, sizeof text, "%s:%d", host, port);
    return address_parse(&server->address, text, problem);
}

void own_server_stop(struct own_server *server)
{
    psk_free(server->keys);
    server->keys = NULL;
    if (!server->channel_fd)
        return;
    child_end(&server->child, ENDS_WITHIN_MS);
    close(server->channel_fd);
    server->channel_fd = 0;
}

void own_server_stop_failed(struct own_server *server, const char *name, struct problem *reason)
{
    char how[CHILD_TEXT_MAX], text[96];

    if (server->child.pid && child_ends_within(&server->child, EXIT_WITHIN_MS)) {
        child_describe(&server->child, how);
        snprintf(text, sizeof text, "the %s %s", name, how);
        problem_add(reason, text);
    }
    own_server_stop(server);
}
