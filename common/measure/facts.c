/* SPDX-License-Identifier: MIT */
#include "measure/facts.h"

#include "base/cleanup.h"
#include "base/files.h"
#include "base/version.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <uv.h>

#ifdef __linux__
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <sys/klog.h>
#endif

#define LINE_MAX_BYTES 4096
#define FIRST_LINE "%4095[^\n]" /* a format of scan_file() */
#define READ_ALL 3              /* syslog(2): the last of the kernel's messages */

static char host_id[256];

/* A sandbox has no boot id. Its host name may be that of its host, or the same in all sandboxes.
 * But /proc has another birth time in each sandbox, the same for all its processes. */
static void make_host_id(void)
{
    if (scan_file("/proc/sys/kernel/random/boot_id", 1, "%200[^\n]", host_id))
        return;
    gethostname(host_id, 127); /* its buffer is longer and zeroed: a NUL follows */
#ifdef __linux__
    size_t length = strlen(host_id);
    struct stat proc;
    if (stat("/proc", &proc) == 0)
        snprintf(host_id + length, sizeof host_id - length, "@%lld.%09ld", (long long)proc.st_ctim.tv_sec,
                 proc.st_ctim.tv_nsec);
#endif
}

const char *facts_host_id(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_host_id);
    return host_id;
}

/* ---- virtualisation ---- */

/* Newer gVisor has its name in the release. Older gVisor reports the release of another kernel, but
 * has its first kernel message, after "<6>[   0.000000] ". The log of another kernel is longer than
 * the buffer and has another beginning. */
static bool is_gvisor(void)
{
#ifdef __linux__
    struct utsname name;
    char log[4096];

    if (uname(&name) == 0 && (strcasestr(name.release, "gvisor") || strcasestr(name.version, "gvisor")))
        return true;
    int size = klogctl(READ_ALL, log, sizeof log - 1);
    log[size > 0 ? size : 0] = '\0';
    const char *found = strstr(log, "Starting gVisor");
    return found && found - log < 32;
#else
    return false;
#endif
}

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
#endif

/* A hypervisor that has the interface of another one too reports its own name in a later leaf. KVM
 * and Xen do so after the name of Hyper-V. */
const char *virtualisation_name(void)
{
    if (is_gvisor())
        return "gvisor";
#if defined __x86_64__ || defined __i386__
    unsigned a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d))
        return NULL;
    if (!(c & IS_VIRTUAL))
        return "none";
    const char *name = NULL;
    for (unsigned leaf = FIRST_LEAF; leaf < FIRST_LEAF + LEAVES * LEAF_STEP; leaf += LEAF_STEP) {
        unsigned text[3];
        __cpuid(leaf, a, text[0], text[1], text[2]);
        const char *found = virtualisation_of((const char *)text);
        if (found && (!name || strcmp(found, "hyperv") != 0))
            name = found;
    }
    return name ? name : "hypervisor";
#else
    return NULL;
#endif
}

/* ---- one file, one fact ---- */

static const struct {
    const char *key, *path;
} file_facts[] = {
    {"cmdline", "/proc/cmdline"},
    {"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
    {"governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
    {"frequency_driver", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"},
    {"idle_driver", "/sys/devices/system/cpu/cpuidle/current_driver"},
    {"idle_governor", "/sys/devices/system/cpu/cpuidle/current_governor_ro"},
    {"smt", "/sys/devices/system/cpu/smt/control"},
    {"preemption", "/sys/kernel/debug/sched/preempt"},
    {"transparent_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled"},
    {"product", "/sys/class/dmi/id/product_name"},
    {"cpus_isolated", "/sys/devices/system/cpu/isolated"},
};

static const struct {
    const char *folder, *names[20];
} sysctls[] = {
    {"net.core",
     {"rmem_default", "rmem_max", "wmem_default", "wmem_max", "busy_poll", "busy_read", "default_qdisc",
      "netdev_max_backlog", "optmem_max"}},
    {"net.ipv4",
     {"ip_local_port_range", "tcp_rmem", "tcp_wmem", "tcp_mem", "tcp_congestion_control", "tcp_autocorking",
      "tcp_available_congestion_control", "tcp_sack", "tcp_limit_output_bytes", "tcp_timestamps",
      "tcp_slow_start_after_idle", "tcp_min_tso_segs", "tcp_moderate_rcvbuf", "tcp_no_metrics_save",
      "tcp_notsent_lowat", "tcp_window_scaling", "tcp_mtu_probing"}},
    {"kernel", {"io_uring_disabled", "perf_event_paranoid", "sched_rt_runtime_us"}},
};

/* `format` scans one value from a line of the file. */
static void put_value(json_t *facts, const char *key, const char *path, const char *format)
{
    char value[LINE_MAX_BYTES];
    if (scan_file(path, 1, format, value) && strcmp(value, "unknown") != 0) /* the processor of gVisor */
        json_object_set_new(facts, key, json_string(value));
}

static json_t *collect_sysctls(void)
{
    json_t *values = json_object();

    for (size_t i = 0; i < sizeof sysctls / sizeof *sysctls; i++) {
        for (const char *const *name = sysctls[i].names; *name; name++) {
            char key[64], path[80];
            snprintf(key, sizeof key, "%s.%s", sysctls[i].folder, *name);
            snprintf(path, sizeof path, "/proc/sys/%s", key);
            for (char *at = path + strlen("/proc/sys/"); *at; at++)
                *at = *at == '.' ? '/' : *at;
            put_value(values, key, path, FIRST_LINE);
        }
    }
    return values;
}

static json_t *collect_mitigations(void)
{
    static const char folder[] = "/sys/devices/system/cpu/vulnerabilities";
    json_t *mitigations = json_object();
    DIR *dir = opendir(folder);

    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[sizeof folder + sizeof entry->d_name];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            put_value(mitigations, entry->d_name, path, FIRST_LINE);
    }
    if (dir)
        closedir(dir);
    return mitigations;
}

/* ---- the network device ---- */

/* connect(2) of a datagram socket sends nothing. The route decides its local address. */
static int connect_towards(const struct address *address, struct address *local)
{
    struct address target = *address;
    int family = address->storage.ss_family;
    int fd = family == AF_UNIX ? -1 : sockets_make(family, SOCK_DGRAM, 0, true);

    if (fd < 0)
        return -1;
    if (address_port(&target) == 0)
        address_set_port(&target, 9);
    if (connect(fd, &target.any, target.size) == 0 && address_of_socket(local, fd) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool same_host(const struct sockaddr *a, const struct address *b)
{
    if (!a || a->sa_family != b->storage.ss_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr == b->in.sin_addr.s_addr;
    return a->sa_family == AF_INET6 &&
           !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &b->in6.sin6_addr, sizeof b->in6.sin6_addr);
}

/* The name of the device that has the address `local`; NULL: of the first loopback device. */
static int find_name(const struct address *local, char name[IF_NAMESIZE])
{
    struct ifaddrs *list;
    if (getifaddrs(&list) < 0)
        return -1;
    struct ifaddrs *at = list;
    while (at && !(local ? same_host(at->ifa_addr, local) : (at->ifa_flags & IFF_LOOPBACK) != 0))
        at = at->ifa_next;
    if (at)
        snprintf(name, IF_NAMESIZE, "%s", at->ifa_name);
    freeifaddrs(list);
    return at ? 0 : -1;
}

/* Packets to an address of this machine use loopback, not the device that has the address. */
int device_name_towards(const struct address *address, char name[IF_NAMESIZE])
{
    struct address local;
    if (!address)
        return find_name(NULL, name);
    int fd = connect_towards(address, &local);
    if (fd < 0)
        return -1;
    close(fd);
    bool stays = address_is_local(address) || find_name(address, name) == 0;
    return find_name(stays ? NULL : &local, name);
}

static json_t *device_towards(const struct address *address)
{
    struct ifreq request = {0};
    char text[ADDRESS_MAX];
    struct address local;
    CLEANUP_CLOSE int fd = connect_towards(address, &local);

    if (fd < 0)
        return NULL;
    address_set_port(&local, 0);
    address_format(text, &local);
    json_t *device = json_pack("{s:s#}", "local_address", text, (int)strlen(text) - 2); /* without ":0" */
    if (find_name(&local, request.ifr_name) < 0)
        return device;
    json_object_set_new(device, "name", json_string(request.ifr_name));
    if (ioctl(fd, SIOCGIFMTU, &request) == 0)
        json_object_set_new(device, "mtu_bytes", json_integer(request.ifr_mtu));
#ifdef __linux__
    static const struct {
        const char *name;
        uint32_t command;
    } offloads[] = {{"rx_checksum", ETHTOOL_GRXCSUM},
                    {"tx_checksum", ETHTOOL_GTXCSUM},
                    {"scatter_gather", ETHTOOL_GSG},
                    {"tso", ETHTOOL_GTSO},
                    {"gso", ETHTOOL_GGSO},
                    {"gro", ETHTOOL_GGRO}};
    json_t *values = json_object();
    for (size_t i = 0; i < sizeof offloads / sizeof *offloads; i++) {
        struct ethtool_value value = {.cmd = offloads[i].command};
        request.ifr_data = (char *)&value;
        if (ioctl(fd, SIOCETHTOOL, &request) == 0)
            json_object_set_new(values, offloads[i].name, json_boolean(value.data));
    }
    json_object_set_new(device, "offloads", values);
#endif
    return device;
}

/* ---- all ---- */

json_t *facts_collect(const struct address *towards)
{
    struct utsname name = {0};

    uname(&name);
    json_t *facts = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "id", facts_host_id(), "system", name.sysname,
                              "kernel", name.release, "kernel_version", name.version, "architecture",
                              name.machine, "host_name", name.nodename);
    put_value(facts, "distribution", "/etc/os-release", "PRETTY_NAME=%400[^\"\n]");
    put_value(facts, "distribution", "/etc/os-release", "PRETTY_NAME=\"%400[^\"\n]");
    put_value(facts, "cpu", "/proc/cpuinfo", "model name : %400[^\n]");
    put_value(facts, "memory", "/proc/meminfo", "MemTotal: %400[^\n]");
    json_object_set_new(facts, "cpus_online", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(facts, "virtualisation", json_string(virtualisation_name())); /* NULL: absent */
    for (size_t i = 0; i < sizeof file_facts / sizeof *file_facts; i++)
        put_value(facts, file_facts[i].key, file_facts[i].path, FIRST_LINE);
    json_object_set_new(facts, "mitigations", collect_mitigations());
    json_object_set_new(facts, "sysctl", collect_sysctls());
    json_object_set_new(facts, "versions",
                        json_pack("{s:s, s:s, s:s, s:s, s:s}", "uncork", UNCORK_VERSION, "revision",
                                  version_revision, "compiler", __VERSION__, "libuv", uv_version_string(),
                                  "jansson", JANSSON_VERSION));
    if (towards)
        json_object_set_new(facts, "device", device_towards(towards)); /* NULL: absent */
    return facts;
}
