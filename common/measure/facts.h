/* SPDX-License-Identifier: MIT */
/* Facts about this machine that decide figures: a reader needs them to judge the figures. */
#pragma once

#include "net/address.h"

#include <jansson.h>

/* The id of this machine until its next boot: the boot id, else the host name and, if there is one,
 * the birth time of /proc. */
const char *facts_host_id(void);

/* {"id", "system", "kernel", "cmdline", "cpu", ..., "device": {...}}: docs/record.md lists them.
 * What the system does not report is absent. `towards` is the address of the other end, for the
 * network device; NULL: no device. New reference. */
json_t *facts_collect(const struct address *towards);

/* ---- virtualisation between this system and the hardware ---- */

#define VIRTUALISATION_VENDOR_BYTES 12

/* "gvisor"; else the name that the processor reports: "none", "kvm", "tcg", "vmware", "hyperv",
 * "xen", "bhyve", or "hypervisor" for an unknown one. NULL where the processor reports nothing (it
 * is not an x86). */
const char *virtualisation_name(void);

/* The name of the hypervisor with this vendor id (12 bytes, no NUL); NULL where it is not known. */
const char *virtualisation_of(const char vendor[VIRTUALISATION_VENDOR_BYTES]);
