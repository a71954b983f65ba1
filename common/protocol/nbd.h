/* SPDX-License-Identifier: MIT */
/*
 * The Network Block Device protocol, fixed newstyle: https://github.com/NetworkBlockDevice/nbd,
 * doc/proto.md. The two variants differ only in their replies to a read: simple or structured.
 */
#pragma once

#include "connection/protocol.h"

extern const struct operation_kind nbd_kinds[];

int nbd_read_reply(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece);
int nbd_read_request(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece);
size_t nbd_write_request(uint8_t *head, const struct call *call);
size_t nbd_write_reply(uint8_t *head, const struct call *call);
size_t nbd_write_structured_reply(uint8_t *head, const struct call *call);
int nbd_client_dialogue(struct connection *connection, bool secured);
int nbd_server_dialogue(struct connection *connection, bool secured);

#define NBD                                                                                                  \
    .kinds = nbd_kinds, .read_reply = nbd_read_reply, .read_request = nbd_read_request,                      \
    .write_request = nbd_write_request, .client_dialogue = nbd_client_dialogue,                              \
    .server_dialogue = nbd_server_dialogue
