/* SPDX-License-Identifier: MIT */
/*
 * The Network Block Device protocol, fixed newstyle: https://github.com/NetworkBlockDevice/nbd,
 * doc/proto.md. The variants differ in how a read is answered.
 */
#pragma once

#include "connection/protocol.h"

extern const struct operation_kind nbd_kinds[];

int nbd_reply(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece);
int nbd_request(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece);
size_t nbd_ask(uint8_t *head, const struct call *call);
size_t nbd_answer(uint8_t *head, const struct call *call);
size_t nbd_answer_structured(uint8_t *head, const struct call *call);
int nbd_greet(struct connection *connection, bool secured);
int nbd_welcome(struct connection *connection, bool secured);

#define NBD                                                                                                  \
    .kinds = nbd_kinds, .reply = nbd_reply, .request = nbd_request, .ask = nbd_ask, .greet = nbd_greet,      \
    .welcome = nbd_welcome
