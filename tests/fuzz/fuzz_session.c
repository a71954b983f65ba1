/* SPDX-License-Identifier: MIT */
/* A whole server or proxy, from its listening socket to its end, among clients that say anything in
 * any order. It stays alive: after them a legal client is served, and no descriptor is left.
 *
 * The server is that of uncork-server but for main.c. The clients are steps of the input, between
 * turns of its loop. Time is real time and what the steps skip; work for a thread of libuv is done
 * by the loop. Only data threads run at the same time. */
#include "world.h"

#include "control/hello.h"
#include "server/modes.h"

#include <signal.h>

#define CLIENTS 4
#define CONNECTIONS 8 /* of data */
#define STEPS_MAX 64
#define KEYS "fuzz:00112233445566778899aabbccddeeff"

/* What a server may send. */
#define OF_SERVER                                                                                            \
    (1u << CONTROL_WAIT | 1u << CONTROL_READY | 1u << CONTROL_REFUSED | 1u << CONTROL_JOINED |               \
     1u << CONTROL_DRAIN | 1u << CONTROL_DRAINING | 1u << CONTROL_MARKED | 1u << CONTROL_FAILED |            \
     1u << CONTROL_REPORT | 1u << CONTROL_FACTS | 1u << CONTROL_PING)

static struct client {
    int fd; /* -1: it is not connected */
    struct codec codec;
} clients[CLIENTS];
static int connections[CONNECTIONS];
static struct address data_address; /* of the last ready message; size 0: there was none */

/* ---- clients ---- */

static int connect_to(const struct address *address)
{
    struct linger reset = {1, 0}; /* leaves no port in TIME_WAIT */
    int fd = sockets_make(address->any.sa_family, SOCK_STREAM, 0, false);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    if (fd < 0 || connect(fd, &address->any, address->size) == 0 || errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

static void leave(struct client *client)
{
    disconnect(&client->fd);
    free(client->codec.received.data);
    client->codec = (struct codec){.takes_long = true};
}

static int on_message(void *owner, enum control_type type, const json_t *body)
{
    const struct address *address = owner;
    abort_if(!(1u << type & OF_SERVER));
    abort_if((type == CONTROL_REFUSED || type == CONTROL_FAILED) && !*control_text(body, "text"));
    if (type != CONTROL_READY)
        return 0;
    const char *path = control_text(body, "path");
    data_address = *address;
    if (*path) /* the plan has the transport, whatever that of the control channel */
        abort_if(address_set_path(&data_address, path) < 0);
    else if (address->any.sa_family == AF_UNIX)
        abort_if(address_parse_numeric(&data_address, "127.0.0.1:0", &(struct problem){0}) < 0);
    address_set_port(&data_address, (int)json_integer_value(json_object_get(body, "port")));
    abort_if(hex_parse(token, TOKEN_SIZE, control_text(body, "token")) < 0);
    return 0;
}

/* Takes what has arrived. Without a key, each byte belongs to a message. */
static void receive(struct client *client, const struct listener *listener)
{
    struct problem problem = {0};
    uint8_t bytes[65536];
    ssize_t size;

    while (client->fd >= 0 && (size = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        if (!listener->options->keys)
            abort_if(codec_feed(&client->codec, bytes, (size_t)size, on_message,
                                (void *)(uintptr_t)&listener->address, &problem) != 0);
}

/* Words between blanks, of a client on this machine. */
static void send_plan(int fd, enum end end)
{
    json_t *words = json_array();
    CLEANUP_FREE char *text = NULL;
    struct input part = input_part(&input, input_byte(&input));
    char *rest = text = text_of(part.data, part.size), *word;

    while ((word = strsep(&rest, " ")))
        json_array_append_new(words, json_string(word)); /* not where it is no UTF-8 */
    send_message(fd, CONTROL_PLAN,
                 json_pack("{s:s, s:s, s:s, s:o}", "version", UNCORK_VERSION, "end", end_names[end], "host",
                           "fuzz", "words", words));
}

/* ---- steps ---- */

enum step {
    CONNECT,
    PLAN,
    MESSAGE,
    FRAME,
    BYTES,
    PAUSE,
    HALF_CLOSE,
    CLOSE,
    JOIN,
    DATA,
    SILENCE,
    WAIT,
    STOP,
    STEPS
};

/* The hello of a data connection: whole, cut, or with another token. */
static void join(int *fd, uint8_t number)
{
    uint8_t hello[HELLO_SIZE], cut = input_byte(&input);
    if (!data_address.size)
        return;
    disconnect(fd);
    *fd = connect_to(&data_address);
    hello_make(hello, token, number);
    hello[0] ^= (uint8_t)(cut >> 7);
    send_bytes(*fd, hello, cut & 31 && (cut & 31) < HELLO_SIZE ? cut & 31 : HELLO_SIZE);
}

static void take_step(const struct listener *listener)
{
    uint8_t first = input_byte(&input);
    struct client *client = &clients[(first >> 4) % CLIENTS];
    int *data = &connections[(first >> 4) % CONNECTIONS];
    static uint8_t zeros[4096];
    struct input part;

    switch ((enum step)(first & 15) % STEPS) {
    case CONNECT:
        leave(client);
        client->fd = connect_to(&listener->address);
        break;
    case PLAN:
        send_plan(client->fd, listener->options->proxy ? END_PROXY : END_SERVER);
        break;
    case MESSAGE:
        send_any(client->fd);
        break;
    case FRAME:
        part = input_part(&input, input_byte(&input));
        send_bytes(client->fd, (uint8_t[4]){0, 0, 0, (uint8_t)part.size}, 4);
        send_bytes(client->fd, part.data, part.size);
        break;
    case BYTES:
    case DATA:
        part = input_part(&input, input_byte(&input));
        send_bytes((first & 15) == DATA ? *data : client->fd, part.data, part.size);
        break;
    case PAUSE:
        skipped_ns += NS_PER_MS << input_byte(&input) % 14;
        break;
    case HALF_CLOSE:
        shutdown(first & 128 ? *data : client->fd, SHUT_WR);
        break;
    case CLOSE:
        if (first & 128)
            disconnect(data);
        else
            leave(client);
        break;
    case JOIN:
        join(data, first >> 4);
        break;
    case SILENCE: /* zeros: the content of a run without verify= */
        send_bytes(*data, zeros, 16 * (size_t)input_byte(&input));
        while (*data >= 0 && recv(*data, zeros, sizeof zeros, MSG_DONTWAIT) > 0)
            memset(zeros, 0, sizeof zeros);
        break;
    case WAIT:
        turn((uv_loop_t *)(uintptr_t)&listener->loop, 1 + first / 64);
        break;
    case STOP:
        raise(SIGTERM);
        break;
    case STEPS:
        break;
    }
}

/* server/trial.c: the server is its own client. */
int trial_once(struct listener *listener, struct problem *problem);

/* The server calls it before its ready line. */
int trial_run(struct listener *listener, struct problem *problem)
{
    struct problem ignored = {0};

    listener->is_ready = true; /* it logs sessions */
    for (int i = 0; i < STEPS_MAX && input.size; i++) {
        take_step(listener);
        turn(&listener->loop, 0);
        for (int c = 0; c < CLIENTS; c++)
            receive(&clients[c], listener);
    }
    for (int i = 0; i < CONNECTIONS; i++)
        disconnect(&connections[i]);
    for (int i = 0; i < CLIENTS; i++)
        leave(&clients[i]);
    turn(&listener->loop, 0);
    if (!listener->is_stopped)
        abort_if(trial_once(listener, &ignored) < 0);
    return problem_failure(problem, "the end of the input");
}

static void run_server(const uint8_t *data, size_t size)
{
    struct problem problem = {0};
    struct options options = {.inherited = -1,
                              .limits = {[LIMIT_STRANGERS] = 4,
                                         [LIMIT_SOURCE_STRANGERS] = 3,
                                         [LIMIT_SESSIONS] = 3,
                                         [LIMIT_THREADS] = 4,
                                         [LIMIT_TIME] = 3600 * NS_PER_S}};
    static struct psk_list keys;
    char path[64];

    input = (struct input){data, size};
    uint8_t kind = input_byte(&input);
    data_address = (struct address){0};
    skipped_ns = 0;
    for (int i = 0; i < CONNECTIONS; i++)
        connections[i] = -1;
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = (struct client){.fd = -1, .codec.takes_long = true};
    keys.count = 0;
    abort_if(psk_parse(&keys, KEYS, strlen(KEYS), "", &problem) < 0);
    snprintf(path, sizeof path, kind & 1 ? "127.0.0.1:0" : "unix:%s/s", folder);
    abort_if(address_find(&options.address, 1, path, &problem) < 0);
    options.proxy = kind & 2;
    options.keys = kind & 4 ? &keys : NULL;
    options.sink_count = 1;
    abort_if(prefix_parse(&options.sinks[0], "unix", &problem) < 0);
    server_run(&options, &problem);
    abort_if(strcmp(problem.text, "the end of the input") != 0);
    skipped_ns = 0;
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    world_open();
    run_server(NULL, 0); /* descriptors that stay open for the whole process are open now */
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int lowest = dup(0);
    close(lowest);
    run_server(data, size);
    int again = dup(0);
    close(again);
    abort_if(again != lowest);
    return 0;
}
