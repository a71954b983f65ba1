/* SPDX-License-Identifier: MIT */
/* What stands between this system and the hardware. System differences live in virtualisation.c. */
#ifndef UNCORK_MEASURE_VIRTUALISATION_H
#define UNCORK_MEASURE_VIRTUALISATION_H

#define VIRTUALISATION_VENDOR_BYTES 12

/* "gvisor"; else as the processor tells: "none", "kvm", "tcg", "vmware", "hyperv", "xen", "bhyve", or
 * "hypervisor" for one that says no name that is known here. NULL where the processor tells nothing (it is
 * not an x86). */
const char *virtualisation_name(void);

/* The name of the hypervisor that calls itself so (12 bytes, no end); NULL where it is not known. */
const char *virtualisation_of(const char vendor[VIRTUALISATION_VENDOR_BYTES]);

#endif
