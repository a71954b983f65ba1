/* SPDX-License-Identifier: MIT */
#include "measure/device.h"

#include "base/cleanup.h"
#include "net/sockets.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/ethtool.h>
#include <linux/sockios.h>

static const struct {
    const char *name;
    uint32_t command;
} offloads[] = {
    {"rx_checksum", ETHTOOL_GRXCSUM},
    {"tx_checksum", ETHTOOL_GTXCSUM},
    {"scatter_gather", ETHTOOL_GSG},
    {"tso", ETHTOOL_GTSO},
    {"gso", ETHTOOL_GGSO},
    {"gro", ETHTOOL_GGRO},
};
#endif

static void put_offloads(json_t *device, int fd, const char name[IFNAMSIZ])
{
#ifdef __linux__
    json_t *values = json_object();

    for (size_t i = 0; i < sizeof offloads / sizeof *offloads; i++) {
        struct ethtool_value value = {.cmd = offloads[i].command};
        struct ifreq request = {.ifr_data = (char *)&value};

        memcpy(request.ifr_name, name, IFNAMSIZ);
        if (ioctl(fd, SIOCETHTOOL, &request) == 0)
            json_object_set_new(values, offloads[i].name, json_boolean(value.data));
    }
    json_object_set_new(device, "offloads", values);
#endif
}

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
    if (address_is_local(address) || find_name(address, name) == 0)
        return find_name(NULL, name);
    return find_name(&local, name);
}

json_t *device_towards(const struct address *address)
{
    char name[IFNAMSIZ] = "", text[ADDRESS_MAX];
    struct address local;
    struct ifreq request = {0};
    CLEANUP_CLOSE int fd = connect_towards(address, &local);

    if (fd < 0)
        return NULL;
    address_set_port(&local, 0);
    address_format(text, &local);
    json_t *device = json_pack("{s:s#}", "local_address", text, (int)strlen(text) - 2); /* without ":0" */
    if (find_name(&local, name) == 0) {
        json_object_set_new(device, "name", json_string(name));
        memcpy(request.ifr_name, name, IFNAMSIZ);
        if (ioctl(fd, SIOCGIFMTU, &request) == 0)
            json_object_set_new(device, "mtu_bytes", json_integer(request.ifr_mtu));
        put_offloads(device, fd, name);
    }
    return device;
}
