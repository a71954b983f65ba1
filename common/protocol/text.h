/* SPDX-License-Identifier: MIT */
/* Text protocols of servers that keep values by key. Replies come in order. A server writes a head
 * in one way only, so a client compares the head with the one that it would write itself.
 *
 * The key of value 3 of 100 bytes is "uncork-00000100-03". Its value is the pattern from byte 300
 * on. For foreign clients all other keys have a value too, of the size of the first get of op=. */
#pragma once

#include "connection/protocol.h"

#define TEXT_KEY_SIZE 18u
#define TEXT_LINE_MAX 320u /* bytes of a line */

/* These write at `at`, and return the address behind the last byte. */
uint8_t *text_put(uint8_t *at, const char *text);
uint8_t *text_put_number(uint8_t *at, uint64_t number);
uint8_t *text_put_key(uint8_t *at, const struct call *call);

int text_read_reply(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece);

/* Part of a read_request(), with its result: reads a line, and copies it without its end, CR LF or LF. */
int text_read_line(struct connection *connection, const uint8_t *data, size_t size, char line[TEXT_LINE_MAX]);

/* Splits a line at its spaces. Returns the number of its words, of which it keeps TEXT_WORDS. */
#define TEXT_WORDS 8u
size_t text_split(char *line, char *words[TEXT_WORDS]);

/* Sets the call's key, and the size and offset of its value. False: this server lacks the key. */
bool text_take_key(const struct connection *connection, const char *key, size_t size, struct call *call);

/* Stores every value that the run will get, unless the server is an uncork-server. */
int text_store_values(struct connection *connection, bool secured);

/* What such a protocol declares: the functions of its file, and these. */
#define TEXT                                                                                                 \
    .kinds = kinds, .read_request = read_request, .read_reply = text_read_reply,                             \
    .write_request = write_request, .write_reply = write_reply, .request_end = "\r\n",                       \
    .client_dialogue = text_store_values, .has_keys = true
