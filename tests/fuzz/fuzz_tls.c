/* SPDX-License-Identifier: MIT */
/* The TLS of the control channel: an end refuses any bytes, or both ends with changed bytes between
 * them. Without a change, and with the same key, a message arrives; with another key never. */
#include "fuzz.h"

#include "control/channel.h"

static struct psk_list keys[2]; /* of client and server */
static struct channel_tls *ends[2];
static struct problem problems[2];
static size_t received; /* plain bytes at the server */

/* Passes bytes to an end in pieces. False: it refused them. */
static bool feed(int end, const uint8_t *bytes, size_t size, size_t piece)
{
    uint8_t plain[TLS_PLAIN_MAX];
    ssize_t part = 0;

    for (size_t at = 0; at < size && part >= 0; at += piece) {
        struct input rest = {bytes + at, size - at};
        struct input next = input_part(&rest, piece);
        CLEANUP_FREE uint8_t *copy = input_copy(next);

        ends[end]->arrived = copy;
        ends[end]->arrived_size = next.size;
        while ((part = channel_tls_read(ends[end], plain, &problems[end])) > 0)
            received += end ? (size_t)part : 0;
    }
    abort_if((part < 0) != (problems[end].kind != PROBLEM_NONE));
    return part >= 0;
}

/* Passes bytes both ways until none come. Returns whether one was changed. */
static bool talk(int changed_end, struct input changes, size_t piece)
{
    bool changed = false, goes_on = true;
    size_t passed = 0;

    while (goes_on && (ends[0]->output.size || ends[1]->output.size))
        for (int from = 0; from < 2; from++) {
            struct bytes bytes = ends[from]->output;

            ends[from]->output = (struct bytes){0};
            if (from == changed_end) {
                changed |= input_change(&changes, passed, bytes.data, bytes.size);
                passed += bytes.size;
            }
            goes_on &= feed(!from, bytes.data, bytes.size, piece);
            free(bytes.data);
        }
    return changed;
}

/* The first byte: which end gets changed bytes, whether all its bytes are those of the input, and
 * whether it has another key. The second byte is the size of pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    uint8_t kind = input_byte(&input);
    size_t piece = 1 + input_byte(&input) * (size_t)16;
    bool other_key = kind & 4, changed = false;

    received = 0;
    memset(problems, 0, sizeof problems);
    for (int end = 0; end < 2; end++) {
        const char *line =
            end && other_key ? "a:ff112233445566778899aabbccddeeff" : "a:00112233445566778899aabbccddeeff";
        keys[end].count = 0;
        abort_if(psk_parse(&keys[end], line, strlen(line), "", &problems[end]) < 0);
        abort_if(!(ends[end] = channel_tls_create(&keys[end], end, &problems[end])));
    }
    abort_if(bytes_append(&ends[0]->unsent, "message", 7) < 0);
    if (kind & 2)
        feed(kind & 1, input.data, input.size, piece);
    else
        changed = talk(kind & 1, input, piece);
    abort_if((ends[0]->is_established || ends[1]->is_established) && (kind & 2 || other_key));
    abort_if(!(kind & 2) && !changed && !other_key && received != 7);
    channel_tls_close_notify(ends[1]);
    channel_tls_free(ends[0]);
    channel_tls_free(ends[1]);
    return 0;
}
