/* SPDX-License-Identifier: MIT */
/* A server for real clients: it answers requests of a protocol. Words like reply_write= decide how
 * its replies are written.
 *
 * Each connection has a data thread with the engine of the plan, as in a run. So a client that
 * never reads, or sends a byte a second, blocks only its own thread. All threads share one content:
 * the export of nbd, which clients can write to, or the bytes of replies of other protocols. */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/threads.h"
#include "connection/memory.h"
#include "connection/protocol.h"
#include "modes.h"
#include "support/support.h"
#include "team/team.h"
#include "words/word.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#define DEPTH "depth=4096" /* requests that a connection reads before it answers them */
#define CONTENT_PRESET (UINT64_C(64) << 20)
#define ENDING_MAX 64  /* clients whose thread is ending, beside those that the limit allows */
#define LINGER_MS 1000 /* after the last reply */

struct service {
    struct listener listener;
    struct plan plan;
    const struct engine *engine;
    struct source content;
    struct security_terms terms;
    struct client *clients;
    size_t count, clients_max;
    uv_mutex_t mutex; /* guards client->can_wake, and descriptors while an engine opens or closes */
    uv_async_t ended; /* a thread is done */
};

/* A foreign client's connection. */
struct client {
    struct service *service;
    struct client *next;
    struct address peer;
    uv_thread_t thread;
    struct connection connection;
    struct thread_shared shared;
    struct engine_job job;
    bool can_wake; /* the engine is open: its wake() may be called */
    bool is_cancelled;
    atomic_bool done;
    struct problem problem; /* why its thread ended */
};

/* ---- the thread of a connection ---- */

static int prepare(struct client *client, int fd)
{
    struct service *service = client->service;
    const struct plan *plan = &service->plan;
    struct problem *problem = &client->problem;
    int result = thread_shared_open(&client->shared, plan, END_SERVER, 1);

    if (result == 0)
        result = connection_open(&client->connection, &client->shared);
    if (result == 0 && plan->encrypts)
        result = security_open_context(&client->shared, END_CLIENT, &service->terms);
    if (result < 0)
        return problem_failure(problem, "cannot prepare a connection: %s", strerror(-result));
    if (transport_prepare(plan, END_SERVER, fd, problem) < 0)
        return -1;
    sockets_set_blocking(fd, !service->engine->nonblocking);
    return establish_handshake(&client->connection, problem);
}

/* Answers until the client ends. */
static void answer(struct client *client)
{
    const struct engine *engine = client->service->engine;
    uv_mutex_t *mutex = &client->service->mutex;

    uv_mutex_lock(mutex); /* open() may get descriptors and rings that an ended thread released */
    int result = engine->open(&client->job);
    client->can_wake = result == 0;
    uv_mutex_unlock(mutex);
    if (result < 0) {
        problem_failure(&client->problem, "cannot serve a client by engine=%s: %s", engine->variant.name,
                        strerror(-result));
    } else {
        thread_shared_begin_phase(&client->shared, UINT64_MAX, false);
        if ((result = engine_run(&client->job)) == 0)
            result = engine_finish(&client->job);
    }
    uv_mutex_lock(mutex);
    client->can_wake = false;
    engine->close(&client->job);
    uv_mutex_unlock(mutex);
    if (result == -EBADMSG || client->connection.framing->quits)
        client->problem = client->shared.problem;
}

/* Accepts for a while what a client still sends after its last reply. A descriptor that is closed
 * with unread bytes resets the connection, and the client could lose the reply (RFC 9112, 9.6). */
static void linger(int fd)
{
    uint64_t until_ns = clock_now_ns() + LINGER_MS * NS_PER_MS;
    struct pollfd ready = {fd, POLLIN, 0};
    char dropped[4096];

    while (clock_now_ns() < until_ns && poll(&ready, 1, LINGER_MS) > 0 &&
           recv(fd, dropped, sizeof dropped, MSG_DONTWAIT) > 0) {
    }
}

static void client_main(void *argument)
{
    struct client *client = argument;
    const struct plan *plan = &client->service->plan;
    if (prepare(client, client->connection.calls.fd) == 0) {
        if (plan->encrypts || plan->protocol->server_dialogue) /* it has the key, or has shaken hands */
            atomic_store(&client->shared.has_answered, true);
        answer(client);
    }
    if (client->connection.framing && client->connection.framing->quits)
        linger(client->connection.calls.fd);
    atomic_store(&client->done, true);
    uv_async_send(&client->service->ended);
}

/* ---- all connections ---- */

/* Joins the threads that are done. After the last one of a stopped server, the loop ends too. */
static void on_ended(uv_async_t *ended)
{
    struct service *service = ended->data;
    for (struct client **at = &service->clients, *client; (client = *at);) {
        if (!atomic_load(&client->done)) {
            at = &client->next;
            continue;
        }
        *at = client->next;
        uv_thread_join(&client->thread);
        if (client->problem.kind != PROBLEM_NONE && !client->is_cancelled && !service->listener.is_stopped)
            listener_log_rarely(&service->listener, client->problem.text);
        if (client->connection.calls.fd >= 0)
            close(client->connection.calls.fd);
        connection_close(&client->connection);
        thread_shared_close(&client->shared);
        free(client);
        listener_set_occupied(&service->listener, --service->count > 0);
    }
    if (service->listener.is_stopped && !service->clients)
        uv_close((uv_handle_t *)ended, NULL);
}

/* Its thread ends. The caller holds the mutex. */
static void cancel(struct client *client)
{
    const struct engine *engine = client->service->engine;
    client->is_cancelled = true;
    atomic_store(&client->shared.cancelled, true);
    if (client->connection.calls.fd >= 0)
        shutdown(client->connection.calls.fd, SHUT_RDWR);
    if (client->can_wake && engine->wake)
        engine->wake(&client->job);
}

static size_t reject_unknown(void *owner, const struct address *source, size_t victim, const char *why)
{
    struct service *service = owner;
    size_t count = 0;

    for (struct client *client = service->clients; client; client = client->next)
        if (!atomic_load(&client->shared.has_answered) && !client->is_cancelled &&
            address_is_of_source(&client->peer, source) && count++ == victim) {
            uv_mutex_lock(&service->mutex);
            cancel(client);
            uv_mutex_unlock(&service->mutex);
            listener_rejected(&service->listener, &client->peer, why);
            break;
        }
    return count;
}

/* Whether one more client may connect. If all places are taken, a client that is not known yet has
 * to leave. */
static bool has_room(struct service *service)
{
    size_t unknown = reject_unknown(service, NULL, SIZE_MAX, ""), stay = 0;
    uint32_t number = 0;

    for (const struct client *client = service->clients; client; client = client->next)
        stay += !client->is_cancelled;
    if (stay < service->clients_max)
        return true;
    if (!unknown || service->count >= service->clients_max + ENDING_MAX)
        return false;
    uv_random(NULL, NULL, &number, sizeof number, 0, NULL);
    reject_unknown(service, NULL, number % unknown, "to make room: all places are taken");
    return true;
}

/* Starts the thread of a client. 0, or -1 with a failure: the descriptor is still open. */
static int start_client(struct service *service, int fd, struct problem *problem)
{
    bool is_option = service->clients_max == service->listener.options->limits[LIMIT_CLIENTS];
    if (!has_room(service))
        return problem_failure(problem, "%zu clients are connected already, as many as %s",
                               service->clients_max, is_option ? "--max-clients allows" : "memory is for");
    struct client *client = calloc(1, sizeof *client);
    if (!client)
        return problem_failure(problem, "no memory");
    client->service = service;
    listener_peer(&client->peer, fd);
    client->shared.content = &service->content;
    client->connection.calls.fd = fd;
    client->job =
        (struct engine_job){.connections = &client->connection, .count = 1, .shared = &client->shared};
    int result = uv_thread_create(&client->thread, client_main, client);
    if (result < 0) {
        free(client);
        return thread_failure(problem, result, "a thread for a client");
    }
    client->next = service->clients;
    service->clients = client;
    service->count++;
    listener_set_occupied(&service->listener, true);
    return 0;
}

static void on_accepted(void *owner, int fd)
{
    struct service *service = owner;
    struct problem problem = {0};
    struct address peer;
    if (!service->ended.data) {
        uv_async_init(&service->listener.loop, &service->ended, on_ended);
        service->ended.data = service;
    }
    if (start_client(service, fd, &problem) == 0)
        return;
    listener_rejected(&service->listener, listener_peer(&peer, fd), problem.text);
    close(fd);
}

static void on_stopped(void *owner)
{
    struct service *service = owner;
    uv_mutex_lock(&service->mutex);
    for (struct client *client = service->clients; client; client = client->next)
        cancel(client);
    uv_mutex_unlock(&service->mutex);
    if (service->ended.data)
        on_ended(&service->ended);
}

/* ---- the plan ---- */

static int reject_word(const char *text, struct problem *problem)
{
    char known[512] = "";
    size_t size = 0;
    for (size_t i = 0; i < WORD_COUNT && size < sizeof known; i++)
        if (word_list[i].for_serve)
            size += (size_t)snprintf(known + size, sizeof known - size, "%s%s", size ? ", " : "",
                                     word_list[i].key);
    return problem_usage(problem, "'%s' is no word for --serve; it takes %s", text, known);
}

static int parse_words(struct service *service, const struct options *options, struct problem *problem)
{
    bool is_unix = options->address.storage.ss_family == AF_UNIX, has_op = false, has_write = false;
    const char *words[SERVE_WORDS_MAX + 6], *name = options->serve->name;
    size_t count = 0;
    char protocol[64];

    for (size_t i = 0; i < options->word_count; i++) {
        struct typed_word typed;
        if (word_split(&typed, options->words[i], problem) < 0)
            return -1;
        if (!typed.word->for_serve || (typed.prefix != END_COUNT && typed.prefix != END_SERVER))
            return reject_word(options->words[i], problem);
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
    words[count++] = "place=free"; /* its threads use the CPUs of this process */
    if (!has_write)
        words[count++] = options->keys ? "reply_write=cork" : "reply_write=writev"; /* a call, a record */
    if (!has_op)
        words[count++] = strncmp(name, "nbd", 3) != 0 ? "op=get:4K+get:32M" : "op=read:32M+write:32M";
    return plan_parse(&service->plan, words, count, problem);
}

/* Makes the service ready for the plan: its key and its content. */
static int prepare_service(struct service *service, const struct options *options, struct problem *problem)
{
    const struct plan *plan = &service->plan;
    uint64_t size = options->size ? options->size : CONTENT_PRESET;
    unsigned facts =
        (options->keys ? FACT_PSK : 0) | (plan->reply.longest_span > size ? FACT_SHORT_CONTENT : 0);

    if (exclusions_check(STAGE_serve, plan, END_SERVER, facts, problem) < 0)
        return -1;
    if (options->keys) { /* the file must have one key: that of all clients */
        const struct psk *key = options->keys->entries;
        if (options->keys->count != 1 || key->key_size != SECURITY_KEY_SIZE)
            return problem_usage(
                problem, "--serve needs one key of %u bytes, as psktool makes it; FILE has %zu of %zu bytes",
                SECURITY_KEY_SIZE, options->keys->count, key->key_size);
        service->terms =
            (struct security_terms){.serves = true, .cipher = plan->cipher, .handshake = plan->handshake};
        memcpy(service->terms.identity, key->identity, key->identity_size);
        service->terms.identity_size = key->identity_size;
        memcpy(service->terms.key, key->key, key->key_size);
    }
    if (support_check(plan, END_SERVER, false, problem) < 0)
        return -1;
    bool as_file = plan_strategy(plan, END_SERVER)->strategy->from_file;
    struct source_kind kind = {.cold = size, .patterned = true, .as_file = as_file};
    if (source_open(&service->content, kind) < 0)
        return problem_failure(problem, "no memory for a content of %" PRIu64 " bytes", size);
    service->content.period = size;
    return 0;
}

void serve_run(struct options *options, struct problem *problem)
{
    struct service service = {.listener = {.options = options,
                                           .accepted = on_accepted,
                                           .reject_unknown = reject_unknown,
                                           .stopped = on_stopped,
                                           .owner = &service}};
    if (parse_words(&service, options, problem) < 0)
        return;
    service.engine = service.plan.ends[END_SERVER].engine;
    if (clients_fit(options, service.engine->thread_per_connection ? 1 : 1 + DESCRIPTORS_OF_LOOP, problem) <
        0) {
        plan_free(&service.plan);
        return;
    }
    service.clients_max = MIN(options->limits[LIMIT_CLIENTS], plan_clients_max(&service.plan));
    if (!options->keys) /* a TLS library allocates for each record: threads would wait for each other */
        memory_share();
    service.listener.speaks_first = service.plan.protocol->server_dialogue;
    uv_mutex_init(&service.mutex);
    if (prepare_service(&service, options, problem) == 0)
        listener_serve(&service.listener, &service.plan, problem);
    uv_mutex_destroy(&service.mutex);
    source_close(&service.content);
    secret_wipe(&service.terms, sizeof service.terms);
    plan_free(&service.plan);
}
