/* SPDX-License-Identifier: MIT */
/*
 * What is said on a data connection before the data. Pure: no sockets.
 *
 * Whoever connects shows the token of the run and the number of the connection. A proxy asks its sink for
 * more, because a client, which may be a stranger, has told it where to connect and with which token:
 *
 *   proxy    16 random bytes (the mask), then the hello with the mask laid over it
 *   sink     the mask with every bit turned round, once it has found that the token is its own
 *
 * So a stranger chooses no byte that a proxy sends, and neither a service that echoes nor one that greets
 * everybody with the same words gives the answer by accident: only a server of uncork that waits for this
 * run.
 */
#ifndef UNCORK_CONTROL_HELLO_H
#define UNCORK_CONTROL_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKEN_SIZE 16u
#define HELLO_SIZE (TOKEN_SIZE + 4u) /* token, then the number of the connection, big endian */
#define SINK_ANSWER_SIZE 16u
#define SINK_HELLO_SIZE (SINK_ANSWER_SIZE + HELLO_SIZE)

void hello_make(uint8_t hello[HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t number);

/* The number in a hello, or -1 where its token is not that of the run or there is no such connection. Takes
 * the same time wherever the first difference is. */
int64_t hello_read(const uint8_t hello[HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t connections);

/* The proxy's hello to its sink. 0, or -1 where the system has no random numbers. */
int sink_hello_make(uint8_t request[SINK_HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t number);

/* As hello_read(); fills in the answer that accepts it, which is to be sent only where a number comes back.
 */
int64_t sink_hello_read(const uint8_t request[SINK_HELLO_SIZE], const uint8_t token[TOKEN_SIZE],
                        uint64_t connections, uint8_t answer[SINK_ANSWER_SIZE]);

/* Whether this is the answer that accepts this request. */
bool sink_has_accepted(const uint8_t answer[SINK_ANSWER_SIZE], const uint8_t request[SINK_HELLO_SIZE]);

#endif
