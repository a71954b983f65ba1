/* SPDX-License-Identifier: MIT */
/* Numbers as users type them. Every parser is strict: the whole text, decimal digits, no sign, no
 * blanks. */
#ifndef UNCORK_BASE_UNITS_H
#define UNCORK_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define UNITS_TEXT_MAX 32 /* bytes that hold any formatted figure with its NUL */

/* Reads digits at `*text` and moves `*text` past them. 0, -EINVAL where there is no digit, -ERANGE
 * beyond 64 bits. */
int units_take_number(const char **text, uint64_t *value);

/* A size at `*text` in bytes: digits and an optional K, M or G (powers of 1024). Returns as
 * above. */
int units_take_size(const char **text, uint64_t *bytes);

/* The whole text as a plain count, a size in bytes, or a duration in ns ("2s", "0.2s", "150ms",
 * "50us", "10ns"). */
int units_parse_count(const char *text, uint64_t *count);
int units_parse_size(const char *text, uint64_t *bytes);
int units_parse_duration(const char *text, uint64_t *ns);

/* The whole text as a rate in bits per second ("100mbit", "2.5gbit"), or a share in millionths
 * ("0.1%"). */
int units_parse_rate(const char *text, uint64_t *bits);
int units_parse_percent(const char *text, uint64_t *millionths);

/* The shortest exact spelling that the parsers read back: 1536 -> "1536", 4096 -> "4K", 200000000
 * ns -> "200ms". */
void units_format_size(char text[UNITS_TEXT_MAX], uint64_t bytes);
void units_format_duration(char text[UNITS_TEXT_MAX], uint64_t ns);
void units_format_rate(char text[UNITS_TEXT_MAX], uint64_t bits);
void units_format_percent(char text[UNITS_TEXT_MAX], uint64_t millionths);

#endif
