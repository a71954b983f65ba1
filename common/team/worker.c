/* SPDX-License-Identifier: MIT */
/* The life of a data thread. */
#include "team/team.h"

#include "base/clock.h"
#include "engine/pause.h"
#include "net/sockets.h"
#include "team/figures.h"
#include "team/handshakes.h"
#include "transport/transport.h"
#include "workload/workload.h"

#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define CONNECT_WITHIN_MS 4000
#define ACCEPTED_WITHIN_MS 3000 /* for the answer of a proxy's sink */

static bool has_sockets(const struct worker *worker)
{
    return worker->team->plan->transport->has_other_end;
}

static bool reconnects(const struct worker *worker)
{
    return plan_role(worker->team->plan, worker->team->end)->reconnects;
}

/* ---- connect, hello ---- */

static int send_hello(const struct team *team, const struct connection *connection, struct problem *problem)
{
    uint8_t hello[HELLO_SIZE];

    hello_make(hello, team->token, connection->number);
    if (send(connection->calls.fd, hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
        return problem_failure(problem, "cannot send the token: %s", strerror(errno));
    return 0;
}

static void set_receive_timeout(int fd, int ms)
{
    struct timeval within = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &within, sizeof within);
}

/* A proxy forwards nothing before the sink has accepted this connection: hello.h. */
static int ask_sink(const struct team *team, const struct connection *connection, struct problem *problem)
{
    uint8_t request[SINK_HELLO_SIZE], answer[SINK_ANSWER_SIZE];
    int fd = connection->calls.fd;
    char sink[ADDRESS_MAX];
    ssize_t size;

    address_format(sink, &team->target);
    if (sink_hello_make(request, team->token, connection->number) < 0)
        return problem_failure(problem, "no random numbers for the sink");
    if (send(fd, request, sizeof request, MSG_NOSIGNAL) != sizeof request)
        return problem_failure(problem, "the proxy cannot send the token to the server at %s: %s", sink,
                               strerror(errno));
    set_receive_timeout(fd, ACCEPTED_WITHIN_MS);
    size = recv(fd, answer, sizeof answer, MSG_WAITALL);
    set_receive_timeout(fd, 0);
    if (size == sizeof answer && sink_has_accepted(answer, request))
        return 0;
    return problem_failure(problem, "%s did not accept the token of this run as its server: %s", sink,
                           size < 0    ? "it does not answer"
                           : size == 0 ? "it closed the connection"
                                       : "its answer is not that of a server of uncork");
}

static int connect_one(struct worker *worker, struct connection *connection, struct problem *problem)
{
    struct team *team = worker->team;
    const struct transport *transport = team->plan->transport;
    int fd = transport_socket(transport, team->plan, team->end, &team->target, problem);

    worker->phase = "connect";
    lifecycle_advance(&connection->state, EVENT_CONNECT);
    if (fd < 0)
        return -1;
    if (team_adopt(team, connection, fd) < 0)
        return problem_failure(problem, "the run was ended");
    if (address_connect(fd, &team->target, CONNECT_WITHIN_MS, problem) < 0)
        return -1;
    lifecycle_advance(&connection->state, EVENT_CONNECTED);
    worker->phase = "hello";
    if (plan_has_peer(team->plan))
        return 0; /* a foreign peer knows no token */
    return connection->twin ? ask_sink(team, connection, problem) : send_hello(team, connection, problem);
}

/* Checks the socket options of this plan on a socket that is not connected. The sockets of a
 * workload that reconnects are not checked. */
static int prove_options(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    const struct transport *transport = team->plan->transport;
    struct address address = team->target;
    int fd, result;

    if (!address.size && address_of_socket(&address, team->listener) < 0)
        return problem_failure(problem, "the address of the listener is not known");
    fd = transport_socket(transport, team->plan, team->end, &address, problem);
    if (fd < 0)
        return -1;
    result = transport_prepare(transport, team->plan, team->end, fd, problem);
    worker->options = transport_options(transport, team->plan, team->end, fd);
    close(fd);
    return result;
}

/* The descriptors of the other connections exist already. */
static bool connects(const struct team *team, const struct connection *connection)
{
    return team->end == END_CLIENT || (connection->twin && connection->peer == END_SERVER);
}

static int join(struct worker *worker, struct problem *problem)
{
    const struct plan *plan = worker->team->plan;

    if (has_sockets(worker) && reconnects(worker))
        return prove_options(worker, problem);
    for (size_t i = 0; has_sockets(worker) && i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];

        if (connects(worker->team, connection) && connect_one(worker, connection, problem) < 0)
            return -1;
        if (transport_prepare(plan->transport, plan, worker->team->end, connection->calls.fd, problem) < 0 ||
            transport_prove(plan, worker->team->end, connection->calls.fd, problem) < 0)
            return -1;
        sockets_set_blocking(connection->calls.fd, !worker->team->engine->nonblocking);
    }
    return 0;
}

/* ---- phases ---- */

/* Turns a result of the engine into a problem. */
static int settle(struct worker *worker, int result, struct problem *problem)
{
    if (result == 0)
        return 0;
    *problem = worker->bench.problem;
    if (worker->bench.handshake_failed)
        worker->phase = "handshake";
    return problem_failure(problem, "the engine stopped: %s", strerror(-result));
}

struct phase {
    const char *name;
    uint64_t duration_ns; /* UINT64_MAX: no deadline */
    bool paced;           /* follows the schedule of an open loop, if the plan has one */
    bool until_stop;      /* follower: ends at the byte that the driver announced */
    bool stays;           /* for ends that drive and follow: control ends it */
};

/* Sets the next phase of the worker. The message counts of its connections are set already. */
static void prepare_phase(struct worker *worker, const struct phase *phase)
{
    worker->phase = phase->name;
    worker->bench.stays = phase->stays;
    for (size_t i = 0; i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];

        connection->until_stop = phase->until_stop;
        if (connection->role->begin)
            connection->role->begin(connection);
    }
}

static int run_prepared(struct worker *worker, const struct phase *phase, struct problem *problem)
{
    bool paced = phase->paced && worker->team->plan->rate;

    workbench_begin_phase(&worker->bench, phase->duration_ns, paced);
    return settle(worker, worker->team->engine->run(&worker->duty), problem);
}

static int run_phase(struct worker *worker, const struct phase *phase, struct problem *problem)
{
    prepare_phase(worker, phase);
    return run_prepared(worker, phase, problem);
}

static void set_messages(struct worker *worker, uint64_t messages)
{
    for (size_t i = 0; i < worker->count; i++)
        worker->connections[i].messages_left = messages;
}

static int await(struct worker *worker, enum release release, struct problem *problem)
{
    return team_await(worker->team, release) < 0 ? problem_failure(problem, "the run was ended") : 0;
}

/* A thread that drives and follows keeps receiving while it waits. The thread that sends to it
 * may be one that other ends wait for; then control of this end waits for it too. */
static int await_last(struct worker *worker, struct problem *problem)
{
    struct phase take = {"drain", UINT64_MAX, .stays = true};

    set_messages(worker, 0);
    if (worker->team->follows && run_phase(worker, &take, problem) < 0)
        return -1;
    return await(worker, RELEASE_LAST, problem);
}

/* The driver sends for the time of the warm-up, announces its last message and sends it. A
 * foreign peer gets no announcement: the warm-up ends with its time. */
static int warm_up_driver(struct worker *worker, struct problem *problem)
{
    struct phase warm_up = {"warm-up", worker->team->plan->warmup_ns, .paced = true};
    struct phase drain = {"drain", UINT64_MAX, .until_stop = true};

    set_messages(worker, UINT64_MAX);
    if (run_phase(worker, &warm_up, problem) < 0)
        return -1;
    if (plan_has_peer(worker->team->plan))
        return 0;
    team_reach(worker->team, STAGE_WARMED);
    if (await_last(worker, problem) < 0)
        return -1;
    set_messages(worker, 1);
    return run_phase(worker, &drain, problem);
}

/* The follower continues to the byte that the driver announced. */
static int warm_up_follower(struct worker *worker, struct problem *problem)
{
    struct phase warm_up = {"warm-up", UINT64_MAX, .until_stop = true};

    return run_phase(worker, &warm_up, problem);
}

static int warm_up(struct worker *worker, struct problem *problem)
{
    int result = 0;

    if (worker->team->plan->warmup_ns)
        result = worker->team->drives ? warm_up_driver(worker, problem) : warm_up_follower(worker, problem);
    for (size_t i = 0; result == 0 && i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];

        atomic_store(&connection->stop, 0); /* the next phase has no stop */
        if (connection_has_ended(connection))
            result = problem_failure(problem, "the %s closed its connection", end_names[connection->peer]);
    }
    return result;
}

/* ---- the measured interval ---- */

/*
 * A thread's CPU account begins and ends in two places only: begin_time() is the last call before
 * the engine runs, end_time() the first after it. Everything else that the record needs is read
 * outside:
 *
 *   prepare ▷ all meet, /proc/stat ▷ CPU ▷ clock ▷ engine ▷ CPU
 *           ▷ half-close ▷ all meet, /proc/stat ▷ look back
 *
 * The clock is read inside the account: it begins after the CPU and ends at the last reply or
 * arrival. So the work of all the measured time is in the account. A stream's driver also waits
 * for the other's half-close, which is in its time and not in its account.
 */
static void begin_time(struct worker *worker)
{
    thread_begin(&worker->own, &worker->before.own);
}

static void end_time(struct worker *worker)
{
    thread_end(&worker->own, &worker->after.own);
    figures_read_counts(worker, &worker->after);
}

/* A barrier for all threads of this end: no thread prepares or reads figures while another one
 * works. */
static int meet(struct worker *worker, struct machine_reading *machine, struct problem *problem)
{
    return team_meet(worker->team, machine) < 0 ? problem_failure(problem, "the run was ended") : 0;
}

/* Reads the start figures for the record while no data is in flight, and prepares the measured
 * phase. */
static int prepare_interval(struct worker *worker, const struct phase *run, struct problem *problem)
{
    const struct plan *plan = worker->team->plan;

    figures_read_tcp(worker, &worker->before, tcp_info_read);
    memcpy(worker->after.tcp, worker->before.tcp, worker->count * sizeof *worker->before.tcp);
    for (size_t i = 0; i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];

        connection_restart_arrivals(connection);
        connection->messages_left = plan_messages_of(plan, connection->number);
    }
    figures_read_counts(worker, &worker->before);
    workbench_restart(&worker->bench);
    prepare_phase(worker, run);
    thread_look(&worker->before.own);
    if (worker->duty.handover)
        sender_begin_time(&worker->sender);
    return meet(worker, &worker->team->machine_before, problem);
}

/* A follower reads its start figures before the driver gets the go. A driver reads them after
 * its own go. */
static int mark(struct worker *worker, const struct phase *run, struct problem *problem)
{
    struct team *team = worker->team;

    worker->phase = "drain";
    if (!team->follows && await(worker, RELEASE_GO, problem) < 0)
        return -1;
    if (prepare_interval(worker, run, problem) < 0)
        return -1;
    if (team->follows)
        team_reach(team, STAGE_MARKED);
    return team->follows && team->drives ? await(worker, RELEASE_GO, problem) : 0;
}

static int run(struct worker *worker, struct problem *problem)
{
    const struct plan *plan = worker->team->plan;
    bool timed = worker->team->drives && !plan->messages && !plan->bytes;
    struct phase run = {"run", timed ? plan->duration_ns : UINT64_MAX, .paced = true,
                        .until_stop = reconnects(worker)};

    if (mark(worker, &run, problem) < 0)
        return -1;
    begin_time(worker);
    return run_prepared(worker, &run, problem);
}

/* ---- the end ---- */

/* The measured interval of this end: docs/record.md, elapsed_ns. */
static void settle_interval(struct worker *worker, uint64_t finished_ns)
{
    const struct role *role = worker->connections->role;
    bool takes = role->clocks && !role->times; /* a stream is timed at its receiver */

    worker->begun_ns = worker->team->drives && !takes ? worker->bench.start_ns : UINT64_MAX;
    worker->ended_ns = worker->team->drives && !role->clocks ? finished_ns : 0;
    for (size_t i = 0; role->clocks && i < worker->count; i++) {
        const struct arrivals *arrivals = &worker->connections[i].arrivals;

        if (arrivals->first_ns && arrivals->first_ns < worker->begun_ns)
            worker->begun_ns = arrivals->first_ns;
        if (arrivals->last_ns > worker->ended_ns)
            worker->ended_ns = arrivals->last_ns;
        worker->first_bytes += takes ? arrivals->first_bytes : 0;
    }
}

static void count_missed(struct worker *worker)
{
    const struct role *role = worker->connections->role;

    for (size_t i = 0; worker->bench.paced && role->missed && i < worker->count; i++)
        worker->missed += role->missed(&worker->connections[i]);
}

/* No half-close to wait for: every descriptor is closed, or a foreign peer has sent everything.
 * Such a peer need not close. */
static bool needs_no_half_close(const struct worker *worker)
{
    return reconnects(worker) || (plan_has_peer(worker->team->plan) && worker->connections->incoming);
}

/* The connection whose options are reported: of a proxy's pair the sending one. */
static const struct connection *sends_by(const struct worker *worker)
{
    const struct connection *first = worker->connections;

    return first->twin && !first->drives ? first->twin : first;
}

static void read_options(struct worker *worker)
{
    const struct plan *plan = worker->team->plan;
    int fd = sends_by(worker)->calls.fd;

    if (has_sockets(worker) && !worker->options)
        worker->options = transport_options(plan->transport, plan, worker->team->end, fd);
}

/* Reads the figures that may be read after all threads of this end are done. */
static void look_back(struct worker *worker)
{
    count_missed(worker);
    figures_read_tcp(worker, &worker->after, tcp_info_read_again);
    if (plan_encrypts(worker->team->plan))
        figures_leave_out_close_notify(worker);
    thread_look(&worker->after.own);
    if (worker->duty.handover)
        sender_end_time(&worker->sender);
}

/* An end that drives and follows works until the other end's half-close. A transport that
 * forgets its TCP figures must be read before that, so within the interval of such an end. */
static int end_interval(struct worker *worker, struct problem *problem)
{
    const struct team *team = worker->team;
    bool works_on = team->drives && team->follows, forgets = team->plan->transport->forgets;

    if (!works_on)
        end_time(worker);
    worker->phase = "finish";
    if (!works_on || forgets)
        read_options(worker);
    if (forgets)
        figures_read_tcp(worker, &worker->after, tcp_info_read);
    if (has_sockets(worker) && !needs_no_half_close(worker) &&
        settle(worker, team->engine->finish(&worker->duty), problem) < 0)
        return -1;
    settle_interval(worker, clock_now_ns());
    if (works_on)
        end_time(worker);
    if (meet(worker, &worker->team->machine_after, problem) < 0)
        return -1;
    read_options(worker);
    look_back(worker);
    return 0;
}

static int unready(const struct worker *worker, int result, struct problem *problem)
{
    return problem_failure(problem, "a thread cannot be made ready for %zu connections: %s", worker->count,
                           strerror(-result));
}

/* Called by the thread on its CPU, so that its memory is local. */
static int open_connections(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    int result = workbench_open(&worker->bench, team->plan, team->end, worker->count);

    worker->bench.samples.look = figures_watch_windows;
    worker->bench.samples.context = worker;
    for (size_t i = 0; i < worker->count && result == 0; i++) {
        struct connection *connection = &worker->connections[i];

        result = connection_open(connection, &worker->bench, connection->number, -1);
    }
    return result == 0 ? 0 : unready(worker, result, problem);
}

/* Pins the sender to the CPU that one more data thread would have. */
static int open_sender(struct worker *worker, struct problem *problem)
{
    const struct team *team = worker->team;
    const struct place_list *cpus = &team->cpus;
    size_t number = team->worker_count + worker->index;
    int cpu = cpus->count ? cpus->cpus[number % cpus->count] : -1;

    if (!plan_hands_over(team->plan, team->end))
        return 0;
    worker->duty.handover = &worker->sender.handover;
    return sender_start(&worker->sender, worker->connections, cpu, problem);
}

static int open_engine(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    int result = team->engine->open(&worker->duty);

    if (result < 0)
        return unready(worker, result, problem);
    team_engine_opened(worker);
    return 0;
}

static int live(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;

    worker->phase = "start";
    if (thread_settle(&worker->own, &team->plan->ends[team->end], problem) < 0 || join(worker, problem) < 0 ||
        open_connections(worker, problem) < 0 || handshakes_make(worker, problem) < 0 ||
        open_sender(worker, problem) < 0 || open_engine(worker, problem) < 0)
        return -1;
    team_reach(team, STAGE_CONNECTED);
    if (await(worker, RELEASE_START, problem) < 0)
        return -1;
    if (warm_up(worker, problem) < 0 || run(worker, problem) < 0)
        return -1;
    return end_interval(worker, problem);
}

void worker_main(void *argument)
{
    struct worker *worker = argument;
    struct team *team = worker->team;
    struct problem problem = {0};

    if (team->plan->rate)
        pause_precisely();
    if (live(worker, &problem) < 0)
        team_cancel(team, worker->phase, &problem);
    sender_end(&worker->sender);
    thread_leave(&worker->own);
    team_reach(team, STAGE_DONE);
}
