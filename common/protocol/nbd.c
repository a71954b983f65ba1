/* SPDX-License-Identifier: MIT */
/* The Network Block Device protocol, fixed newstyle: https://github.com/NetworkBlockDevice/nbd,
 * doc/proto.md. Its two variants differ only in their replies to a read: simple or structured. */
#include "base/bytes.h"
#include "protocol/nbd.h"

#include <inttypes.h>
#include <string.h>

#define REQUEST_MAGIC 0x25609513u
#define SIMPLE_MAGIC 0x67446698u
#define CHUNK_MAGIC 0x668e33efu

#define CHUNK_DONE 1u /* a flag */
enum { CHUNK_NONE = 0, CHUNK_DATA = 1, CHUNK_HOLE = 2, CHUNK_IS_ERROR = 0x8000, CHUNK_ERROR };

enum { FUA = 1 };                            /* the flag of a request that this server knows */
enum { IS_INVALID = 22, HAS_NO_SPACE = 28 }; /* errors: EINVAL, ENOSPC */
enum { SIMPLE_READ = FLUSH + 1, BAD_READ, BAD, BAD_WRITE, LONG_WRITE }; /* of foreign clients */

enum { REQUEST_SIZE = 28, SIMPLE_SIZE = 16, CHUNK_SIZE = 20 };

const struct operation_kind nbd_kinds[] = {
    [READ] = {.name = "read", .fetches = true},
    [WRITE] = {.name = "write", .stores = true},
    [FLUSH] = {.name = "flush"},
    [SIMPLE_READ] = {.name = "read", .fetches = true},
    [BAD_READ] = {.name = "read", .error = IS_INVALID},
    [BAD] = {.name = "request", .error = IS_INVALID},
    [BAD_WRITE] = {.name = "write", .stores = true, .refused = true, .error = IS_INVALID},
    [LONG_WRITE] = {.name = "write", .stores = true, .refused = true, .error = HAS_NO_SPACE}};

extern const struct protocol protocol_nbd_structured;

bool nbd_is_structured(const struct connection *connection)
{
    return connection->plan->protocol == &protocol_nbd_structured;
}

/* ---- requests ---- */

static size_t write_request(uint8_t *head, const struct call *call)
{
    wire_put32(head, REQUEST_MAGIC);
    wire_put16(head + 4, 0);
    wire_put16(head + 6, (uint16_t)(call->kind - nbd_kinds));
    wire_put64(head + 8, call->cookie);
    wire_put64(head + 16, call->offset);
    wire_put32(head + 24, (uint32_t)call->bytes);
    return REQUEST_SIZE;
}

/* The kind of a request of a foreign client: what the server cannot do gets an error. */
static int kind_of(const struct connection *connection, unsigned type, unsigned flags,
                   const struct call *call)
{
    const struct shape *shape = type == READ ? connection->outgoing : connection->incoming;
    const struct framing *framing = connection->framing;
    bool is_chunk = nbd_is_structured(connection) && framing->structured, is_good = !(flags & ~(unsigned)FUA);

    if (type == FLUSH)
        return is_good && !call->offset && !call->bytes ? FLUSH : BAD;
    if (type != READ && type != WRITE)
        return BAD;
    bool fits = call->offset <= framing->size && call->bytes <= framing->size - call->offset;
    is_good = is_good && call->bytes && call->bytes <= shape->longest_span;
    if (type == WRITE)
        return !is_good ? BAD_WRITE : fits ? WRITE : LONG_WRITE;
    if (is_chunk)
        return is_good && fits ? READ : BAD_READ;
    return !is_good || !fits ? BAD : nbd_is_structured(connection) ? SIMPLE_READ : READ;
}

static int read_request(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    if (size < REQUEST_SIZE)
        return REQUEST_SIZE;
    if (wire_get32(data) != REQUEST_MAGIC)
        return framing_refuse(connection, "sent 0x%08" PRIx32 " in place of the magic of a request",
                              wire_get32(data));
    unsigned type = wire_get16(data + 6);
    if (type == DISCONNECT)
        return -ESHUTDOWN;
    if (type > FLUSH && !call->key)
        return framing_refuse(connection, "sent a request of type %u; this end knows 0 to 3", type);
    call->cookie = wire_get64(data + 8);
    call->offset = wire_get64(data + 16);
    call->bytes = type == FLUSH && !call->key ? 0 : wire_get32(data + 24);
    call->kind = &nbd_kinds[call->key ? kind_of(connection, type, wire_get16(data + 4), call) : (int)type];
    return REQUEST_SIZE;
}

/* ---- replies ---- */

static size_t write_reply(uint8_t *head, const struct call *call)
{
    wire_put32(head, SIMPLE_MAGIC);
    wire_put32(head + 4, call->kind->error);
    wire_put64(head + 8, call->cookie);
    return SIMPLE_SIZE;
}

/* One chunk with all data, or with an error. Only a read has a structured reply. */
static size_t write_structured_reply(uint8_t *head, const struct call *call)
{
    bool fails = call->kind == &nbd_kinds[BAD_READ];

    if (call->kind != &nbd_kinds[READ] && !fails)
        return write_reply(head, call);
    wire_put32(head, CHUNK_MAGIC);
    wire_put16(head + 4, CHUNK_DONE);
    wire_put16(head + 6, fails ? CHUNK_ERROR : CHUNK_DATA);
    wire_put64(head + 8, call->cookie);
    if (fails) {
        wire_put32(head + 16, 6);
        wire_put32(head + 20, call->kind->error);
        wire_put16(head + 24, 0); /* no text */
        return CHUNK_SIZE + 6;
    }
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

static int read_chunk(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece)
{
    if (size < CHUNK_SIZE)
        return CHUNK_SIZE;
    unsigned type = wire_get16(data + 6);
    uint32_t length = wire_get32(data + 16);
    size_t more = type == CHUNK_DATA ? 8 : type == CHUNK_HOLE ? 12 : type & CHUNK_IS_ERROR ? 4 : 0;
    if (length < more || (type != CHUNK_DATA && !(type & CHUNK_IS_ERROR) && length != more))
        return framing_refuse(connection, "sent a chunk of type %u with %" PRIu32 " bytes", type, length);
    if (size < CHUNK_SIZE + more)
        return (int)(CHUNK_SIZE + more);
    struct call *call = framing_find(connection, wire_get64(data + 8));
    if (!call)
        return -EBADMSG;
    if (type == CHUNK_HOLE)
        return framing_refuse(connection, "answered with a hole of %" PRIu32 " bytes, which has no content",
                              wire_get32(data + 28));
    if (type & CHUNK_IS_ERROR)
        return refuse_error(connection, call, wire_get32(data + 20));
    if (type != CHUNK_DATA && type != CHUNK_NONE)
        return framing_refuse(connection, "sent a chunk of type %u, which is unknown", type);

    /* A chunk must lie within the range that was asked for. All chunks together have its size. */
    uint64_t offset = type == CHUNK_DATA ? wire_get64(data + 20) : call->offset;
    uint64_t bytes = type == CHUNK_DATA ? length - more : 0, begin = offset - call->offset;
    bool is_last = wire_get16(data + 4) & CHUNK_DONE;
    if (bytes && (!call->kind->fetches || begin > call->bytes || bytes > call->bytes - begin ||
                  bytes > call->bytes - call->moved))
        return framing_refuse(connection,
                              "answered a chunk of %" PRIu64 " bytes at byte %" PRIu64 " to a %s of %" PRIu64
                              " bytes at byte %" PRIu64,
                              bytes, offset, call->kind->name, call->bytes, call->offset);
    call->moved += bytes;
    if (is_last && call->kind->fetches && call->moved != call->bytes)
        return framing_refuse(connection, "answered %" PRIu64 " bytes to a read of %" PRIu64, call->moved,
                              call->bytes);
    *piece = (struct piece){call, bytes, offset, is_last};
    return (int)(CHUNK_SIZE + more);
}

static int read_reply(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece)
{
    if (size < 4)
        return 4;
    uint32_t magic = wire_get32(data);
    if (magic == CHUNK_MAGIC && nbd_is_structured(connection))
        return read_chunk(connection, data, size, piece);
    if (magic != SIMPLE_MAGIC)
        return framing_refuse(connection, "sent 0x%08" PRIx32 " in place of the magic of a reply", magic);
    if (size < SIMPLE_SIZE)
        return SIMPLE_SIZE;
    struct call *call = framing_find(connection, wire_get64(data + 8));
    if (!call)
        return -EBADMSG;
    if (wire_get32(data + 4))
        return refuse_error(connection, call, wire_get32(data + 4));
    if (call->moved)
        return framing_refuse(connection, "ended a structured reply with a simple reply");
    call->moved = call->kind->fetches ? call->bytes : 0;
    *piece = (struct piece){call, call->moved, call->offset, true};
    return SIMPLE_SIZE;
}

#define NBD                                                                                                  \
    .kinds = nbd_kinds, .read_reply = read_reply, .read_request = read_request,                              \
    .write_request = write_request, .client_dialogue = nbd_client_dialogue,                                  \
    .server_dialogue = nbd_server_dialogue

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
