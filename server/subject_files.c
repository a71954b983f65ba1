/* SPDX-License-Identifier: MIT */
/* The files and arguments of a subject. */
#include "subject.h"

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/secret.h"
#include "connection/protocol.h"
#include "security/certificate.h"
#include "words/definition.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

static int write_file(const struct subject *subject, const char *name, const void *data, size_t size)
{
    return definition_write(subject->folder, name, data, size, subject->owner_of_files);
}

/* Writes the key of the run, in a file for TLS servers. */
static int write_key(const struct subject *subject)
{
    char key[2 * SECURITY_KEY_SIZE + 1], line[sizeof key + 16];

    hex_format(key, subject->data->key, SECURITY_KEY_SIZE);
    snprintf(line, sizeof line, "%s:%s\n", SECURITY_IDENTITY, key);
    int result = write_file(subject, "keys.psk", line, strlen(line));
    secret_wipe(key, sizeof key);
    secret_wipe(line, sizeof line);
    return result;
}

/* The certificate has the key of the run as private key, so the client knows what to expect. */
static int write_certificate(const struct subject *subject)
{
    CLEANUP_FREE char *pem = certificate_make(subject->data->key);
    if (!pem)
        return -1;
    int result = write_file(subject, "certificate.pem", pem, strlen(pem));
    secret_wipe(pem, strlen(pem));
    return result;
}

/* Writes a file for each size that op= fetches. Its name is the size, its content the pattern. The
 * files have a folder of their own, so that a program does not serve the keys too. */
static int write_content(const struct subject *subject)
{
    const struct operations *operations = &subject->plan->operations;
    char name[192];

    snprintf(name, sizeof name, "%s/content", subject->folder);
    if (mkdir(name, 0700) < 0 || (geteuid() == 0 && chown(name, subject->owner_of_files, (gid_t)-1) < 0))
        return -1;
    for (uint32_t i = 0; i < operations->count; i++) {
        uint64_t size = operations->list[i].bytes;
        if (!operations->list[i].kind->fetches)
            continue;
        CLEANUP_FREE uint8_t *data = malloc(size);
        if (!data)
            return -1;
        pattern_fill(data, size, 0);
        snprintf(name, sizeof name, "content/%" PRIu64, size);
        if (write_file(subject, name, data, size) < 0)
            return -1;
    }
    return 0;
}

static void put_place(const struct subject *subject)
{
    char text[ADDRESS_MAX];

    if (subject->sink.size) {
        address_format(text, &subject->sink);
        json_object_set_new(subject->values, "sink", json_string(text));
    }
    definition_add_address(subject->values, &subject->data->address);
    json_object_set_new(subject->values, "folder", json_string(subject->folder));
    json_object_set_new(subject->values, "transport", json_string(subject->plan->transport->variant.name));
    json_object_set_new(subject->values, "security", json_string(subject->plan->encrypts ? "tls" : "plain"));
}

/* If the subject binds a path itself, the path is in its folder, where it may write. */
static int choose_path(const struct subject *subject, struct problem *problem)
{
    struct address *address = &subject->data->address;
    char path[160];

    if (subject->inherits || !*address_path(address))
        return 0;
    snprintf(path, sizeof path, "%s/socket", subject->folder);
    if (address_set_path(address, path) == 0)
        return 0;
    return problem_failure(problem, "%s is too long for the path of a Unix socket; choose a shorter TMPDIR",
                           path);
}

int subject_prepare(struct subject *subject, struct problem *problem)
{
    const json_t *definition = subject->definition;
    bool by_certificate = subject->plan->encrypts && definition_needs(definition, "certificate");

    subject->data->by_certificate = by_certificate;
    if ((by_certificate && certificate_check(problem) < 0) || choose_path(subject, problem) < 0)
        return -1;
    put_place(subject);
    subject->arguments = definition_arguments(definition, subject->values, subject->plan);
    if (definition_write_files(definition, subject->values, subject->folder, subject->owner_of_files) == 0 &&
        write_key(subject) == 0 &&
        (!definition_needs(definition, "content") || write_content(subject) == 0) &&
        (!by_certificate || write_certificate(subject) == 0) &&
        json_array_insert_new(subject->arguments, 0, json_string(subject->program.path)) == 0 &&
        json_array_size(subject->arguments) <= PROCESS_ARGUMENTS_MAX)
        return 0;
    return problem_failure(problem, "cannot prepare the subject %s in %s", subject->plan->subject.name,
                           subject->folder);
}
