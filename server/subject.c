/* SPDX-License-Identifier: MIT */
#include "subject.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/folder.h"
#include "base/hex.h"
#include "base/program.h"
#include "base/scan.h"
#include "base/secret.h"
#include "connection/protocol.h"
#include "connection/source.h"
#include "measure/facts.h"
#include "net/sockets.h"
#include "security/certificate.h"
#include "connection/security.h"
#include "transport/transport.h"
#include "words/definition.h"
#include "override/reach.h"
#include "override/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define READY_WITHIN_MS 5000
#define VERSION_WITHIN_MS 2000
#define PACKAGES_KNOWN 8
#define EXIT_WITHIN_MS 400 /* its connections close before its exit can be seen */

/* ---- its override ---- */

static int open_override(struct subject *subject, struct problem *problem)
{
    if (!strcmp(subject->plan->override, OVERRIDE_OFF))
        return 0;
    return override_start(&subject->override, subject->plan->override, subject->program, geteuid() == 0,
                          problem);
}

/* Checks that the override reached the program and took effect, while connections are open. */
static int prove_override(const struct subject *subject, struct problem *problem)
{
    if (!subject->override.shared)
        return 0;
    return reach_check_process(subject->process.pid, problem) < 0
               ? -1
               : override_proof(subject->override.shared, problem);
}

/* ---- its folder ---- */

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

static void put_place(json_t *values, const struct subject *subject, const struct address *sink)
{
    const struct address *address = &subject->data->address;
    char text[ADDRESS_MAX];

    if (sink) {
        address_format(text, sink);
        json_object_set_new(values, "sink", json_string(text));
    }
    definition_add_address(values, address);
    json_object_set_new(values, "folder", json_string(subject->folder));
    json_object_set_new(values, "transport", json_string(subject->plan->transport->variant.name));
    json_object_set_new(values, "security", json_string(subject->plan->encrypts ? "tls" : "plain"));
}

/* Makes the files and arguments of the subject. If it binds a path itself, the path is in its
 * folder, where it may write. */
static int prepare(struct subject *subject, const json_t *definition, json_t *values,
                   const struct address *sink, uid_t owner, struct problem *problem)
{
    struct data_listener *data = subject->data;
    char path[160];

    data->by_certificate = subject->plan->encrypts && definition_needs(definition, "certificate");
    if (data->by_certificate && certificate_check(problem) < 0)
        return -1;
    if (!data->is_open && *address_path(&data->address)) {
        snprintf(path, sizeof path, "%s/socket", subject->folder);
        if (address_set_path(&data->address, path) < 0)
            return problem_failure(
                problem, "%s is too long for the path of a Unix socket; choose a shorter TMPDIR", path);
    }
    put_place(values, subject, sink);
    subject->arguments = definition_arguments(definition, values, subject->plan);
    if (definition_write_files(definition, values, subject->folder, owner) == 0 &&
        write_key(subject, data, owner) == 0 &&
        (!definition_needs(definition, "content") || write_content(subject, owner) == 0) &&
        (!data->by_certificate || write_certificate(subject, data, owner) == 0) &&
        json_array_insert_new(subject->arguments, 0, json_string(subject->program)) == 0 &&
        json_array_size(subject->arguments) <= PROCESS_ARGUMENTS_MAX)
        return 0;
    return problem_failure(problem, "cannot prepare the subject %s in %s", subject->plan->subject.name,
                           subject->folder);
}

/* ---- start ---- */

static int find_program(struct subject *subject, const json_t *values, struct problem *problem)
{
    const char *name = control_text(values, "program"), *own = subject->plan->subject.name;

    if (!strcmp(name, "uncork-server") && /* this program */
        uv_exepath(subject->program, &(size_t){sizeof subject->program}) == 0)
        return 0;
    /* not in PATH: for many users it lacks sbin, where servers are */
    if (program_find(name, PROCESS_PATH, subject->program, sizeof subject->program) == 0)
        return 0;
    return problem_unsupported(problem, "subject=%s needs the program %s: uncork setup %s", own, name, own);
}

/* Runs a program that prints its version or package, and reads the first line of its output. */
static void read_line(const struct subject *subject, struct launch *launch, char line[160])
{
    struct child asked = {0};
    char path[160];

    launch->folder = subject->folder;
    launch->listener = -1;
    if (process_start(&asked, launch) < 0 || !child_ends_within(&asked, VERSION_WITHIN_MS))
        process_end(&asked);
    snprintf(path, sizeof path, "%s/%s", subject->folder, launch->output);
    scan_file(path, 1, "%159[^\n]", line);
}

/* Finds the package of the program, like "nginx 1.22.1-9"; empty: no package has it. dpkg 1.21
 * needs 0.1 s for that, so the packages of the last programs are cached. */
static void read_package(struct subject *subject, const struct passwd *user)
{
    static char script[] = "exec 2>/dev/null; if p=$(dpkg-query -S \"$0\"); then "
                           "dpkg-query -Wf '${Package} ${Version}' \"${p%%:*}\"; "
                           "elif p=$(rpm -qf \"$0\"); then echo \"$p\"; fi";
    static char programs[PACKAGES_KNOWN][sizeof subject->program];
    static char packages[PACKAGES_KNOWN][sizeof subject->package];
    static size_t count;
    char shell[] = "/bin/sh", option[] = "-c";
    struct launch launch = {
        .arguments = {shell, option, script, subject->program}, .output = "package", .user = user};
    size_t slot = 0;

    while (slot < PACKAGES_KNOWN && strcmp(programs[slot], subject->program) != 0)
        slot++;
    if (slot == PACKAGES_KNOWN) {
        slot = count++ % PACKAGES_KNOWN;
        read_line(subject, &launch, subject->package);
        strcpy(programs[slot], subject->program);
        strcpy(packages[slot], subject->package);
    }
    strcpy(subject->package, packages[slot]);
}

static void read_version(struct subject *subject, const char *argument, const struct passwd *user)
{
    struct launch launch = {
        .arguments = {subject->program, (char *)(uintptr_t)argument}, .output = "version", .user = user};
    size_t name;

    read_line(subject, &launch, subject->version);
    name = strcspn(subject->version, " ");
    while (name && subject->version[name - 1] != '/') /* some programs print their path */
        name--;
    memmove(subject->version, subject->version + name, strlen(subject->version + name) + 1);
}

/* Connects again and again until a connection is accepted. */
static int await_ready(struct subject *subject, const struct address *address, struct problem *problem)
{
    uint64_t until = clock_now_ns() + (uint64_t)READY_WITHIN_MS * NS_PER_MS;

    while (clock_now_ns() < until) {
        CLEANUP_CLOSE int fd = sockets_make(address->storage.ss_family, SOCK_STREAM, 0, true);

        if (fd >= 0 && connect(fd, &address->any, address->size) == 0)
            return 0;
        if (child_ends_within(&subject->process, 1)) {
            subject_explain_exit(subject, problem);
            return -1;
        }
    }
    return problem_failure(problem, "the subject %s accepted no connection within %d s",
                           subject->plan->subject.name, READY_WITHIN_MS / 1000);
}

/* A server that can accept on a blocking socket inherits the socket of the data listener. This
 * process then closes its own descriptor. So the socket ends with the subject, and no client waits
 * for it. */
static int launch_on(struct subject *subject, struct launch *launch, struct problem *problem)
{
    struct data_listener *data = subject->data;
    bool inherits = data->is_open;
    const json_t *text;
    int result;
    size_t i;

    json_array_foreach(subject->arguments, i, text)
        launch->arguments[i] = (char *)(uintptr_t)json_string_value(text);
    launch->listener = inherits ? data->fd : -1;
    if (inherits)
        sockets_set_blocking(data->fd, true);
    result = process_start(&subject->process, launch);
    if (inherits) {
        close(data->fd);
        data->fd = -1;
    }
    if (result < 0)
        return problem_failure(problem, "cannot start %s: %s", subject->program, strerror(errno));
    return inherits ? 0 : await_ready(subject, &data->address, problem);
}

int subject_start(struct subject *subject, const json_t *definitions, const struct address *sink, bool remote,
                  struct problem *problem)
{
    const struct plan *plan = subject->plan;
    const json_t *definition = definition_find(definitions, plan, problem);
    CLEANUP_JSON json_t *values =
        definition ? definition_values(definition, plan->subject.name, plan, problem) : NULL;
    struct place_list cpus;
    struct launch launch = {.folder = subject->folder,
                            .output = "log",
                            .cpus = &cpus,
                            .user = geteuid() == 0 ? getpwnam("nobody") : NULL};
    uid_t owner = launch.user ? launch.user->pw_uid : geteuid();

    if (geteuid() == 0 && !launch.user)
        return problem_failure(problem,
                               "root starts a subject as user nobody, but this machine has no such user");
    if (!values || find_program(subject, values, problem) < 0 || open_override(subject, problem) < 0 ||
        plan_cpus(plan, plan_second_end(plan), remote, &cpus, problem) < 0 ||
        folder_make(subject->folder, "subject", owner, problem) < 0)
        return -1;
    json_object_set_new(values, "protocol", json_string(definition_protocol(definitions, plan)));
    read_version(subject, control_text(definition, "version"), launch.user);
    read_package(subject, launch.user);
    launch.variables = subject->override.shared ? subject->override.environment : NULL;
    if (strcmp(control_text(definition, "listens"), "inherited") != 0)
        data_listener_close(subject->data);
    return prepare(subject, definition, values, sink, owner, problem) < 0
               ? -1
               : launch_on(subject, &launch, problem);
}

/* ---- figures ---- */

static json_t *make_report(const struct subject *subject)
{
    uint64_t used_ns = process_cpu_ns(&subject->process) - subject->cpu_before_ns;
    char digest[DIGEST_TEXT_MAX];

    return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:o*, s:O, s:s, s:o*, s:o*}", "name",
                     subject->plan->subject.name, "host", facts_host_id(), "program", subject->program,
                     "version", subject->version, "package", *subject->package ? subject->package : NULL,
                     "sha256", digest_of_file(subject->program, digest) < 0 ? NULL : json_string(digest),
                     "arguments", subject->arguments, "user", geteuid() == 0 ? "nobody" : "caller", "cpu_ns",
                     used_ns ? json_integer((json_int_t)used_ns) : NULL, "override",
                     subject->override.shared ? report_make(subject->override.shared, NULL, 0, "") : NULL);
}

int subject_mark(struct subject *subject, struct problem *problem)
{
    CLEANUP_JSON json_t *report = NULL;

    if (!subject->measures) {
        subject->measures = true;
        subject->cpu_before_ns = process_cpu_ns(&subject->process);
        channel_send(subject->channel, CONTROL_MARKED, NULL);
        return 0;
    }
    report = make_report(subject);
    if (prove_override(subject, problem) < 0)
        return -1;
    channel_send_long(subject->channel, CONTROL_REPORT, json_incref(report));
    return 1;
}

/* ---- the end ---- */

int subject_explain_exit(struct subject *subject, struct problem *problem)
{
    char how[CHILD_TEXT_MAX], path[FOLDER_MAX + 8], tail[301];

    if (!*subject->folder || !child_ends_within(&subject->process, EXIT_WITHIN_MS))
        return -1;
    child_describe(&subject->process, how);
    snprintf(path, sizeof path, "%s/log", subject->folder);
    scan_tail(path, tail, sizeof tail);
    problem_failure(problem, "the subject %s %s; its log ends: %s", subject->plan->subject.name, how,
                    *tail ? tail : "(empty)");
    return 0;
}

void subject_stop(struct subject *subject)
{
    process_end(&subject->process);
    folder_remove(subject->folder);
    json_decref(subject->arguments);
    subject->arguments = NULL;
    override_close(&subject->override);
}
