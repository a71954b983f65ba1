/* SPDX-License-Identifier: MIT */
/* Facts about this machine that a reader needs to judge its figures. */
#pragma once

#include "net/address.h"

#include <jansson.h>
#include <net/if.h>

/* The id of this machine until its next boot: the boot id. Without one: the host name, and on Linux
 * the birth time of /proc. */
const char *facts_host_id(void);

/* {"id", "system", "kernel", "cmdline", "cpu", ..., "device": {...}}: docs/record.md lists the
 * keys. Keys that the system does not report are absent. `towards` is the address of the other end,
 * to find the network device; NULL: no device. New reference. */
json_t *facts_collect(const struct address *towards);

/* The device on the route to `address`; NULL: the loopback device. 0, or -1 if none is known. */
int device_name_towards(const struct address *address, char name[IF_NAMESIZE]);

/* What is between this system and the hardware: "gvisor"; else what the processor reports: "none",
 * "kvm", "tcg", "vmware", "hyperv", "xen", "bhyve", or "hypervisor" for an unknown one. NULL if the
 * processor is not an x86 and reports nothing. */
const char *virtualisation_name(void);

/* The name of the hypervisor with this vendor id (12 bytes, no NUL); NULL if it is unknown. */
#define VIRTUALISATION_VENDOR_BYTES 12
const char *virtualisation_of(const char vendor[VIRTUALISATION_VENDOR_BYTES]);
