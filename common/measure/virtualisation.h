/* SPDX-License-Identifier: MIT */
/* What stands between this system and the hardware. System differences live in virtualisation.c. */
#ifndef UNCORK_MEASURE_VIRTUALISATION_H
#define UNCORK_MEASURE_VIRTUALISATION_H

#include <stdbool.h>
#include <time.h>

#define VIRTUALISATION_VENDOR_BYTES 12

/* "gvisor"; else as the processor tells: "none", "kvm", "tcg", "vmware", "hyperv", "xen", "bhyve", or
 * "hypervisor" for one that says no name that is known here. NULL where the processor tells nothing (it is
 * not an x86). */
const char *virtualisation_name(void);

/* When the system in which this process runs came to be, by its /proc: every process of a sandbox is told the
 * same, and those of another one something else. False where nothing tells. */
bool virtualisation_birth(struct timespec *birth);

/* The name of the hypervisor that calls itself so (12 bytes, no end); NULL where it is not known. */
const char *virtualisation_of(const char vendor[VIRTUALISATION_VENDOR_BYTES]);

#endif
