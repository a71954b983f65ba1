/* SPDX-License-Identifier: MIT */
/* libpcap can also capture D-Bus messages, by libraries that have no archive. It calls only these
 * two of its functions for that. Here they report that no device is a bus. */
#include <pcap/pcap.h>

pcap_t *dbus_create(const char *device, char *why, int *is_ours);
int dbus_findalldevs(void *devices, char *why);

pcap_t *dbus_create(const char *device, char *why, int *is_ours)
{
    (void)device, (void)why;
    *is_ours = 0;
    return NULL;
}

int dbus_findalldevs(void *devices, char *why)
{
    (void)devices, (void)why;
    return 0;
}
