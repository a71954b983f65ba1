/* SPDX-License-Identifier: MIT */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* Largest first: formatting uses the first unit that divides the value. */
static const struct unit size_units[] = {{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {0}};
static const struct unit duration_units[] = {
    {"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}, {0}};
static const struct unit rate_units[] = {
    {"gbit", 1000000000}, {"mbit", 1000000}, {"kbit", 1000}, {"bit", 1}, {0}};
static const struct unit percent_units[] = {{"%", 10000}, {0}};

int units_take_number(const char **text, uint64_t *value)
{
    const char *at = *text;
    uint64_t sum = 0;

    if (*at < '0' || *at > '9')
        return -EINVAL;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (sum > (UINT64_MAX - digit) / 10)
            return -ERANGE;
        sum = sum * 10 + digit;
    }
    *text = at;
    *value = sum;
    return 0;
}

static int scale(uint64_t *value, uint64_t factor)
{
    if (*value > UINT64_MAX / factor)
        return -ERANGE;
    *value *= factor;
    return 0;
}

int units_take_size(const char **text, uint64_t *bytes)
{
    int result = units_take_number(text, bytes);

    if (result < 0)
        return result;
    for (const struct unit *unit = size_units; unit->name; unit++) {
        if (**text == *unit->name) {
            ++*text;
            return scale(bytes, unit->factor);
        }
    }
    return 0;
}

int units_parse_count(const char *text, uint64_t *count)
{
    int result = units_take_number(&text, count);

    return result < 0 ? result : *text ? -EINVAL : 0;
}

int units_parse_size(const char *text, uint64_t *bytes)
{
    int result = units_take_size(&text, bytes);

    return result < 0 ? result : *text ? -EINVAL : 0;
}

/* Reads decimals after the point, as a part of `factor`. -EINVAL where they are finer than that. */
static int take_decimals(const char **text, uint64_t factor, uint64_t *share)
{
    const char *at = *text;

    if (*at < '0' || *at > '9')
        return -EINVAL;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (factor % 10)
            return -EINVAL;
        factor /= 10;
        *share += (uint64_t)(*at - '0') * factor;
    }
    *text = at;
    return 0;
}

/* Digits, perhaps with decimals, and one of the units. */
static int parse_in(const struct unit *unit, const char *text, uint64_t *value)
{
    const char *decimals = NULL;
    int result = units_take_number(&text, value);

    if (result < 0)
        return result;
    if (*text == '.') {
        decimals = ++text;
        text += strspn(text, "0123456789");
    }
    for (; unit->name; unit++) {
        uint64_t share = 0;

        if (strcmp(text, unit->name) != 0)
            continue;
        if (decimals && (result = take_decimals(&decimals, unit->factor, &share)) < 0)
            return result;
        if ((result = scale(value, unit->factor)) < 0)
            return result;
        if (*value > UINT64_MAX - share)
            return -ERANGE;
        *value += share;
        return 0;
    }
    return -EINVAL;
}

int units_parse_duration(const char *text, uint64_t *ns)
{
    return parse_in(duration_units, text, ns);
}

int units_parse_rate(const char *text, uint64_t *bits)
{
    return parse_in(rate_units, text, bits);
}

int units_parse_percent(const char *text, uint64_t *millionths)
{
    return parse_in(percent_units, text, millionths);
}

static void format(char text[UNITS_TEXT_MAX], uint64_t value, const struct unit *unit, const char *zero)
{
    while (unit->name && value % unit->factor != 0)
        unit++;
    if (value)
        snprintf(text, UNITS_TEXT_MAX, "%" PRIu64 "%s", value / (unit->name ? unit->factor : 1),
                 unit->name ? unit->name : "");
    else
        strcpy(text, zero);
}

void units_format_size(char text[UNITS_TEXT_MAX], uint64_t bytes)
{
    format(text, bytes, size_units, "0");
}

void units_format_duration(char text[UNITS_TEXT_MAX], uint64_t ns)
{
    format(text, ns, duration_units, "0s");
}

void units_format_rate(char text[UNITS_TEXT_MAX], uint64_t bits)
{
    format(text, bits, rate_units, "0bit");
}

void units_format_percent(char text[UNITS_TEXT_MAX], uint64_t millionths)
{
    int length = snprintf(text, UNITS_TEXT_MAX, "%" PRIu64 ".%04u", millionths / 10000,
                          (unsigned)(millionths % 10000));

    while (text[length - 1] == '0')
        length--;
    if (text[length - 1] == '.')
        length--;
    strcpy(text + length, "%");
}
