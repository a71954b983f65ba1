/* SPDX-License-Identifier: MIT */
#include "transport/transport.h"

#include "net/sockets.h"

#include <netinet/in.h>
#include <unistd.h>

static void loopback(struct address *address)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&address->storage;

    *address = (struct address){.size = sizeof *in};
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

int tcp_pair_through(int listener, int protocol, int fds[2])
{
    struct address address;
    int result;

    loopback(&address);
    if (bind(listener, (struct sockaddr *)&address.storage, address.size) < 0 || listen(listener, 1) < 0)
        return -errno;
    if ((result = address_of_socket(&address, listener)) < 0)
        return result;
    if ((fds[0] = sockets_make(AF_INET, SOCK_STREAM, protocol, true)) < 0)
        return -errno;
    if (connect(fds[0], (struct sockaddr *)&address.storage, address.size) == 0 &&
        (fds[1] = accept(listener, NULL, NULL)) >= 0)
        return 0;
    result = -errno;
    close(fds[0]);
    return result;
}

int tcp_make_pair(int protocol, int fds[2])
{
    int listener = sockets_make(AF_INET, SOCK_STREAM, protocol, true), result;

    if (listener < 0)
        return -errno;
    result = tcp_pair_through(listener, protocol, fds);
    close(listener);
    return result;
}

int tcp_data_address(struct address *data, const struct address *control, struct problem *problem)
{
    (void)problem;
    if (control->storage.ss_family == AF_UNIX)
        loopback(data);
    else
        *data = *control;
    address_set_port(data, 0);
    return 0;
}

int tcp_data_target(struct address *data, const struct address *control, json_int_t port, const char *path)
{
    if (port < 1 || port > UINT16_MAX || *path)
        return -EINVAL;
    tcp_data_address(data, control, NULL);
    address_set_port(data, (int)port);
    return 0;
}

const struct transport transport_tcp = {
    .variant = {"tcp", "TCP, over IPv4 or IPv6 by the server's address"},
    .calls = &calls_of_sockets,
    .has_other_end = true,
    .is_tcp = true,
    .family = AF_INET,
    .pair = tcp_make_pair,
    .data_address = tcp_data_address,
    .data_target = tcp_data_target,
};
