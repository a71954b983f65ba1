/* SPDX-License-Identifier: MIT */
/* What a thread does before the start of a subject: finds its program, writes its files. */
#include "client_session.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/program.h"
#include "connection/protocol.h"
#include "security/tls.h"
#include "words/definition.h"

#include <inttypes.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

/* ---- its program ---- */

static int find_program(const char *name, char path[PATH_MAX], const char *own, struct problem *problem)
{
    if (!strcmp(name, "uncork-server") && uv_exepath(path, &(size_t){PATH_MAX}) == 0) /* this program */
        return 0;
    /* not in PATH: for many users it lacks sbin, where servers are */
    if (program_find(name, PROCESS_PATH, path, PATH_MAX) == 0)
        return 0;
    return problem_unsupported(problem, "subject=%s needs the program %s: uncork setup %s", own, name, own);
}

/* Finds the program and what it starts with. */
static int find(struct client_session *client, struct problem *problem)
{
    const struct plan *plan = &client->plan;
    const json_t *definitions = client->options->subjects;
    const char *name = plan->subject.name;
    struct subject *subject = &client->subject;
    char *program = subject->program.path;
    const struct passwd *user = NULL;

    subject->is_other_user = geteuid() == 0;
    if (subject->is_other_user && !(user = getpwnam(SUBJECT_USER)))
        return problem_failure(problem, "root starts a subject as user " SUBJECT_USER
                                        ", but this machine has no such user");
    subject->owner_of_files = user ? user->pw_uid : geteuid();
    subject->definition = definition_find(definitions, false, plan, problem);
    if (!subject->definition ||
        !(subject->values = definition_values(subject->definition, name, plan, problem)) ||
        find_program(control_text(subject->values, "program"), program, name, problem) < 0 ||
        (strcmp(plan->override, OVERRIDE_OFF) != 0 &&
         override_start(&subject->override, plan->override, program, subject->is_other_user, problem) < 0) ||
        plan_cpus(plan, client->end, client->remote, &subject->cpus, problem) < 0 ||
        folder_make(subject->folder, "subject", subject->owner_of_files, problem) < 0)
        return -1;
    json_object_set_new(subject->values, "protocol", json_string(definition_protocol(definitions, plan)));
    subject->inherits = !strcmp(control_text(subject->definition, "listens"), "inherited");
    if (digest_of_file(program, subject->digest) < 0)
        *subject->digest = '\0';
    return 0;
}

/* ---- its files and arguments ---- */

static int write_file(const struct subject *subject, const char *name, const void *data, size_t size)
{
    return definition_write(subject->folder, name, data, size, subject->owner_of_files);
}

/* Writes the key of the run, in a file for TLS servers. */
static int write_key(const struct subject *subject, const uint8_t run_key[SECURITY_KEY_SIZE])
{
    char key[2 * SECURITY_KEY_SIZE + 1], line[sizeof key + 16];
    hex_format(key, run_key, SECURITY_KEY_SIZE);
    snprintf(line, sizeof line, "%s:%s\n", SECURITY_IDENTITY, key);
    int result = write_file(subject, "keys.psk", line, strlen(line));
    secret_wipe(key, sizeof key);
    secret_wipe(line, sizeof line);
    return result;
}

/* The certificate has the key of the run as private key, so the client knows what to expect. */
static int write_certificate(const struct subject *subject, const uint8_t run_key[SECURITY_KEY_SIZE])
{
    CLEANUP_FREE char *pem = certificate_make(run_key);
    if (!pem)
        return -1;
    int result = write_file(subject, "certificate.pem", pem, strlen(pem));
    secret_wipe(pem, strlen(pem));
    return result;
}

/* Writes a file for each size that op= fetches. Its name is the size, its content the pattern. The
 * files have a folder of their own, so that a program does not serve the keys too. */
static int write_content(const struct subject *subject, const struct operations *operations)
{
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

static void put_place(json_t *values, const struct subject *subject, const struct plan *plan)
{
    char text[ADDRESS_MAX];
    if (subject->sink.size) {
        address_format(text, &subject->sink);
        json_object_set_new(values, "sink", json_string(text));
    }
    definition_add_address(values, &subject->address);
    json_object_set_new(values, "folder", json_string(subject->folder));
    json_object_set_new(values, "transport", json_string(plan->transport->variant.name));
    json_object_set_new(values, "security", json_string(plan->encrypts ? "tls" : "plain"));
}

/* If the subject binds a path itself, the path is in its folder, where it may write. */
static int choose_path(struct subject *subject, struct problem *problem)
{
    char path[160];
    if (subject->inherits || !*address_path(&subject->address))
        return 0;
    snprintf(path, sizeof path, "%s/socket", subject->folder);
    if (address_set_path(&subject->address, path) == 0)
        return 0;
    return problem_failure(problem, "%s is too long for the path of a Unix socket; choose a shorter TMPDIR",
                           path);
}

int subject_prepare(struct client_session *client, struct problem *problem)
{
    const struct plan *plan = &client->plan;
    struct data_listener *data = &client->data;
    struct subject *subject = &client->subject;

    if (find(client, problem) < 0)
        return -1;
    const json_t *definition = subject->definition;
    data->by_certificate = plan->encrypts && definition_has(definition, "needs", "certificate");
    subject->address = data->address;
    if ((data->by_certificate && certificate_check(problem) < 0) || choose_path(subject, problem) < 0)
        return -1;
    put_place(subject->values, subject, plan);
    subject->arguments = definition_arguments(definition, subject->values, plan);
    if (definition_write_files(definition, subject->values, subject->folder, subject->owner_of_files) == 0 &&
        write_key(subject, data->key) == 0 &&
        (!definition_has(definition, "needs", "content") || write_content(subject, &plan->operations) == 0) &&
        (!data->by_certificate || write_certificate(subject, data->key) == 0) &&
        json_array_insert_new(subject->arguments, 0, json_string(subject->program.path)) == 0 &&
        json_array_size(subject->arguments) <= PROCESS_ARGUMENTS_MAX)
        return 0;
    return problem_failure(problem, "cannot prepare the subject %s in %s", plan->subject.name,
                           subject->folder);
}
