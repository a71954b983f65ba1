/* SPDX-License-Identifier: MIT */
#include "transport/transport.h"

#include "base/cleanup.h"

static struct address loopback(void)
{
    return (struct address){.in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
                            .size = sizeof(struct sockaddr_in)};
}

int tcp_pair_through(int listener, int protocol, int fds[2])
{
    struct address address = loopback();
    if (bind(listener, &address.any, address.size) < 0 || listen(listener, 1) < 0 ||
        address_of_socket(&address, listener) < 0 ||
        (fds[0] = sockets_make(AF_INET, SOCK_STREAM, protocol, true)) < 0)
        return -errno;
    if (connect(fds[0], &address.any, address.size) == 0 && (fds[1] = accept(listener, NULL, NULL)) >= 0)
        return 0;
    int result = -errno;
    close(fds[0]);
    return result;
}

int tcp_make_pair(int protocol, int fds[2])
{
    CLEANUP_CLOSE int listener = sockets_make(AF_INET, SOCK_STREAM, protocol, true);
    return listener < 0 ? -errno : tcp_pair_through(listener, protocol, fds);
}

int tcp_data_address(struct address *data, const struct address *control, struct problem *problem)
{
    *data = control->any.sa_family == AF_UNIX ? loopback() : *control;
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
