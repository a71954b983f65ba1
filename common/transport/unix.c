/* SPDX-License-Identifier: MIT */
#include "transport/transport.h"

#include "base/files.h"

#include <unistd.h>
#include <uv.h>

static int unix_pair(int protocol, int fds[2])
{
    return uv_socketpair(SOCK_STREAM, 0, fds, 0, 0);
}

/* A path in a new directory with access for this user only. address_unlink() removes both. */
static int unix_data_address(struct address *data, const struct address *control, struct problem *problem)
{
    char folder[FOLDER_MAX], path[FOLDER_MAX + 2];
    if (folder_make(folder, "socket", geteuid(), problem) == 0) {
        snprintf(path, sizeof path, "%s/s", folder);
        if (address_set_path(data, path) == 0)
            return 0;
        problem_failure(problem, "%s is too long for a Unix socket: set TMPDIR to a folder with a short path",
                        path);
    }
    folder_remove(folder);
    return -1;
}

/* A path is valid only on the machine of the server. */
static int unix_data_target(struct address *data, const struct address *control, json_int_t port,
                            const char *path)
{
    if (!address_is_local(control))
        return -EPERM;
    return port ? -EINVAL : address_set_path(data, path);
}

const struct transport transport_unix = {
    .variant = {"unix", "a Unix stream socket"},
    .calls = &calls_of_sockets,
    .has_other_end = true,
    .family = AF_UNIX,
    .hides_eof = true,
    .pair = unix_pair,
    .data_address = unix_data_address,
    .data_target = unix_data_target,
};
