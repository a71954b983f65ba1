/* SPDX-License-Identifier: MIT */
/* What a thread does before the start of a subject: finds its program, writes its files. */
#include "subject.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/hex.h"
#include "base/program.h"
#include "base/secret.h"
#include "connection/protocol.h"
#include "security/certificate.h"
#include "words/definition.h"

#include <inttypes.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

/* ---- its program ---- */

static int find_program(struct subject *subject, struct problem *problem)
{
    const char *name = control_text(subject->values, "program"), *own = subject->plan->subject.name;
    char *path = subject->program.path;

    if (!strcmp(name, "uncork-server") && uv_exepath(path, &(size_t){PATH_MAX}) == 0) /* this program */
        return 0;
    /* not in PATH: for many users it lacks sbin, where servers are */
    if (program_find(name, PROCESS_PATH, path, PATH_MAX) == 0)
        return 0;
    return problem_unsupported(problem, "subject=%s needs the program %s: uncork setup %s", own, name, own);
}

static int open_override(struct subject *subject, struct problem *problem)
{
    const char *text = subject->plan->override;
    if (!strcmp(text, OVERRIDE_OFF))
        return 0;
    return override_start(&subject->override, text, subject->program.path, subject->is_other_user, problem);
}

/* Finds the program and what it starts with. */
static int find(struct subject *subject, struct problem *problem)
{
    const struct plan *plan = subject->plan;
    const struct passwd *user = NULL;

    subject->is_other_user = geteuid() == 0;
    if (subject->is_other_user && !(user = getpwnam(SUBJECT_USER)))
        return problem_failure(problem, "root starts a subject as user " SUBJECT_USER
                                        ", but this machine has no such user");
    subject->owner_of_files = user ? user->pw_uid : geteuid();
    subject->definition = definition_find(subject->definitions, plan, problem);
    if (!subject->definition ||
        !(subject->values = definition_values(subject->definition, plan->subject.name, plan, problem)) ||
        find_program(subject, problem) < 0 || open_override(subject, problem) < 0 ||
        plan_cpus(plan, plan_second_end(plan), subject->remote, &subject->cpus, problem) < 0 ||
        folder_make(subject->folder, "subject", subject->owner_of_files, problem) < 0)
        return -1;
    json_object_set_new(subject->values, "protocol",
                        json_string(definition_protocol(subject->definitions, plan)));
    subject->inherits = !strcmp(control_text(subject->definition, "listens"), "inherited");
    if (digest_of_file(subject->program.path, subject->digest) < 0)
        *subject->digest = '\0';
    return 0;
}

/* ---- its files and arguments ---- */

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
    definition_add_address(subject->values, &subject->address);
    json_object_set_new(subject->values, "folder", json_string(subject->folder));
    json_object_set_new(subject->values, "transport", json_string(subject->plan->transport->variant.name));
    json_object_set_new(subject->values, "security", json_string(subject->plan->encrypts ? "tls" : "plain"));
}

/* If the subject binds a path itself, the path is in its folder, where it may write. */
static int choose_path(struct subject *subject, struct problem *problem)
{
    struct address *address = &subject->address;
    char path[160];

    *address = subject->data->address;
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
    if (find(subject, problem) < 0)
        return -1;
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
