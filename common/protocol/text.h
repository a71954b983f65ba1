/* SPDX-License-Identifier: MIT */
/*
 * Protocols in text, of servers that keep values by key. Replies come in order. An end writes a head
 * in one way only, so a reader compares what comes with what it would write itself.
 *
 * The key of value 3 of 100 bytes is "uncork-00000100-03". It holds the pattern from byte 300 on.
 */
#ifndef UNCORK_PROTOCOL_TEXT_H
#define UNCORK_PROTOCOL_TEXT_H

#include "connection/protocol.h"

#define TEXT_KEY_SIZE 18u
#define TEXT_SHOWN_MAX 241u

/* Write at `at`, and return where the next byte goes. */
uint8_t *text_put(uint8_t *at, const char *text);
uint8_t *text_put_number(uint8_t *at, uint64_t number);
uint8_t *text_put_key(uint8_t *at, const struct call *call);

/* The first 60 bytes for an error: printable, with a NUL. */
void text_show(char shown[TEXT_SHOWN_MAX], const uint8_t *data, size_t size);

int text_reply(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece);
int text_request(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece);

/* Stores every value that the run will get, where the server is no uncork-server. */
int text_greet(struct connection *connection, bool secured);

#define TEXT .reply = text_reply, .request = text_request, .greet = text_greet, .has_keys = true

#endif
