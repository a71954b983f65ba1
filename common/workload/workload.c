/* SPDX-License-Identifier: MIT */
#include "workload/workload.h"

#define VARIANT(name) extern const struct workload workload_##name;
#include "workload/list.def"
#undef VARIANT

#define VARIANT(name) &workload_##name.variant,
static const struct variant *const variants[] = {
#include "workload/list.def"
};

const struct axis workload_axis = {"workload", variants, sizeof variants / sizeof *variants};
