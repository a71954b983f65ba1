/* SPDX-License-Identifier: MIT */
/* Whatever the other end sends, in whatever pieces, a protocol reads it or refuses it. */
#include "base/clock.h"
#include "connection/protocol.h"
#include "connection/workload.h"
#include "words/parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const protocols[][2] = {{"protocol=nbd", "op=read:32+write:16"},
                                           {"protocol=nbd-structured", "op=read:32+write:16"},
                                           {"protocol=memcached", "op=get:32+set:16"},
                                           {"protocol=resp", "op=get:32+set:16+ping"},
                                           {"protocol=http", "op=get:32*3+get:16"}};

/* The first byte chooses the end, the protocol and whether content is verified. The second is the
 * size of the pieces in which the others arrive. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan plan;
    struct workbench bench = {0};
    struct connection connection = {.calls.fd = -1};
    struct problem problem = {0};
    int result = 0;

    if (size < 3)
        return 0;
    const char *const *protocol =
        protocols[((data[0] >> 1 & 1) + 2 * (data[0] >> 3)) % (sizeof protocols / sizeof *protocols)];
    const char *words[] = {protocol[0], protocol[1], "depth=4", data[0] & 4 ? "verify=on" : "verify=off"};
    enum end end = data[0] & 1 ? END_SERVER : END_CLIENT;

    if (plan_parse(&plan, words, sizeof words / sizeof *words, &problem) < 0 ||
        workbench_open(&bench, &plan, end, 1) < 0 || connection_open(&connection, &bench, 0, -1) < 0)
        abort();
    workbench_begin_phase(&bench, UINT64_MAX, false);
    connection.messages_left = UINT64_MAX;
    framing_set_size(&connection, 4096);
    if (connection.role->begin)
        connection.role->begin(&connection);
    for (size_t at = 2, part; at < size && result == 0; at += part) {
        part = 1 + data[1] % 64;
        if (part > size - at)
            part = size - at;
        connection.role->fill(&connection);
        queue_accept(&connection.queue, queue_group_bytes(&connection.queue));
        queue_flush(&connection.queue);
        queue_release(&connection.queue);
        result = connection.role->arrived(&connection, data + at, part);
    }
    if ((result < 0) != (bench.problem.kind == PROBLEM_FAILURE))
        abort();
    connection_close(&connection);
    workbench_close(&bench);
    plan_free(&plan);
    return 0;
}
