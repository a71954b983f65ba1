/* SPDX-License-Identifier: MIT */
/* Numbers that users type. Parsing is strict: the whole text, decimal digits, no sign or blank. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define UNITS_TEXT_MAX 32 /* bytes that hold any formatted figure with its NUL */

struct units {
    const char *zero; /* the spelling of 0 */
    struct unit {
        const char *name;
        uint64_t factor;
    } units[5]; /* largest first, {0} at the end */
};

/* A plain count; a size in bytes ("64K", powers of 1024); a duration in ns ("2s", "0.2s", "150ms",
 * "50us", "10ns"); a rate in bit/s ("100mbit", "2.5gbit"); a share in millionths ("0.1%"). */
extern const struct units units_count, units_size, units_duration, units_rate, units_percent;

/* Whether `*text` begins with `wanted`. If so, moves `*text` past it. */
static inline bool units_take(const char **text, char wanted)
{
    return **text == wanted && ++*text;
}

/* Reads digits and moves `*text` past them. 0, -EINVAL without a digit, -ERANGE beyond 64 bits. */
int units_take_number(const char **text, uint64_t *value);

/* A size at `*text`: digits and an optional K, M or G. Returns as above. */
int units_take_size(const char **text, uint64_t *bytes);

/* The same for a whole text. Decimals must divide the unit: 0.5ms is valid, 0.5ns and 0.5K not. */
int units_parse(const struct units *units, const char *text, uint64_t *value);

/* The shortest exact spelling that units_parse() reads back: 1536 -> "1536", 4096 -> "4K". Returns
 * `text`. units_text() has it in memory that the block of the caller owns. */
const char *units_format(const struct units *units, char text[UNITS_TEXT_MAX], uint64_t value);
#define units_text(units, value) units_format(units, (char[UNITS_TEXT_MAX]){0}, value)
