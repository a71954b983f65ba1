/* SPDX-License-Identifier: MIT */
#include "measure/facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

/* ---- a kernel in user space ---- */

#ifdef __linux__
#include <sys/klog.h>

#define READ_ALL 3 /* syslog(2): the last of the kernel's messages */

/* The first kernel message of gVisor, after "<6>[   0.000000] ". Other kernels have more messages
 * than fit, and not this one first. */
static bool boots_as_gvisor(void)
{
    static const char greeting[] = "Starting gVisor";
    char log[4096], *found;
    int size = klogctl(READ_ALL, log, sizeof log - 1);

    log[size > 0 ? size : 0] = '\0';
    found = strstr(log, greeting);
    return found && found - log < 32;
}

/* Newer versions have gVisor in the release; older versions report the release of another
 * kernel. */
static bool is_gvisor(void)
{
    struct utsname name;

    return (uname(&name) == 0 &&
            (strcasestr(name.release, "gvisor") || strcasestr(name.version, "gvisor"))) ||
           boots_as_gvisor();
}

#else

static bool is_gvisor(void)
{
    return false;
}

#endif

/* ---- a hypervisor ---- */

static const struct {
    char vendor[VIRTUALISATION_VENDOR_BYTES + 1];
    const char *name;
} hypervisors[] = {
    {"KVMKVMKVM\0\0\0", "kvm"}, {"TCGTCGTCGTCG", "tcg"}, {"VMwareVMware", "vmware"},
    {"Microsoft Hv", "hyperv"}, {"XenVMMXenVMM", "xen"}, {"bhyve bhyve ", "bhyve"},
};

const char *virtualisation_of(const char vendor[VIRTUALISATION_VENDOR_BYTES])
{
    for (size_t i = 0; i < sizeof hypervisors / sizeof *hypervisors; i++)
        if (!memcmp(vendor, hypervisors[i].vendor, VIRTUALISATION_VENDOR_BYTES))
            return hypervisors[i].name;
    return NULL;
}

#if defined __x86_64__ || defined __i386__
#include <cpuid.h>

#define IS_VIRTUAL (1u << 31) /* in ECX of leaf 1 */
#define FIRST_LEAF 0x40000000u
#define LEAF_STEP 0x100u
#define LEAVES 16

/* A hypervisor with the interface of another reports its own name in a later leaf: KVM and Xen do
 * so behind Hyper-V's. */
static const char *ask_processor(void)
{
    unsigned a, b, c, d;
    const char *name = NULL;

    if (!__get_cpuid(1, &a, &b, &c, &d))
        return NULL;
    if (!(c & IS_VIRTUAL))
        return "none";
    for (unsigned leaf = FIRST_LEAF; leaf < FIRST_LEAF + LEAVES * LEAF_STEP; leaf += LEAF_STEP) {
        unsigned text[3];
        const char *found;

        __cpuid(leaf, a, text[0], text[1], text[2]);
        found = virtualisation_of((const char *)text);
        if (found && (!name || strcmp(found, "hyperv") != 0))
            name = found;
    }
    return name ? name : "hypervisor";
}

#else

static const char *ask_processor(void)
{
    return NULL;
}

#endif

const char *virtualisation_name(void)
{
    return is_gvisor() ? "gvisor" : ask_processor();
}
