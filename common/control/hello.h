/* SPDX-License-Identifier: MIT */
/* The hello: the first bytes on a data connection. Pure: no sockets.
 *
 * The connecting end sends the token of the run and the number of the connection. Between a proxy
 * and its sink there is more (docs/design/proxy.md has the reasons):
 *
 *   proxy    16 random bytes (the mask), then the hello XORed with the mask
 *   sink     the inverted mask, once it has found that the token is its own */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TOKEN_SIZE 16u
#define HELLO_SIZE (TOKEN_SIZE + 4u) /* token, then the number of the connection, big endian */
#define SINK_ANSWER_SIZE 16u
#define SINK_HELLO_SIZE (SINK_ANSWER_SIZE + HELLO_SIZE)

void hello_make(uint8_t hello[HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t number);

/* Returns the number of the connection, or -1 if the token is wrong or the number is out of range.
 * Compares the token in constant time. */
int64_t hello_read(const uint8_t hello[HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t connections);

/* The proxy's hello to its sink. Returns 0, or -1 if the system has no random numbers. */
int sink_hello_make(uint8_t request[SINK_HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t number);

/* Returns as hello_read(). Also fills in the answer; send it only if a number is returned. */
int64_t sink_hello_read(const uint8_t request[SINK_HELLO_SIZE], const uint8_t token[TOKEN_SIZE],
                        uint64_t connections, uint8_t answer[SINK_ANSWER_SIZE]);

bool sink_has_accepted(const uint8_t answer[SINK_ANSWER_SIZE], const uint8_t request[SINK_HELLO_SIZE]);
