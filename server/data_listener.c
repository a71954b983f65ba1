/* SPDX-License-Identifier: MIT */
#include "data_listener.h"

#include "base/hex.h"
#include "base/secret.h"
#include "measure/facts.h"
#include "transport/transport.h"

#include <unistd.h>

int data_listener_open(struct data_listener *listener, const struct plan *plan, enum end end,
                       struct channel *control, struct problem *problem)
{
    struct address control_address, *data = &listener->address;
    uv_os_fd_t fd;

    if (uv_fileno(&control->handle, &fd) < 0 || address_of_socket(&control_address, fd) < 0 ||
        plan->transport->data_address(data, &control_address) < 0)
        return problem_failure(problem, "cannot choose an address for data connections");
    listener->fd = transport_socket(plan->transport, plan, end, data, problem);
    if (listener->fd >= 0)
        listener->fd = address_listen(listener->fd, data, problem);
    listener->is_open = listener->fd >= 0;
    if (!listener->is_open) {
        address_unlink(data, true);
        return -1;
    }
    if (uv_random(NULL, NULL, listener->token, sizeof listener->token, 0, NULL) < 0 ||
        uv_random(NULL, NULL, listener->key, sizeof listener->key, 0, NULL) < 0)
        return problem_failure(problem, "no random numbers for a token and a key");
    return 0;
}

int data_listener_open_lobby(struct data_listener *listener, const struct plan *plan, enum end end,
                             uv_loop_t *loop, const struct lobby_events *events, void *owner,
                             struct problem *problem)
{
    bool is_for_proxy = end == END_SERVER && plan_has_proxy(plan);

    listener->has_lobby = true;
    listener->lobby = (struct lobby){.fd = listener->fd,
                                     .address = listener->address,
                                     .token = listener->token,
                                     .expected = plan->connections,
                                     .hello_size = is_for_proxy ? SINK_HELLO_SIZE : HELLO_SIZE,
                                     .events = events,
                                     .owner = owner};
    return lobby_open(&listener->lobby, loop, problem);
}

void data_listener_close(struct data_listener *listener)
{
    if (!listener->is_open || listener->has_lobby)
        return;
    close(listener->fd);
    address_unlink(&listener->address, true);
}

json_t *data_listener_describe(const struct data_listener *listener, const struct plan *plan)
{
    char token[2 * TOKEN_SIZE + 1], key[2 * SECURITY_KEY_SIZE + 1] = "";
    json_t *body;

    hex_format(token, listener->token, sizeof listener->token);
    if (plan_encrypts(plan))
        hex_format(key, listener->key, sizeof listener->key);
    body = json_pack("{s:i, s:s, s:s, s:s, s:s}", "port", address_port(&listener->address), "path",
                     address_path(&listener->address), "token", token, "key", key, "host", facts_host_id());
    secret_wipe(key, sizeof key);
    return body;
}
