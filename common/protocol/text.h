/* SPDX-License-Identifier: MIT */
/*
 * Protocols in text, of servers that keep values by key. Replies come in order. A server writes a
 * head in one way only, so a client compares what comes with what it would write itself.
 *
 * The key of value 3 of 100 bytes is "uncork-00000100-03". It holds the pattern from byte 300 on.
 * To foreign clients the server has every key: another one holds as many bytes as the first get of
 * op=.
 */
#pragma once

#include "connection/protocol.h"

#define TEXT_KEY_SIZE 18u
#define TEXT_SHOWN_MAX 241u
#define TEXT_LINE_MAX 320u /* bytes of a line */

/* Write at `at`, and return where the next byte goes. */
uint8_t *text_put(uint8_t *at, const char *text);
uint8_t *text_put_number(uint8_t *at, uint64_t number);
uint8_t *text_put_key(uint8_t *at, const struct call *call);

/* The first 60 bytes for an error: printable, with a NUL. */
void text_show(char shown[TEXT_SHOWN_MAX], const uint8_t *data, size_t size);

int text_reply(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece);

/* ---- for a reader of requests; the results are those of request() ---- */

/* Copies a line without its end. */
int text_line(struct connection *connection, const uint8_t *data, size_t size, char line[TEXT_LINE_MAX],
              size_t *length);

/* Takes the key of a request into the call, and what it says of its value. False: no server has
 * it. */
bool text_take_key(const struct connection *connection, const char *key, size_t size, struct call *call);

/* The head has `size` bytes, and its request carries or fetches `bytes`. Returns 0. */
int text_found(struct piece *piece, const struct operation_kind *kind, uint64_t bytes, size_t size);

/* What follows the payload of a request: its piece is to come while call->moved is not 0. */
int text_end(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece);

/* It is no request that this end knows. Returns -EBADMSG. */
int text_refuse(struct connection *connection, const uint8_t *data, size_t size);

/* Stores every value that the run will get, where the server is no uncork-server. */
int text_greet(struct connection *connection, bool secured);

#define TEXT .reply = text_reply, .greet = text_greet, .has_keys = true
