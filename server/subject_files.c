/* SPDX-License-Identifier: MIT */
/* The files and arguments of a subject. */
#include "subject.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "connection/protocol.h"
#include "connection/security.h"
#include "connection/source.h"
#include "security/tls.h"
#include "transport/transport.h"
#include "words/definition.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Writes the key of the run, in a file for TLS servers. */
static int write_key(const struct subject *subject, const struct data_listener *data, uid_t owner)
{
    char key[2 * SECURITY_KEY_SIZE + 1], line[sizeof key + 16];
    int result;

    hex_format(key, data->key, sizeof data->key);
    snprintf(line, sizeof line, "%s:%s\n", SECURITY_IDENTITY, key);
    result = definition_write(subject->folder, "keys.psk", line, strlen(line), owner);
    secret_wipe(key, sizeof key);
    secret_wipe(line, sizeof line);
    return result;
}

/* The certificate has the key of the run as private key, so the client knows what to expect. */
static int write_certificate(const struct subject *subject, const struct data_listener *data, uid_t owner)
{
    char *pem = certificate_make(data->key);
    int result = pem ? definition_write(subject->folder, "certificate.pem", pem, strlen(pem), owner) : -1;

    if (pem)
        secret_wipe(pem, strlen(pem));
    free(pem);
    return result;
}

/* Writes a file for each size that op= fetches. Its name is the size, its content the pattern. The
 * files have a folder of their own, so that a program does not serve the keys too. */
static int write_content(const struct subject *subject, uid_t owner)
{
    const struct operations *operations = &subject->plan->operations;
    char name[192];
    int result;

    snprintf(name, sizeof name, "%s/content", subject->folder);
    result = mkdir(name, 0700) < 0 || (geteuid() == 0 && chown(name, owner, (gid_t)-1) < 0) ? -1 : 0;
    for (uint32_t i = 0; i < operations->count && result == 0; i++) {
        uint64_t size = operations->list[i].bytes;
        CLEANUP_FREE uint8_t *data = malloc(size);

        if (!operations->list[i].kind->fetches)
            continue;
        if (!data)
            return -1;
        pattern_fill(data, size, 0);
        snprintf(name, sizeof name, "content/%" PRIu64, size);
        result = definition_write(subject->folder, name, data, size, owner);
    }
    return result;
}

static void put_place(json_t *values, const struct subject *subject)
{
    const struct address *address = &subject->data->address;
    char text[ADDRESS_MAX];

    if (subject->sink.size) {
        address_format(text, &subject->sink);
        json_object_set_new(values, "sink", json_string(text));
    }
    definition_add_address(values, address);
    json_object_set_new(values, "folder", json_string(subject->folder));
    json_object_set_new(values, "transport", json_string(subject->plan->transport->variant.name));
    json_object_set_new(values, "security", json_string(subject->plan->encrypts ? "tls" : "plain"));
}

/* If the subject binds a path itself, the path is in its folder, where it may write. */
static int choose_path(struct subject *subject, struct problem *problem)
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
    struct data_listener *data = subject->data;
    const json_t *definition = subject->definition;
    uid_t owner = subject->owner_of_files;

    data->by_certificate = subject->plan->encrypts && definition_needs(definition, "certificate");
    if ((data->by_certificate && certificate_check(problem) < 0) || choose_path(subject, problem) < 0)
        return -1;
    put_place(subject->values, subject);
    subject->arguments = definition_arguments(definition, subject->values, subject->plan);
    if (definition_write_files(definition, subject->values, subject->folder, owner) == 0 &&
        write_key(subject, data, owner) == 0 &&
        (!definition_needs(definition, "content") || write_content(subject, owner) == 0) &&
        (!data->by_certificate || write_certificate(subject, data, owner) == 0) &&
        json_array_insert_new(subject->arguments, 0, json_string(subject->program)) == 0 &&
        json_array_size(subject->arguments) <= PROCESS_ARGUMENTS_MAX)
        return 0;
    return problem_failure(problem, "cannot prepare the subject %s in %s", subject->plan->subject.name,
                           subject->folder);
}
