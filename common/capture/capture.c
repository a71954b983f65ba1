/* SPDX-License-Identifier: MIT */
/* By libpcap. The kernel stores every packet in the ring at once, and the thread empties the ring
 * every few milliseconds. So a packet costs a copy and wakes no thread. When the last byte of a run
 * has been received, all its packets are in the ring: the end of a capture waits for none. */
#include "capture/capture.h"

#include "base/cleanup.h"
#include "base/files.h"
#include "base/threads.h"
#include "capture/frame.h"
#include "measure/facts.h"
#include "placement/cores.h"

#include <arpa/inet.h>
#include <pcap/pcap.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#define RING_BYTES (16 << 20) /* of the kernel: some hundred thousand packets */
#define POLL_EVERY_MS 3
/* Pages that are never touched take no memory. */
#define BUFFER_BYTES (CAPTURE_PACKETS_MAX * (sizeof(struct pcap_pkthdr) + CAPTURE_SNAP_BYTES))

struct capture {
    pcap_t *pcap;
    struct capture_facts facts;
    uint8_t *buffer; /* the stored packets; only the thread uses it while it runs */
    size_t used_bytes;
    struct problem problem; /* of the thread */
    int cpu;

    uv_thread_t thread;
    bool is_running;
    atomic_bool stop_requested; /* the thread stores what is in the ring, and ends */
};

/* ---- the thread ---- */

/* A header and `size` bytes of its packet, up to the alignment of the next header. */
static size_t stored_bytes(uint32_t size)
{
    return sizeof(struct pcap_pkthdr) + (size + 7) / 8 * 8;
}

static void store(u_char *context, const struct pcap_pkthdr *header, const u_char *bytes)
{
    struct capture *capture = (struct capture *)(void *)context;
    size_t bytes_needed = stored_bytes(header->caplen);
    struct pcap_pkthdr *stored;

    if (capture->facts.packets == CAPTURE_PACKETS_MAX || bytes_needed > BUFFER_BYTES - capture->used_bytes) {
        capture->facts.truncated = true;
        pcap_breakloop(capture->pcap);
        return;
    }
    stored = (struct pcap_pkthdr *)(void *)(capture->buffer + capture->used_bytes);
    *stored = *header;
    memcpy(stored + 1, bytes, header->caplen);
    capture->used_bytes += bytes_needed;
    capture->facts.packets++;
}

static void take_all(struct capture *capture)
{
    int taken;

    do
        taken = pcap_dispatch(capture->pcap, -1, store, (u_char *)capture);
    while (taken > 0 && !capture->facts.truncated);
    if (taken == PCAP_ERROR)
        problem_failure(&capture->problem, "the capture on %s failed: %s", capture->facts.device,
                        pcap_geterr(capture->pcap));
}

/* Runs directly after the last poll: packets that come later do not count as dropped. */
static void count_dropped(struct capture *capture)
{
    struct pcap_stat stat;

    if (pcap_stats(capture->pcap, &stat) == 0)
        capture->facts.dropped = (uint64_t)stat.ps_drop + stat.ps_ifdrop;
    else
        problem_failure(&capture->problem, "cannot read how many packets the capture on %s dropped: %s",
                        capture->facts.device, pcap_geterr(capture->pcap));
}

static void capture_main(void *context)
{
    struct capture *capture = context;
    bool continues = true;

    if (capture->cpu >= 0)
        cores_pin_thread(capture->cpu);
    while (continues && !capture->facts.truncated && capture->problem.kind == PROBLEM_NONE) {
        continues = !atomic_load(&capture->stop_requested);
        if (continues)
            uv_sleep(POLL_EVERY_MS);
        take_all(capture);
    }
    if (capture->problem.kind == PROBLEM_NONE)
        count_dropped(capture);
}

/* ---- start ---- */

static int reject_permission(struct problem *problem)
{
    char program[512];
    size_t size = sizeof program;

    return problem_unsupported(problem,
                               "capture=on needs CAP_NET_RAW: sudo setcap cap_net_raw+ep %s, or run "
                               "the command by sudo",
                               uv_exepath(program, &size) == 0 ? program : "uncork-client");
}

static pcap_t *open_device(const char *device, int ring_bytes, struct problem *problem)
{
    char why[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_create(device, why);
    int result;

    if (!pcap) {
        problem_failure(problem, "capture on %s: %s", device, why);
        return NULL;
    }
    pcap_set_snaplen(pcap, CAPTURE_SNAP_BYTES);
    pcap_set_buffer_size(pcap, ring_bytes);
    pcap_set_immediate_mode(pcap, 1);
    pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO); /* where it cannot: microseconds */
    result = pcap_activate(pcap);
    if (result >= 0 && pcap_setnonblock(pcap, 1, why) == 0)
        return pcap;
    if (result == PCAP_ERROR_PERM_DENIED)
        reject_permission(problem);
    else if (result == PCAP_ERROR && strstr(pcap_geterr(pcap), "memory-mapped"))
        problem_unsupported(problem,
                            "capture=on needs memory-mapped capture (packet(7): PACKET_RX_RING), which "
                            "this system does not have");
    else
        problem_failure(problem, "capture on %s: %s", device, result < 0 ? pcap_geterr(pcap) : why);
    pcap_close(pcap);
    return NULL;
}

/* Tests once per process: the result does not change, and closing a device takes time. */
int capture_check(struct problem *problem)
{
    static struct problem found;
    static bool is_checked;
    char device[IF_NAMESIZE];
    pcap_t *pcap;

    if (!is_checked && device_name_towards(NULL, device) == 0 &&
        (pcap = open_device(device, CAPTURE_SNAP_BYTES * 64, &found)))
        pcap_close(pcap);
    is_checked = true;
    if (found.kind != PROBLEM_UNSUPPORTED)
        return 0; /* another problem may concern only this device */
    *problem = found;
    return -1;
}

/* Sets the filter: the kernel copies only packets of this endpoint. */
static int set_filter(struct capture *capture, const struct endpoint *server, struct problem *problem)
{
    char host[INET6_ADDRSTRLEN], text[256];
    struct bpf_program program;
    int result;

    inet_ntop(server->family, server->host, host, sizeof host);
    snprintf(text, sizeof text, "tcp and ((dst host %s and dst port %d) or (src host %s and src port %d))",
             host, server->port, host, server->port);
    if (pcap_compile(capture->pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN) < 0)
        return problem_failure(problem, "capture: cannot compile the filter '%s': %s", text,
                               pcap_geterr(capture->pcap));
    result = pcap_setfilter(capture->pcap, &program);
    pcap_freecode(&program);
    return result < 0 ? problem_failure(problem, "capture: cannot set the filter '%s': %s", text,
                                        pcap_geterr(capture->pcap))
                      : 0;
}

static int open_towards(struct capture *capture, const struct address *server, struct problem *problem)
{
    struct endpoint endpoint;

    if (!endpoint_of(&endpoint, server) || device_name_towards(server, capture->facts.device) < 0)
        return problem_failure(problem, "capture: no network device leads to the server");
    capture->pcap = open_device(capture->facts.device, RING_BYTES, problem);
    if (!capture->pcap)
        return -1;
    capture->facts.link = pcap_datalink(capture->pcap);
    return set_filter(capture, &endpoint, problem);
}

static void join(struct capture *capture)
{
    if (!capture->is_running)
        return;
    atomic_store(&capture->stop_requested, true);
    uv_thread_join(&capture->thread);
    capture->is_running = false;
}

void capture_free(struct capture *capture)
{
    join(capture);
    if (capture->pcap)
        pcap_close(capture->pcap);
    free(capture->buffer);
    free(capture);
}

struct capture *capture_start(const struct address *server, int cpu, const char *path,
                              struct problem *problem)
{
    struct capture *capture = xcalloc(1, sizeof *capture);
    int result;

    capture->buffer = xmalloc(BUFFER_BYTES);
    capture->cpu = cpu;
    capture->facts.path = path;
    if ((!path || atomic_file_write(path, NULL, NULL, problem) == 0) &&
        open_towards(capture, server, problem) == 0) {
        result = uv_thread_create(&capture->thread, capture_main, capture);
        capture->is_running = result == 0;
        if (capture->is_running)
            return capture;
        thread_failure(problem, result, "a thread for the capture");
    }
    capture_free(capture);
    return NULL;
}

/* ---- stop ---- */

const struct capture_facts *capture_stop(struct capture *capture, struct problem *problem)
{
    join(capture);
    if (capture->problem.kind == PROBLEM_NONE)
        return &capture->facts;
    *problem = capture->problem;
    return NULL;
}

bool capture_next(const struct capture *capture, size_t *at, struct captured *captured)
{
    const struct pcap_pkthdr *stored = (const struct pcap_pkthdr *)(const void *)(capture->buffer + *at);

    if (*at >= capture->used_bytes)
        return false;
    *captured = (struct captured){(const uint8_t *)(stored + 1), stored->caplen, stored->len};
    *at += stored_bytes(stored->caplen);
    return true;
}

/* Without pcap_dump_close(), which would close `file` too: the dumper has no memory of its own. */
static int dump(FILE *file, void *context, struct problem *problem)
{
    struct capture *capture = context;
    pcap_dumper_t *dumper = pcap_dump_fopen(capture->pcap, file);
    struct captured captured;
    size_t at = 0;

    if (!dumper)
        return problem_failure(problem, "cannot write %s: %s", capture->facts.path,
                               pcap_geterr(capture->pcap));
    for (size_t before = 0; capture_next(capture, &at, &captured); before = at)
        pcap_dump((u_char *)dumper, (const void *)(capture->buffer + before), captured.bytes);
    return pcap_dump_flush(dumper);
}

int capture_write(struct capture *capture, struct problem *problem)
{
    return capture->facts.path ? atomic_file_write(capture->facts.path, dump, capture, problem) : 0;
}
