/* SPDX-License-Identifier: MIT */
/* By libpcap. The kernel stores every packet in the ring at once, and the thread empties the ring
 * every few milliseconds. So a packet costs a copy and wakes no thread. When the last byte of a run
 * has been received, all its packets are in the ring: the end of a capture waits for none. */
#include "capture/capture.h"

#include "base/cleanup.h"
#include "base/files.h"
#include "base/threads.h"
#include "measure/facts.h"
#include "placement/placement.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/param.h>
#include <uv.h>

#define SNAP_BYTES 96         /* stored of each packet: all headers, and little else */
#define RING_BYTES (16 << 20) /* of the kernel: some hundred thousand packets */
#define POLL_EVERY_MS 3
/* A savefile with headers of 24 and 16 bytes. Pages that are never touched take no memory. */
#define FILE_BYTES (24 + CAPTURE_PACKETS_MAX * (16 + SNAP_BYTES))

struct capture {
    pcap_t *pcap;
    char device[IF_NAMESIZE];
    const char *path;            /* of the file for the packets, owned by the caller; NULL: none */
    json_int_t packets, dropped; /* stored; dropped by the kernel, because its buffer was full */
    bool truncated;              /* there were more than CAPTURE_PACKETS_MAX */
    FILE *file;                  /* a savefile in memory; only the thread uses it while it runs */
    char *bytes;                 /* of the file */
    size_t size;                 /* of the file; known after the stop */
    pcap_dumper_t *dumper;       /* writes the file, and has no memory of its own */
    pcap_t *reader;              /* after the stop: reads the file, and owns it */
    struct problem problem;      /* of the thread */
    int cpu;

    uv_thread_t thread;
    bool is_running;
    atomic_bool stop_requested; /* the thread stores what is in the ring, and ends */
};

/* ---- the thread ---- */

static void store(u_char *context, const struct pcap_pkthdr *header, const u_char *bytes)
{
    struct capture *capture = (struct capture *)(void *)context;
    struct pcap_pkthdr stored = *header;
    stored.caplen = MIN(stored.caplen, SNAP_BYTES); /* the file has no room for more */
    if (capture->packets < CAPTURE_PACKETS_MAX) {
        pcap_dump((u_char *)capture->dumper, &stored, bytes);
        capture->packets++;
    } else {
        capture->truncated = true;
        pcap_breakloop(capture->pcap);
    }
}

static void capture_main(void *context)
{
    struct capture *capture = context;
    struct pcap_stat stat = {0};
    bool stops = false;
    int taken = 0;

    if (capture->cpu >= 0)
        cores_pin_thread(capture->cpu);
    while (!stops && !capture->truncated && taken != PCAP_ERROR) {
        stops = atomic_load(&capture->stop_requested);
        if (!stops)
            uv_sleep(POLL_EVERY_MS);
        do
            taken = pcap_dispatch(capture->pcap, -1, store, (u_char *)capture);
        while (taken > 0 && !capture->truncated);
    }
    if (taken == PCAP_ERROR)
        problem_failure(&capture->problem, "the capture on %s failed: %s", capture->device,
                        pcap_geterr(capture->pcap));
    else if (pcap_stats(capture->pcap, &stat) < 0)
        problem_failure(&capture->problem, "cannot read how many packets the capture on %s dropped: %s",
                        capture->device, pcap_geterr(capture->pcap));
    capture->dropped = (json_int_t)stat.ps_drop + stat.ps_ifdrop; /* up to the last poll */
}

/* ---- start ---- */

static pcap_t *open_device(const char *device, int ring_bytes, struct problem *problem)
{
    char why[PCAP_ERRBUF_SIZE], program[512];
    pcap_t *pcap = pcap_create(device, why);

    if (!pcap) {
        problem_failure(problem, "capture on %s: %s", device, why);
        return NULL;
    }
    pcap_set_snaplen(pcap, SNAP_BYTES);
    pcap_set_buffer_size(pcap, ring_bytes);
    pcap_set_immediate_mode(pcap, 1);
    pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO); /* where it cannot: microseconds */
    int result = pcap_activate(pcap);
    if (result >= 0 && pcap_setnonblock(pcap, 1, why) == 0)
        return pcap;
    if (result == PCAP_ERROR_PERM_DENIED)
        problem_unsupported(problem,
                            "capture=on needs CAP_NET_RAW: sudo setcap cap_net_raw+ep %s, or run "
                            "the command by sudo",
                            uv_exepath(program, &(size_t){sizeof program}) == 0 ? program : "uncork-client");
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
        (pcap = open_device(device, SNAP_BYTES * 64, &found)))
        pcap_close(pcap);
    is_checked = true;
    if (found.kind != PROBLEM_UNSUPPORTED)
        return 0; /* another problem may concern only this device */
    *problem = found;
    return -1;
}

static int start(struct capture *capture, const struct address *server, struct problem *problem)
{
    char host[INET6_ADDRSTRLEN], filter[256];
    struct bpf_program program;
    struct endpoint end;

    if (capture->path && atomic_file_write(capture->path, NULL, NULL, problem) < 0)
        return -1;
    if (!endpoint_of(&end, server) || device_name_towards(server, capture->device) < 0)
        return problem_failure(problem, "capture: no network device leads to the server");
    pcap_t *pcap = capture->pcap = open_device(capture->device, RING_BYTES, problem);
    if (!pcap)
        return -1;
    /* The filter: the kernel copies only packets of this endpoint. */
    inet_ntop(end.family, end.host, host, sizeof host);
    snprintf(filter, sizeof filter,
             "tcp and ((dst host %s and dst port %d) or (src host %s and src port %d))", host, end.port, host,
             end.port);
    if (pcap_compile(pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN) < 0)
        return problem_failure(problem, "capture: cannot compile the filter '%s': %s", filter,
                               pcap_geterr(pcap));
    int result = pcap_setfilter(pcap, &program);
    pcap_freecode(&program);
    if (result < 0)
        return problem_failure(problem, "capture: cannot set the filter '%s': %s", filter, pcap_geterr(pcap));
    capture->dumper = pcap_dump_fopen(pcap, capture->file);
    if (!capture->dumper)
        return problem_failure(problem, "cannot store packets: %s", pcap_geterr(pcap));
    result = uv_thread_create(&capture->thread, capture_main, capture);
    capture->is_running = result == 0;
    return result == 0 ? 0 : thread_failure(problem, result, "a thread for the capture");
}

struct capture *capture_start(const struct address *server, int cpu, const char *path,
                              struct problem *problem)
{
    struct capture *capture = xcalloc(1, sizeof *capture);
    capture->bytes = xmalloc(FILE_BYTES);
    capture->file = check_nonnull(fmemopen(capture->bytes, FILE_BYTES, "w+"));
    capture->path = path;
    capture->cpu = cpu;
    if (start(capture, server, problem) == 0)
        return capture;
    capture_free(capture);
    return NULL;
}

/* ---- stop ---- */

static void join(struct capture *capture)
{
    if (!capture->is_running)
        return;
    atomic_store(&capture->stop_requested, true);
    uv_thread_join(&capture->thread);
    capture->is_running = false;
}

json_t *capture_stop(struct capture *capture, struct problem *problem)
{
    char why[PCAP_ERRBUF_SIZE];

    join(capture);
    if (fflush(capture->file) != 0)
        problem_failure(&capture->problem, "cannot store packets: %s", strerror(errno));
    capture->size = (size_t)ftell(capture->file);
    rewind(capture->file);
    capture->reader = pcap_fopen_offline(capture->file, why);
    if (!capture->reader)
        problem_failure(&capture->problem, "cannot read the captured packets: %s", why);
    if (capture->problem.kind != PROBLEM_NONE) {
        *problem = capture->problem;
        return NULL;
    }
    return json_pack("{s:s, s:i, s:I, s:I, s:b, s:s*}", "device", capture->device, "snap_bytes", SNAP_BYTES,
                     "stored_packets", capture->packets, "dropped", capture->dropped, "truncated",
                     capture->truncated, "file", capture->path);
}

void capture_free(struct capture *capture)
{
    join(capture);
    if (capture->reader)
        pcap_close(capture->reader);
    else
        fclose(capture->file);
    if (capture->pcap)
        pcap_close(capture->pcap);
    free(capture->bytes);
    free(capture);
}

bool capture_next(struct capture *capture, struct segment *segment)
{
    struct pcap_pkthdr *header;
    const u_char *bytes;
    while (pcap_next_ex(capture->reader, &header, &bytes) == 1)
        if (frame_parse(segment, pcap_datalink(capture->pcap), bytes, header->caplen, header->len))
            return true;
    return false;
}

static int dump(FILE *file, void *context, struct problem *problem)
{
    const struct capture *capture = context;
    return fwrite(capture->bytes, 1, capture->size, file) == capture->size ? 0 : -1;
}

int capture_write(struct capture *capture, struct problem *problem)
{
    return capture->path ? atomic_file_write(capture->path, dump, capture, problem) : 0;
}
