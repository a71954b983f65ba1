/* SPDX-License-Identifier: MIT */
#include "security/security.h"

#define VARIANT(name) extern const struct security security_##name;
#include "security/list.def"
#undef VARIANT

#define VARIANT(name) &security_##name.variant,
static const struct variant *const variants[] = {
#include "security/list.def"
};

const struct axis security_axis = {"security", variants, sizeof variants / sizeof *variants};
