/* SPDX-License-Identifier: MIT */
/*
 * The Network Block Device protocol, fixed newstyle: https://github.com/NetworkBlockDevice/nbd,
 * doc/proto.md. Its two variants differ only in their replies to a read: simple or structured.
 */
#include "base/bytes.h"
#include "connection/dialogue.h"
#include "connection/protocol.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define GREETING_MAGIC UINT64_C(0x4e42444d41474943) /* "NBDMAGIC" */
#define OPTION_MAGIC UINT64_C(0x49484156454f5054)   /* "IHAVEOPT" */
#define OPTION_REPLY_MAGIC UINT64_C(0x0003e889045565a9)
#define REQUEST_MAGIC 0x25609513u
#define SIMPLE_MAGIC 0x67446698u
#define CHUNK_MAGIC 0x668e33efu

#define FIXED_NEWSTYLE 1u /* of the server and of the client */
#define NO_ZEROES 2u

enum { OPTION_ABORT = 2, OPTION_STARTTLS = 5, OPTION_GO = 7, OPTION_STRUCTURED_REPLY = 8 };
#define ACK 1u
#define INFO 3u
#define UNSUPPORTED 0x80000001u
#define TLS_REQUIRED 0x80000005u
#define IS_ERROR 0x80000000u
#define INFO_EXPORT 0u

#define HAS_FLAGS 1u
#define READ_ONLY 2u
#define CAN_FLUSH 4u
#define CAN_FUA 8u /* the reply to a write always means that it is stored */
#define MULTI_CONNECTION 0x100u

enum { READ = 0, WRITE = 1, DISCONNECT = 2, FLUSH = 3 };

#define CHUNK_DONE 1u
#define CHUNK_NONE 0u
#define CHUNK_DATA 1u
#define CHUNK_HOLE 2u
#define CHUNK_IS_ERROR 0x8000u

enum { GREETING_SIZE = 18, OPTION_SIZE = 16, OPTION_REPLY_SIZE = 20 };
enum { REQUEST_SIZE = 28, SIMPLE_SIZE = 16, CHUNK_SIZE = 20 };
#define GO_SIZE 6u /* bytes of data of an OPTION_GO for the default export */

#define FILL_BYTES (UINT64_C(1) << 20)   /* bytes of a write of fill_content() */
#define OPTION_DATA_MAX 1024u            /* bytes of data that an end accepts with an option */
#define CONTENT_SIZE (UINT64_C(1) << 30) /* bytes of this server's export */

static const struct operation_kind kinds[] = {[READ] = {.name = "read", .fetches = true},
                                              [WRITE] = {.name = "write", .stores = true},
                                              [DISCONNECT] = {.name = NULL},
                                              [FLUSH] = {.name = "flush"}};

extern const struct protocol protocol_nbd_structured;

static bool is_structured(const struct connection *connection)
{
    return connection->plan->protocol == &protocol_nbd_structured;
}

/* ---- requests ---- */

static size_t write_request(uint8_t *head, const struct call *call)
{
    wire_put32(head, REQUEST_MAGIC);
    wire_put16(head + 4, 0);
    wire_put16(head + 6, (uint16_t)(call->kind - kinds));
    wire_put64(head + 8, call->cookie);
    wire_put64(head + 16, call->offset);
    wire_put32(head + 24, (uint32_t)call->bytes);
    return REQUEST_SIZE;
}

static int read_request(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece)
{
    struct call *call = piece->call;
    unsigned type;

    if (size < REQUEST_SIZE)
        return REQUEST_SIZE;
    if (wire_get32(data) != REQUEST_MAGIC)
        return framing_refuse(connection, "sent 0x%08" PRIx32 " in place of the magic of a request",
                              wire_get32(data));
    type = wire_get16(data + 6);
    if (type == DISCONNECT)
        return -ESHUTDOWN;
    if (type > FLUSH)
        return framing_refuse(connection, "sent a request of type %u; this end knows 0 to 3", type);
    call->kind = &kinds[type];
    call->cookie = wire_get64(data + 8);
    call->offset = wire_get64(data + 16);
    call->bytes = type == FLUSH ? 0 : wire_get32(data + 24);
    *piece = (struct piece){.size = REQUEST_SIZE,
                            .call = call,
                            .payload = type == WRITE ? call->bytes : 0,
                            .offset = call->offset,
                            .is_last = true};
    return 0;
}

/* ---- replies ---- */

static size_t write_reply(uint8_t *head, const struct call *call)
{
    wire_put32(head, SIMPLE_MAGIC);
    wire_put32(head + 4, 0);
    wire_put64(head + 8, call->cookie);
    return SIMPLE_SIZE;
}

/* One chunk with all data. Only a read has a structured reply. */
static size_t write_structured_reply(uint8_t *head, const struct call *call)
{
    if (!call->kind->fetches)
        return write_reply(head, call);
    wire_put32(head, CHUNK_MAGIC);
    wire_put16(head + 4, CHUNK_DONE);
    wire_put16(head + 6, CHUNK_DATA);
    wire_put64(head + 8, call->cookie);
    wire_put32(head + 16, (uint32_t)call->bytes + 8);
    wire_put64(head + 20, call->offset);
    return CHUNK_SIZE + 8;
}

static int refuse_error(struct connection *connection, const struct call *call, uint32_t error)
{
    return framing_refuse(connection,
                          "answered error %" PRIu32 " (%s) to a %s of %" PRIu64 " bytes at byte %" PRIu64,
                          error, strerror((int)error), call->kind->name, call->bytes, call->offset);
}

static int read_simple_reply(struct connection *connection, const uint8_t *data, size_t size,
                             struct piece *piece)
{
    struct call *call;

    if (size < SIMPLE_SIZE)
        return SIMPLE_SIZE;
    if (!(call = framing_find(connection, wire_get64(data + 8))))
        return -EBADMSG;
    if (wire_get32(data + 4))
        return refuse_error(connection, call, wire_get32(data + 4));
    if (call->moved)
        return framing_refuse(connection, "ended a structured reply with a simple reply");
    call->moved = call->kind->fetches ? call->bytes : 0;
    *piece = (struct piece){SIMPLE_SIZE, call, call->moved, call->offset, true};
    return 0;
}

/* A chunk must lie within the range that was asked for. All chunks together have its size. */
static int note_chunk(struct connection *connection, const struct piece *piece)
{
    struct call *call = piece->call;
    uint64_t begin = piece->offset - call->offset, bytes = piece->payload;

    if (bytes && (!call->kind->fetches || begin > call->bytes || bytes > call->bytes - begin ||
                  bytes > call->bytes - call->moved))
        return framing_refuse(connection,
                              "answered a chunk of %" PRIu64 " bytes at byte %" PRIu64 " to a %s of %" PRIu64
                              " bytes at byte %" PRIu64,
                              bytes, piece->offset, call->kind->name, call->bytes, call->offset);
    call->moved += bytes;
    if (piece->is_last && call->kind->fetches && call->moved != call->bytes)
        return framing_refuse(connection, "answered %" PRIu64 " bytes to a read of %" PRIu64, call->moved,
                              call->bytes);
    return 0;
}

static int read_chunk(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece)
{
    unsigned type;
    uint32_t length;
    size_t more;

    if (size < CHUNK_SIZE)
        return CHUNK_SIZE;
    type = wire_get16(data + 6);
    length = wire_get32(data + 16);
    more = type == CHUNK_DATA ? 8 : type == CHUNK_HOLE ? 12 : type & CHUNK_IS_ERROR ? 4 : 0;
    if (length < more || (type != CHUNK_DATA && !(type & CHUNK_IS_ERROR) && length != more))
        return framing_refuse(connection, "sent a chunk of type %u with %" PRIu32 " bytes", type, length);
    if (size < CHUNK_SIZE + more)
        return (int)(CHUNK_SIZE + more);
    *piece = (struct piece){.size = CHUNK_SIZE + more,
                            .call = framing_find(connection, wire_get64(data + 8)),
                            .is_last = wire_get16(data + 4) & CHUNK_DONE};
    if (!piece->call)
        return -EBADMSG;
    piece->offset = piece->call->offset;
    switch (type) {
    case CHUNK_NONE:
        return note_chunk(connection, piece);
    case CHUNK_DATA:
        piece->payload = length - more;
        piece->offset = wire_get64(data + 20);
        return note_chunk(connection, piece);
    case CHUNK_HOLE:
        return framing_refuse(connection, "answered with a hole of %" PRIu32 " bytes, which has no content",
                              wire_get32(data + 28));
    default:
        if (type & CHUNK_IS_ERROR)
            return refuse_error(connection, piece->call, wire_get32(data + 20));
        return framing_refuse(connection, "sent a chunk of type %u, which is unknown", type);
    }
}

static int read_reply(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece)
{
    uint32_t magic;

    if (size < 4)
        return 4;
    magic = wire_get32(data);
    if (magic == SIMPLE_MAGIC)
        return read_simple_reply(connection, data, size, piece);
    if (magic == CHUNK_MAGIC && is_structured(connection))
        return read_chunk(connection, data, size, piece);
    return framing_refuse(connection, "sent 0x%08" PRIx32 " in place of the magic of a reply", magic);
}

/* ---- the client's dialogue ---- */

/* An option with `size` bytes of data, all zero: no name, no information asked for. */
static int send_option(struct connection *connection, uint32_t option, uint32_t size)
{
    uint8_t message[OPTION_SIZE + GO_SIZE] = {0};

    wire_put64(message, OPTION_MAGIC);
    wire_put32(message + 8, option);
    wire_put32(message + 12, size);
    return dialogue_send(connection, message, OPTION_SIZE + size);
}

struct option_reply {
    uint32_t type, size;
    uint8_t data[OPTION_DATA_MAX];
};

static int receive_option_reply(struct connection *connection, uint32_t option, struct option_reply *reply)
{
    uint8_t head[OPTION_REPLY_SIZE];
    int result = dialogue_receive(connection, head, sizeof head);

    if (result < 0)
        return result;
    reply->type = wire_get32(head + 12);
    reply->size = wire_get32(head + 16);
    if (wire_get64(head) != OPTION_REPLY_MAGIC || wire_get32(head + 8) != option ||
        reply->size > sizeof reply->data)
        return framing_refuse(connection, "sent no reply to option %" PRIu32, option);
    result = dialogue_receive(connection, reply->data, reply->size);
    if (result == 0 && reply->type & IS_ERROR)
        return framing_refuse(connection, "refused option %" PRIu32 " by error 0x%08" PRIx32 ": %.*s", option,
                              reply->type, (int)reply->size, (const char *)reply->data);
    return result;
}

static int ask_option(struct connection *connection, uint32_t option)
{
    struct option_reply reply;
    int result = send_option(connection, option, 0);

    return result < 0 ? result : receive_option_reply(connection, option, &reply);
}

static int exchange_flags(struct connection *connection)
{
    uint8_t greeting[GREETING_SIZE], flags[4];
    int result = dialogue_receive(connection, greeting, sizeof greeting);

    if (result < 0)
        return result;
    if (wire_get64(greeting) != GREETING_MAGIC || wire_get64(greeting + 8) != OPTION_MAGIC ||
        !(wire_get16(greeting + 16) & FIXED_NEWSTYLE))
        return framing_refuse(connection, "does not greet as a server of the fixed newstyle protocol does");
    wire_put32(flags, wire_get16(greeting + 16) & (FIXED_NEWSTYLE | NO_ZEROES));
    return dialogue_send(connection, flags, sizeof flags);
}

static int check_export(struct connection *connection, const struct option_reply *reply)
{
    const struct operations *operations = &connection->plan->operations;
    unsigned flags = wire_get16(reply->data + 10);

    framing_set_size(connection, wire_get64(reply->data + 2));
    for (uint32_t i = 0; flags & READ_ONLY && i < operations->count; i++)
        if (operations->list[i].kind->stores)
            return framing_refuse(connection, "has a read-only export, and op= has writes");
    return 0;
}

static int send_go(struct connection *connection)
{
    struct option_reply reply;
    int result = send_option(connection, OPTION_GO, GO_SIZE);
    bool known = false;

    while (result == 0) {
        result = receive_option_reply(connection, OPTION_GO, &reply);
        if (result == 0 && reply.type == ACK)
            break;
        if (result == 0 && reply.type == INFO && reply.size >= 12 && wire_get16(reply.data) == INFO_EXPORT) {
            result = check_export(connection, &reply);
            known = true;
        }
    }
    return result == 0 && !known ? framing_refuse(connection, "does not say how large its export is")
                                 : result;
}

/* Writes the pattern that reads must return into the share of this connection. Only a subject is
 * filled: uncork started it, so no data of others is lost. */
static int fill_content(struct connection *connection)
{
    uint64_t first = connection->framing->first, share = connection->framing->share, size;
    int result = 0;

    for (uint64_t done = 0; done < share && result == 0; done += size) {
        size = share - done < FILL_BYTES ? share - done : FILL_BYTES;
        result = dialogue_store(connection, &kinds[WRITE], first + done, size);
    }
    return result;
}

static int client_dialogue(struct connection *connection, bool secured)
{
    const struct plan *plan = connection->plan;
    bool encrypts = plan->encrypts, must_fill = plan_fetches(plan) && plan->verify && plan_has_subject(plan);
    int result = encrypts && secured ? 0 : exchange_flags(connection);

    if (result == 0 && encrypts && !secured)
        return ask_option(connection, OPTION_STARTTLS);
    if (result == 0 && is_structured(connection))
        result = ask_option(connection, OPTION_STRUCTURED_REPLY);
    if (result == 0)
        result = send_go(connection);
    return result == 0 && must_fill ? fill_content(connection) : result;
}

/* ---- the server's dialogue ---- */

static int send_option_reply(struct connection *connection, uint32_t option, uint32_t type, const void *data,
                             uint32_t size)
{
    uint8_t reply[OPTION_REPLY_SIZE + 12];

    wire_put64(reply, OPTION_REPLY_MAGIC);
    wire_put32(reply + 8, option);
    wire_put32(reply + 12, type);
    wire_put32(reply + 16, size);
    if (size)
        memcpy(reply + OPTION_REPLY_SIZE, data, size);
    return dialogue_send(connection, reply, OPTION_REPLY_SIZE + size);
}

static int receive_option(struct connection *connection, uint32_t *option)
{
    uint8_t head[OPTION_SIZE], data[OPTION_DATA_MAX];
    int result = dialogue_receive(connection, head, sizeof head);
    uint32_t size;

    if (result < 0)
        return result;
    *option = wire_get32(head + 8);
    size = wire_get32(head + 12);
    if (wire_get64(head) != OPTION_MAGIC || size > sizeof data)
        return framing_refuse(connection, "sent no option of the protocol");
    return dialogue_receive(connection, data, size);
}

static int send_greeting(struct connection *connection)
{
    uint8_t greeting[GREETING_SIZE], flags[4];
    int result;

    wire_put64(greeting, GREETING_MAGIC);
    wire_put64(greeting + 8, OPTION_MAGIC);
    wire_put16(greeting + 16, FIXED_NEWSTYLE | NO_ZEROES);
    result = dialogue_send(connection, greeting, sizeof greeting);
    if (result == 0)
        result = dialogue_receive(connection, flags, sizeof flags);
    if (result == 0 && wire_get32(flags) != (FIXED_NEWSTYLE | NO_ZEROES))
        return framing_refuse(connection, "sent the flags 0x%" PRIx32 ", where 0x3 would be right",
                              wire_get32(flags));
    return result;
}

static int accept_go(struct connection *connection)
{
    uint8_t info[12];
    int result;

    wire_put16(info, INFO_EXPORT);
    wire_put64(info + 2, connection->framing->size);
    wire_put16(info + 10, HAS_FLAGS | CAN_FLUSH | CAN_FUA | MULTI_CONNECTION);
    result = send_option_reply(connection, OPTION_GO, INFO, info, sizeof info);
    return result < 0 ? result : send_option_reply(connection, OPTION_GO, ACK, NULL, 0);
}

static int server_dialogue(struct connection *connection, bool secured)
{
    bool encrypts = connection->plan->encrypts;
    uint32_t wanted = encrypts && !secured ? OPTION_STARTTLS : OPTION_GO, option = 0, answer;
    int result = encrypts && secured ? 0 : send_greeting(connection);
    const struct source *content = connection->shared->content;
    bool structures = false;

    framing_set_size(connection, content ? content->period : CONTENT_SIZE);
    while (result == 0 && (result = receive_option(connection, &option)) == 0) {
        if (option == OPTION_GO && wanted == OPTION_GO)
            return structures == is_structured(connection)
                       ? accept_go(connection)
                       : framing_refuse(connection,
                                        "did not ask for structured replies, which this server sends");
        structures |= option == OPTION_STRUCTURED_REPLY && is_structured(connection);
        answer = option == wanted || option == OPTION_ABORT                       ? ACK
                 : wanted == OPTION_STARTTLS                                      ? TLS_REQUIRED
                 : option == OPTION_STRUCTURED_REPLY && is_structured(connection) ? ACK
                                                                                  : UNSUPPORTED;
        result = send_option_reply(connection, option, answer, NULL, 0);
        if (option == OPTION_ABORT || option == wanted)
            return result == 0 && option == OPTION_ABORT ? -ESHUTDOWN : result;
    }
    return result;
}

#define NBD                                                                                                  \
    .kinds = kinds, .read_reply = read_reply, .read_request = read_request, .write_request = write_request,  \
    .client_dialogue = client_dialogue, .server_dialogue = server_dialogue

const struct protocol protocol_nbd = {
    .variant = {"nbd", "network block device with simple replies: op=read:4K, write:64K"},
    NBD,
    .write_reply = write_reply,
};

const struct protocol protocol_nbd_structured = {
    .variant = {"nbd-structured", "network block device with structured replies, as most clients ask for"},
    NBD,
    .write_reply = write_structured_reply,
};
