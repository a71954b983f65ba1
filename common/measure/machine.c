/* SPDX-License-Identifier: MIT */
#include "measure/cpu.h"

#include "base/clock.h"
#include "base/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const char *const names[MACHINE_TIME_COUNT] = {
    [MACHINE_USER] = "user_ns", [MACHINE_SYSTEM] = "system_ns",   [MACHINE_IDLE] = "idle_ns",
    [MACHINE_IRQ] = "irq_ns",   [MACHINE_SOFTIRQ] = "softirq_ns", [MACHINE_STEAL] = "steal_ns",
};

/* proc_stat(5): user nice system idle iowait irq softirq steal, in clock ticks. */
void machine_read(struct machine_reading *reading)
{
    uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
    FILE *file = fopen("/proc/stat", "re");

    *reading = (struct machine_reading){0};
    if (!file)
        return;
    if (fscanf(file,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64,
               &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) == 8)
        reading->known = user + system + idle > 0; /* some systems print zeros */
    fclose(file);
    reading->ns[MACHINE_USER] = (user + nice) * tick_ns;
    reading->ns[MACHINE_SYSTEM] = system * tick_ns;
    reading->ns[MACHINE_IDLE] = (idle + iowait) * tick_ns;
    reading->ns[MACHINE_IRQ] = irq * tick_ns;
    reading->ns[MACHINE_SOFTIRQ] = softirq * tick_ns;
    reading->ns[MACHINE_STEAL] = steal * tick_ns;
}

json_t *machine_to_json(const struct machine_reading *before, const struct machine_reading *after)
{
    json_t *machine;

    if (!before->known || !after->known)
        return NULL;
    machine = json_object();
    for (int time = 0; time < MACHINE_TIME_COUNT; time++)
        json_object_set_new(machine, names[time],
                            json_integer((json_int_t)(after->ns[time] - before->ns[time])));
    return machine;
}

/* proc_pid_statm(5): size and resident, in pages. */
uint64_t memory_resident_bytes(void)
{
    uint64_t pages = 0;

    scan_file("/proc/self/statm", 1, "%*u %" SCNu64, &pages);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
