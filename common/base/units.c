/* SPDX-License-Identifier: MIT */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct units units_count = {"0", {{"", 1}}};
const struct units units_size = {"0", {{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"", 1}}};
const struct units units_duration = {"0s", {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}}};
const struct units units_rate = {"0bit",
                                 {{"gbit", 1000000000}, {"mbit", 1000000}, {"kbit", 1000}, {"bit", 1}}};
const struct units units_percent = {"0%", {{"%", 10000}}};

#define FINEST 1000000000 /* the largest factor; a tenth decimal is never exact */

int units_take_number(const char **text, uint64_t *value)
{
    if (!isdigit((unsigned char)**text))
        return -EINVAL;
    char *end;
    errno = 0;
    *value = strtoull(*text, &end, 10);
    *text = end;
    return -errno;
}

int units_take_size(const char **text, uint64_t *bytes)
{
    int result = units_take_number(text, bytes);
    if (result < 0)
        return result;
    const struct unit *unit = units_size.units;
    while (*unit->name && *unit->name != **text)
        unit++;
    *text += strlen(unit->name);
    return __builtin_mul_overflow(*bytes, unit->factor, bytes) ? -ERANGE : 0;
}

int units_parse(const struct units *units, const char *text, uint64_t *value)
{
    uint64_t decimals = 0, parts = 1; /* decimals / parts of a unit */
    int result = units_take_number(&text, value);

    if (result < 0)
        return result;
    if (*text == '.') {
        if (!isdigit((unsigned char)*++text))
            return -EINVAL;
        for (; isdigit((unsigned char)*text) && parts < FINEST; text++, parts *= 10)
            decimals = decimals * 10 + (uint64_t)(*text - '0');
    }
    const struct unit *unit = units->units;
    while (unit->name && strcmp(text, unit->name) != 0)
        unit++;
    if (!unit->name || unit->factor % parts)
        return -EINVAL;
    decimals *= unit->factor / parts;
    if (__builtin_mul_overflow(*value, unit->factor, value) ||
        __builtin_add_overflow(*value, decimals, value))
        return -ERANGE;
    return 0;
}

const char *units_format(const struct units *units, char text[UNITS_TEXT_MAX], uint64_t value)
{
    const struct unit *unit = units->units;

    if (!value)
        return strcpy(text, units->zero);
    while (value % unit->factor && unit[1].name)
        unit++;
    uint64_t rest = value % unit->factor;
    int length = snprintf(text, UNITS_TEXT_MAX, "%" PRIu64 "%s", value / unit->factor, rest ? "." : "");
    for (uint64_t place = unit->factor / 10; rest; rest %= place, place /= 10)
        text[length++] = (char)('0' + rest / place);
    strcpy(text + length, unit->name);
    return text;
}
