/* SPDX-License-Identifier: MIT */
#include "reading/reading.h"

#define VARIANT(name) extern const struct reading reading_##name;
#include "reading/list.def"
#undef VARIANT

#define VARIANT(name) &reading_##name.variant,
static const struct variant *const variants[] = {
#include "reading/list.def"
};

const struct axis reading_axis = {"reading", variants, sizeof variants / sizeof *variants};
