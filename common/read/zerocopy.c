/* SPDX-License-Identifier: MIT */
/* The kernel maps whole pages of the stream instead of copying them. It copies bytes that fill less
 * than a page, and reports how many bytes recv(2) must receive.
 *
 * The next call unmaps the pages. If one call maps pages and copies bytes, the copied bytes come
 * later in the stream: the next read() delivers them. */
#include "base/memory.h"
#include "connection/strategy.h"

struct pages {
    struct mapping mapping;
    size_t page;
    const uint8_t *rest; /* copied, not yet delivered */
    size_t rest_size;
    size_t skip; /* bytes that recv() must receive */
    int error;   /* of the call that brought bytes; the next read() returns it */
    uint8_t copy[];
};

static int open_pages(struct connection *connection)
{
    size_t page = mapping_page();
    struct pages *pages = connection->reading_state = calloc(1, sizeof *pages + page);
    if (!pages)
        return -ENOMEM;
    pages->page = page;
    return mapping_open(&pages->mapping, connection->calls.fd, connection->shared->pool.size);
}

static void close_pages(struct connection *connection)
{
    struct pages *pages = connection->reading_state;
    mapping_close(&pages->mapping);
}

HOT static ssize_t deliver_rest(struct pages *pages, size_t limit, const uint8_t **data)
{
    size_t size = limit < pages->rest_size ? limit : pages->rest_size;
    *data = pages->rest;
    pages->rest += size;
    pages->rest_size -= size;
    return (ssize_t)size;
}

HOT static ssize_t receive(struct connection *connection, size_t limit, const uint8_t **data)
{
    struct pages *pages = connection->reading_state;
    uint8_t *buffer = pool_next(&connection->shared->pool);
    ssize_t size = layer_receive(connection, buffer, limit, 0);
    *data = buffer;
    if (size > 0) {
        connection->calls.counts.copied_bytes += (uint64_t)size;
        pages->skip -= (size_t)size < pages->skip ? (size_t)size : pages->skip;
    }
    return size;
}

/* Maps whole pages, at most `limit` bytes. Returns as read(), but 0 if recv(2) must come first. */
HOT static ssize_t map(struct connection *connection, size_t limit, const uint8_t **data)
{
    struct pages *pages = connection->reading_state;
    struct mapped mapped = {.pages = pages->mapping.pages,
                            .most = limit < pages->mapping.size ? limit : pages->mapping.size,
                            .rest = pages->copy,
                            .rest_most = pages->page - 1};
    int result = calls_map(&connection->calls, &mapped);

    if (result < 0)
        return result == -EIO ? 0 : result;
    pages->skip = mapped.skip;
    pages->error = mapped.error;
    pages->rest = pages->copy;
    pages->rest_size = mapped.copied;
    if (!mapped.mapped)
        return deliver_rest(pages, limit, data);
    *data = pages->mapping.pages;
    return (ssize_t)mapped.mapped;
}

/* A read of less than a page calls recv(2), because the kernel maps whole pages only. */
HOT static ssize_t read_pages(struct connection *connection, size_t limit, const uint8_t **data)
{
    struct pages *pages = connection->reading_state;
    size_t chunk = connection->shared->pool.size;
    ssize_t size = 0;

    if (pages->rest_size)
        return deliver_rest(pages, limit, data);
    limit = limit < chunk ? limit : chunk;
    if (!pages->error && !pages->skip && limit >= pages->page)
        size = map(connection, limit, data);
    if (size == 0) {
        size = pages->error;
        pages->error = 0;
    }
    if (size != 0)
        return size;
    return receive(connection, pages->skip && pages->skip < limit ? pages->skip : limit, data);
}

static bool has_more(const struct connection *connection)
{
    const struct pages *pages = connection->reading_state;
    return pages->rest_size || pages->skip || pages->error;
}

const struct reading reading_zerocopy = {
    .variant = {"zerocopy", "getsockopt(TCP_ZEROCOPY_RECEIVE): whole pages are mapped, the rest is copied"},
    .needs = CAPABLE_MAP,
    .maps = true,
    .open = open_pages,
    .close = close_pages,
    .read = read_pages,
    .has_more = has_more,
};
