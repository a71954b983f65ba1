/* SPDX-License-Identifier: MIT */
#include "transport/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h> /* mkdtemp(3), on macOS */
#include <uv.h>

static int unix_pair(int protocol, int fds[2])
{
    (void)protocol;
    return uv_socketpair(SOCK_STREAM, 0, fds, 0, 0);
}

/* A path in a new directory with access for this user only. address_unlink() removes both. */
static int unix_data_address(struct address *data, const struct address *control)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&data->storage;
    const char *base = getenv("TMPDIR");
    int length;

    (void)control;
    *data = (struct address){.size = sizeof *un};
    un->sun_family = AF_UNIX;
    length = snprintf(un->sun_path, sizeof un->sun_path - sizeof "/data", "%s/uncork-XXXXXX",
                      base ? base : "/tmp");
    if (length < 0 || (size_t)length >= sizeof un->sun_path - sizeof "/data")
        return -ENAMETOOLONG;
    if (!mkdtemp(un->sun_path))
        return -errno;
    strcat(un->sun_path, "/data");
    return 0;
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
