/* SPDX-License-Identifier: MIT */
#include "control/psk.h"

#include "base/bytes.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define TEXT_MAX (PSK_IDENTITIES_MAX * PSK_LINE_MAX)
#define GENERATED_KEY_SIZE 32u

/* Returns what is wrong with the identity, or NULL. */
static const char *parse_identity(struct psk *psk, const char *text, size_t size)
{
    bool is_hex = size && *text == '#';
    int length = size > sizeof psk->identity ? -1 : (int)size;

    for (size_t i = 0; i < size && !is_hex; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            length = -1;
    if (is_hex)
        length = hex_read(psk->identity, sizeof psk->identity, text + 1, size - 1);
    else if (length > 0)
        memcpy(psk->identity, text, size);
    if (length < 0)
        return is_hex ? "after # an identity has pairs of hexadecimal digits, for at most 128 bytes"
                      : "an identity has at most 128 bytes, and no control character";
    psk->identity_size = (size_t)length;
    return length ? NULL : "no identity before the colon";
}

/* Appends the entry of a line. Returns what is wrong with it, or NULL. */
static const char *add_line(struct psk_list *list, const char *line, size_t size)
{
    struct psk *psk = &list->entries[list->count];
    const char *colon = memchr(line, ':', size);

    if (list->count == PSK_IDENTITIES_MAX)
        return "a file has at most 256 identities";
    if (!colon)
        return "no colon; write IDENTITY:KEY, with the key in hexadecimal digits";
    size_t before = (size_t)(colon - line);
    const char *wrong = parse_identity(psk, line, before);
    int length = hex_read(psk->key, sizeof psk->key, colon + 1, size - before - 1);
    if (wrong)
        return wrong;
    if (length < (int)PSK_KEY_MIN)
        return "a key has 32 to 128 hexadecimal digits (16 to 64 bytes) and nothing after them";
    if (psk_find(list, psk->identity, psk->identity_size))
        return "an earlier line has the same identity";
    psk->key_size = (size_t)length;
    list->count++;
    return NULL;
}

int psk_parse(struct psk_list *list, const char *text, size_t size, const char *name, struct problem *problem)
{
    const char *end = text + size;
    for (size_t number = 1; text < end; number++) {
        const char *found = memchr(text, '\n', (size_t)(end - text)), *line_end = found ? found : end;
        const char *wrong = add_line(list, text, (size_t)(line_end - text));
        if (wrong)
            return problem_usage(problem, "%.200s:%zu: %s", name, number, wrong);
        text = line_end + 1;
    }
    return 0;
}

const struct psk *psk_find(const struct psk_list *list, const uint8_t *identity, size_t size)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].identity_size == size && !memcmp(list->entries[i].identity, identity, size))
            return &list->entries[i];
    return NULL;
}

void psk_free(struct psk_list *list)
{
    if (list)
        secret_wipe(list, sizeof *list);
    free(list);
}

/* As ssh(1) does for its keys, no user but the owner may open the file, who is the reader or root. A
 * group may read a file of root, who has chosen its members. An inherited descriptor without a name
 * and a pipe are no such files. */
static int check_access(int fd, const char *path, struct problem *problem)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return problem_of_kind(problem, problem_kind_of_file(errno), "%.200s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode) || status.st_nlink == 0)
        return 0;
    bool is_own = status.st_uid == geteuid();
    unsigned mode = status.st_mode & 07777;
    if (!is_own && status.st_uid != 0)
        return problem_usage(
            problem, "%.200s: user %u owns these keys, and this is user %u; chown %u %.200s, then chmod 600",
            path, (unsigned)status.st_uid, (unsigned)geteuid(), (unsigned)geteuid(), path);
    if (mode & (is_own ? 077 : 037))
        return problem_usage(problem, "%.200s: other users may use these keys, by mode %04o; chmod %s %.200s",
                             path, mode, is_own ? "600" : "640", path);
    return 0;
}

struct psk_list *psk_read(const char *path, struct problem *problem)
{
    CLEANUP_FILE FILE *file = fopen(path, "re");

    if (!file) {
        problem_of_kind(problem, problem_kind_of_file(errno), "%.200s: %s", path, strerror(errno));
        return NULL;
    }
    if (check_access(fileno(file), path, problem) < 0)
        return NULL;
    struct psk_list *list = xcalloc(1, sizeof *list);
    CLEANUP_FREE char *text = xmalloc(TEXT_MAX + 1);
    int result = -1;
    setvbuf(file, NULL, _IONBF, 0); /* a buffer of stdio would keep the keys */
    size_t size = fread(text, 1, TEXT_MAX + 1, file);
    if (ferror(file))
        problem_of_kind(problem, problem_kind_of_file(errno), "%.200s: %s", path, strerror(errno));
    else if (size > TEXT_MAX)
        problem_usage(problem, "%.200s: too large for a file of keys", path);
    else
        result = psk_parse(list, text, size, path, problem);
    if (result == 0 && list->count == 0)
        result = problem_usage(problem, "%.200s: has no key; psktool -u NAME -p FILE makes one", path);
    secret_wipe(text, TEXT_MAX + 1);
    if (result == 0)
        return list;
    psk_free(list);
    return NULL;
}

struct psk_list *psk_generate(char line[PSK_LINE_MAX], struct problem *problem)
{
    uint8_t key[GENERATED_KEY_SIZE];
    if (uv_random(NULL, NULL, key, sizeof key, 0, NULL) < 0) {
        problem_failure(problem, "the system gives no random numbers for a key");
        return NULL;
    }
    struct psk_list *list = xcalloc(1, sizeof *list);
    hex_format(stpcpy(line, "uncork:"), key, sizeof key);
    secret_wipe(key, sizeof key);
    psk_parse(list, line, strlen(line), "", problem);
    return list;
}
