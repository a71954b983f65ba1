/* SPDX-License-Identifier: MIT */
/*
 * A server for real clients: it answers requests of a protocol, and its replies leave as the words say.
 *
 * Each connection has a data thread with the engine of the plan, as in a run. So a client that never
 * reads, or sends a byte a second, costs its own thread and nothing else. All threads share one content:
 * the export of nbd, which keeps what is written, or the bytes that the other protocols answer.
 */
#include "base/cleanup.h"
#include "base/secret.h"
#include "base/units.h"
#include "connection/protocol.h"
#include "listener.h"
#include "engine/engine.h"
#include "legality/legality.h"
#include "net/sockets.h"
#include "server.h"
#include "strategy/strategy.h"
#include "team/team.h"
#include "transport/transport.h"
#include "words/parse.h"
#include "words/word.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GUESTS_MAX 1024    /* connections, each with a thread */
#define DEPTH "depth=4096" /* requests of a connection that are read before they are answered */
#define CONTENT_PRESET (UINT64_C(64) << 20)
#define QUIET_MS 1000 /* between two lines about clients */

struct hall {
    struct listener listener;
    struct plan plan;
    const struct engine *engine;
    struct source content;
    struct security_terms terms;
    struct guest *guests;
    size_t count;
    uv_mutex_t mutex; /* guest->can_wake, and the descriptor of an engine that closes it */
    uv_async_t left;  /* a thread is done */
    uint64_t quiet_ms;
};

/* A foreign client's connection. */
struct guest {
    struct hall *hall;
    struct guest *next;
    uv_thread_t thread;
    struct connection connection;
    struct workbench bench;
    struct duty duty;
    bool can_wake; /* the engine is open */
    atomic_bool done;
    struct problem problem; /* why it was turned away */
};

/* ---- the thread of a connection ---- */

static int prepare(struct guest *guest, int fd)
{
    struct hall *hall = guest->hall;
    struct connection *connection = &guest->connection;
    struct problem *problem = &guest->problem;
    int result = workbench_open(&guest->bench, &hall->plan, END_SERVER, 1);

    if (result == 0)
        result = connection_open(connection, &guest->bench);
    if (result == 0 && hall->plan.encrypts)
        result = security_agree(&guest->bench, END_CLIENT, &hall->terms);
    if (result < 0)
        return problem_failure(problem, "a connection cannot be made ready: %s", strerror(-result));
    if (transport_prepare(&hall->plan, END_SERVER, fd, problem) < 0)
        return -1;
    sockets_set_blocking(fd, !hall->engine->nonblocking);
    return establish_handshake(connection, problem);
}

/* Answers until the client ends. */
static void answer(struct guest *guest)
{
    const struct engine *engine = guest->hall->engine;
    int result;

    uv_mutex_lock(&guest->hall->mutex); /* descriptors and rings of a thread that ended come back here */
    result = engine->open(&guest->duty);
    guest->can_wake = result == 0;
    uv_mutex_unlock(&guest->hall->mutex);
    if (result == 0) {
        workbench_begin_phase(&guest->bench, UINT64_MAX, false);
        result = engine->run(&guest->duty);
        if (result == 0)
            result = engine->finish(&guest->duty);
    }
    uv_mutex_lock(&guest->hall->mutex);
    guest->can_wake = false;
    engine->close(&guest->duty);
    uv_mutex_unlock(&guest->hall->mutex);
    if (result == -EBADMSG)
        guest->problem = guest->bench.problem;
}

static void guest_main(void *argument)
{
    struct guest *guest = argument;

    if (prepare(guest, guest->connection.calls.fd) == 0)
        answer(guest);
    atomic_store(&guest->done, true);
    uv_async_send(&guest->hall->left);
}

/* ---- all connections ---- */

/* At most one line a second: whoever can connect can make them. */
static void complain(struct hall *hall, const struct problem *problem)
{
    uint64_t now_ms = uv_now(&hall->listener.loop);

    if (problem->kind == PROBLEM_NONE || hall->listener.is_stopped || now_ms < hall->quiet_ms)
        return;
    fprintf(stderr, "uncork-server: %s\n", problem->text);
    hall->quiet_ms = now_ms + QUIET_MS;
}

static void free_guest(struct guest *guest)
{
    if (guest->connection.calls.fd >= 0)
        close(guest->connection.calls.fd);
    connection_close(&guest->connection);
    workbench_close(&guest->bench);
    free(guest);
}

/* Joins the threads that are done. After the last one of a server that ends, so does the loop. */
static void on_left(uv_async_t *left)
{
    struct hall *hall = left->data;

    for (struct guest **at = &hall->guests, *guest; (guest = *at);) {
        if (!atomic_load(&guest->done)) {
            at = &guest->next;
            continue;
        }
        *at = guest->next;
        uv_thread_join(&guest->thread);
        complain(hall, &guest->problem);
        free_guest(guest);
        listener_set_occupied(&hall->listener, --hall->count > 0);
    }
    if (hall->listener.is_stopped && !hall->guests)
        uv_close((uv_handle_t *)left, NULL);
}

static void on_accepted(void *owner, int fd)
{
    struct hall *hall = owner;
    struct guest *guest = hall->count < GUESTS_MAX ? calloc(1, sizeof *guest) : NULL;
    struct problem problem = {0};

    if (!guest) {
        problem_failure(&problem, "turned away a client: %d are connected", GUESTS_MAX);
        complain(hall, &problem);
        close(fd);
        return;
    }
    if (!hall->left.data) {
        uv_async_init(&hall->listener.loop, &hall->left, on_left);
        hall->left.data = hall;
    }
    guest->hall = hall;
    guest->bench.content = &hall->content;
    guest->connection.calls.fd = fd;
    guest->duty = (struct duty){.connections = &guest->connection, .count = 1, .bench = &guest->bench};
    if (uv_thread_create(&guest->thread, guest_main, guest) < 0) {
        free_guest(guest);
        return;
    }
    guest->next = hall->guests;
    hall->guests = guest;
    hall->count++;
    listener_set_occupied(&hall->listener, true);
}

static void on_stopped(void *owner)
{
    struct hall *hall = owner;

    uv_mutex_lock(&hall->mutex);
    for (struct guest *guest = hall->guests; guest; guest = guest->next) {
        atomic_store(&guest->bench.cancelled, true);
        if (guest->connection.calls.fd >= 0)
            shutdown(guest->connection.calls.fd, SHUT_RDWR);
        if (guest->can_wake && hall->engine->wake)
            hall->engine->wake(&guest->duty);
    }
    uv_mutex_unlock(&hall->mutex);
    if (hall->left.data)
        on_left(&hall->left);
}

static const struct listener_events listener_events = {.accepted = on_accepted, .stopped = on_stopped};

/* ---- the plan ---- */

static int refuse_word(const char *text, struct problem *problem)
{
    char known[512] = "";
    size_t size = 0;

    for (size_t i = 0; i < word_count && size < sizeof known; i++)
        if (word_list[i].serves)
            size += (size_t)snprintf(known + size, sizeof known - size, "%s%s", size ? ", " : "",
                                     word_list[i].key);
    return problem_usage(problem, "'%s' is no word of --serve, which takes %s", text, known);
}

static int check_words(const struct hall *hall, const struct options *options, struct problem *problem)
{
    const struct plan *plan = &hall->plan;
    bool fetches = false;

    for (uint32_t i = 0; i < plan->operations.count; i++)
        fetches |= plan->operations.list[i].kind->fetches;
    if (!fetches)
        return problem_usage(problem, "op= of --serve says how long a get is: op=get:100");
    if (plan->reply.longest_span > hall->content.period && !plan->protocol->welcome)
        return problem_usage(problem, "--size is less than the longest reply that op= has");
    if (plan->encrypts && !plan->protocol->welcome)
        return problem_usage(problem, "security= of --serve is for nbd: --serve %s has no handshake",
                             plan->protocol->variant.name);
    if (!plan->encrypts == !options->keys)
        return 0;
    return problem_usage(problem, options->keys ? "--psk FILE needs security=gnutls, openssl or ktls"
                                                : "security= needs --psk FILE, with the key of the clients");
}

static int parse_words(struct hall *hall, const struct options *options, struct problem *problem)
{
    bool is_unix = options->address.storage.ss_family == AF_UNIX, has_op = false, has_write = false;
    const char *words[SERVE_WORDS_MAX + 6], *name = options->serve->name;
    size_t count = 0;
    char protocol[64];

    for (size_t i = 0; i < options->word_count; i++) {
        struct typed_word typed;

        if (word_split(&typed, options->words[i], problem) < 0)
            return -1;
        if (!typed.word->serves || (typed.prefix != END_COUNT && typed.prefix != END_SERVER))
            return refuse_word(options->words[i], problem);
        if (!strcmp(typed.word->key, "op") && !strcmp(typed.value, "default"))
            continue;
        has_op |= !strcmp(typed.word->key, "op");
        has_write |= !strcmp(typed.word->key, "reply_write");
        words[count++] = options->words[i];
    }
    snprintf(protocol, sizeof protocol, "protocol=%s", name);
    words[count++] = protocol;
    words[count++] = is_unix ? "transport=unix" : "transport=tcp";
    words[count++] = DEPTH;
    words[count++] = "place=free"; /* its threads run where its starter allows */
    if (!has_write)
        words[count++] = options->keys ? "reply_write=cork" : "reply_write=writev"; /* a call, a record */
    if (!has_op)
        words[count++] = strncmp(name, "nbd", 3) != 0 ? "op=get:4K+get:32M" : "op=read:32M+write:32M";
    return plan_parse(&hall->plan, words, count, problem);
}

/* The key of the clients is the only one of the file. */
static int take_key(struct hall *hall, const struct psk_list *keys, struct problem *problem)
{
    const struct psk *key = keys->entries;

    if (keys->count != 1 || key->key_size != SECURITY_KEY_SIZE)
        return problem_usage(problem,
                             "--serve takes one key of %u bytes, as psktool makes it, and not %zu of %zu",
                             SECURITY_KEY_SIZE, keys->count, key->key_size);
    hall->terms = (struct security_terms){
        .serves = true, .cipher = hall->plan.cipher, .handshake = hall->plan.handshake};
    memcpy(hall->terms.identity, key->identity, key->identity_size);
    memcpy(hall->terms.key, key->key, key->key_size);
    return 0;
}

static int open_content(struct hall *hall, uint64_t size, struct problem *problem)
{
    bool as_file = plan_strategy(&hall->plan, END_SERVER)->strategy->from_file;
    int result = source_open(&hall->content,
                             (struct source_kind){.cold = size, .patterned = true, .as_file = as_file});

    hall->content.period = size;
    return result < 0 ? problem_failure(problem, "no memory for a content of %" PRIu64 " bytes", size) : 0;
}

void serve_run(const struct options *options, struct problem *problem)
{
    struct hall hall = {.listener = {.options = options, .events = &listener_events, .owner = &hall}};
    int fd;

    if (parse_words(&hall, options, problem) < 0)
        return;
    hall.engine = engine_of(&hall.plan, END_SERVER);
    hall.content.period = options->size ? options->size : CONTENT_PRESET;
    if (check_words(&hall, options, problem) == 0 &&
        (!options->keys || take_key(&hall, options->keys, problem) == 0) &&
        legality_check(&hall.plan, END_SERVER, false, problem) == 0 &&
        open_content(&hall, hall.content.period, problem) == 0 &&
        (fd = transport_socket(&hall.plan, END_SERVER, &options->address, problem)) >= 0) {
        uv_mutex_init(&hall.mutex);
        listener_serve(&hall.listener, fd, problem);
        uv_mutex_destroy(&hall.mutex);
    }
    source_close(&hall.content);
    secret_wipe(&hall.terms, sizeof hall.terms);
    plan_free(&hall.plan);
}
