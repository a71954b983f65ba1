/* SPDX-License-Identifier: MIT */
/* The virtualisation between this system and the hardware. System differences live in
 * virtualisation.c. */
#ifndef UNCORK_MEASURE_VIRTUALISATION_H
#define UNCORK_MEASURE_VIRTUALISATION_H

#define VIRTUALISATION_VENDOR_BYTES 12

/* "gvisor"; else the name that the processor reports: "none", "kvm", "tcg", "vmware", "hyperv",
 * "xen", "bhyve", or "hypervisor" for an unknown one. NULL where the processor reports nothing (it
 * is not an x86). */
const char *virtualisation_name(void);

/* The name of the hypervisor with this vendor id (12 bytes, no NUL); NULL where it is not known. */
const char *virtualisation_of(const char vendor[VIRTUALISATION_VENDOR_BYTES]);

#endif
