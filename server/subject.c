/* SPDX-License-Identifier: MIT */
#include "client_session.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "connection/protocol.h"
#include "measure/facts.h"
#include "security/tls.h"
#include "words/definition.h"

#include <inttypes.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_WITHIN_MS 2000
#define ATTEMPT_MS 1000 /* of one connect(2) */
#define KNOWN_MAX 8

/* ---- in a thread: its program, its files and arguments ---- */

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
        !(subject->values = definition_values(subject->definition, name, plan, problem)))
        return -1;
    const char *wanted = control_text(subject->values, "program");
    /* this program, or another; not in PATH: for many users it lacks sbin, where servers are */
    if ((strcmp(wanted, "uncork-server") != 0 || uv_exepath(program, &(size_t){PATH_MAX}) != 0) &&
        program_find(wanted, PROCESS_PATH, program, PATH_MAX) != 0)
        return problem_unsupported(problem, "subject=%s needs the program %s: uncork setup %s", name, wanted,
                                   name);
    if ((strcmp(plan->override, OVERRIDE_OFF) != 0 &&
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

/* Writes the key of the run in a file for TLS servers. A certificate has it as private key, so the
 * client knows what to expect. */
static int write_keys(const struct subject *subject, const struct data_listener *data)
{
    char key[2 * SECURITY_KEY_SIZE + 1], line[sizeof key + 16];
    hex_format(key, data->key, SECURITY_KEY_SIZE);
    snprintf(line, sizeof line, "%s:%s\n", SECURITY_IDENTITY, key);
    int result = definition_write(subject->folder, "keys.psk", line, strlen(line), subject->owner_of_files);
    secret_wipe(key, sizeof key);
    secret_wipe(line, sizeof line);
    if (result < 0 || !data->by_certificate)
        return result;
    CLEANUP_FREE char *pem = certificate_make(data->key);
    if (!pem)
        return -1;
    result = definition_write(subject->folder, "certificate.pem", pem, strlen(pem), subject->owner_of_files);
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
        if (definition_write(subject->folder, name, data, size, subject->owner_of_files) < 0)
            return -1;
    }
    return 0;
}

/* Finds the program, makes its files and arguments. */
static void prepare(uv_work_t *request)
{
    struct client_session *client = request->data;
    struct problem *problem = &client->problem;
    const struct plan *plan = &client->plan;
    struct data_listener *data = &client->data;
    struct subject *subject = &client->subject;
    char path[FOLDER_MAX + 8];

    if (find(client, problem) < 0)
        return;
    const json_t *definition = subject->definition;
    json_t *values = subject->values;
    data->by_certificate = plan->encrypts && definition_has(definition, "needs", "certificate");
    if (data->by_certificate && certificate_check(problem) < 0)
        return;
    subject->address = data->address;
    if (!subject->inherits && *address_path(&subject->address)) { /* where it may write */
        snprintf(path, sizeof path, "%s/socket", subject->folder);
        if (address_set_path(&subject->address, path) < 0) {
            problem_failure(problem, "%s is too long for the path of a Unix socket; choose a shorter TMPDIR",
                            path);
            return;
        }
    }
    if (subject->sink.size)
        json_object_set_new(values, "sink", json_string(address_text(&subject->sink)));
    definition_add_address(values, &subject->address);
    json_object_set_new(values, "folder", json_string(subject->folder));
    json_object_set_new(values, "transport", json_string(plan->transport->variant.name));
    json_object_set_new(values, "security", json_string(plan->encrypts ? "tls" : "plain"));
    subject->arguments = definition_arguments(definition, values, plan);
    if (definition_write_files(definition, values, subject->folder, subject->owner_of_files) < 0 ||
        write_keys(subject, data) < 0 ||
        (definition_has(definition, "needs", "content") && write_content(subject, &plan->operations) < 0) ||
        json_array_insert_new(subject->arguments, 0, json_string(subject->program.path)) < 0 ||
        json_array_size(subject->arguments) > PROCESS_ARGUMENTS_MAX)
        problem_failure(problem, "cannot prepare the subject %s in %s", plan->subject.name, subject->folder);
}

/* ---- its version and its package, each the line of a child ---- */

/* The last programs: dpkg 1.21 needs 0.1 s to find a package. */
static struct known {
    struct subject_program program;
    struct stat file;
} known[KNOWN_MAX];
static size_t known_count;

static bool recall(struct subject *subject)
{
    struct stat file;
    for (size_t i = 0; i < KNOWN_MAX && stat(subject->program.path, &file) == 0; i++)
        if (!strcmp(known[i].program.path, subject->program.path) && known[i].file.st_ino == file.st_ino &&
            known[i].file.st_size == file.st_size && known[i].file.st_mtime == file.st_mtime) {
            subject->program = known[i].program;
            return true;
        }
    return false;
}

static void start_process(struct client_session *client, struct launch *launch)
{
    struct subject *subject = &client->subject;
    launch->folder = subject->folder;
    launch->user = subject->is_other_user ? SUBJECT_USER : NULL;
    client->open_parts++;
    process_start(&subject->process, client->session.timer.loop, launch);
}

static void on_line_late(uv_timer_t *timer)
{
    process_kill(&((struct client_session *)timer->data)->subject.process);
}

/* Starts a child that prints a line into the file `output`; steals `arguments`. */
static void ask(struct client_session *client, enum subject_step step, char *output, json_t *arguments)
{
    CLEANUP_JSON json_t *stolen = arguments;
    struct launch launch = {.arguments = stolen, .output = output, .listener = -1};
    client->subject.step = step;
    uv_timer_start(&client->subject.timer, on_line_late, LINE_WITHIN_MS, 0);
    start_process(client, &launch);
}

/* Prints a line like "nginx 1.22.1-9", or nothing: no package has the program. */
static const char package_script[] = "exec 2>/dev/null; if p=$(dpkg-query -S \"$0\"); then "
                                     "dpkg-query -Wf '${Package} ${Version}' \"${p%%:*}\"; "
                                     "elif p=$(rpm -qf \"$0\"); then echo \"$p\"; fi";

static void read_line(const struct subject *subject, const char *name, char line[SUBJECT_LINE_MAX])
{
    char path[FOLDER_MAX + 16];
    snprintf(path, sizeof path, "%s/%s", subject->folder, name);
    scan_file(path, 1, "%159[^\n]", line);
}

/* ---- the program itself ---- */

/* The subject accepts connections. */
static void on_ready(struct client_session *client)
{
    session_enter(&client->session, SESSION_RUNNING);
    if (client->end == END_SERVER)
        data_listener_send_ready(client);
    channel_send(&client->channel, CONTROL_JOINED, NULL);
}

static void on_connected(void *owner, int fd, const struct problem *problem)
{
    struct client_session *client = owner;
    close(fd); /* a persistent connector does not fail */
    connector_close(&client->subject.connector);
    on_ready(client);
}

/* A server that can accept on a blocking socket inherits the socket of the data listener. This
 * process then closes its own descriptor. So the socket ends with the subject, and no client waits
 * for it. */
static void launch(struct client_session *client)
{
    struct subject *subject = &client->subject;
    struct data_listener *data = &client->data;
    struct launch launch = {.arguments = subject->arguments,
                            .output = ".log",
                            .listener = subject->inherits ? data->fd : -1,
                            .cpus = &subject->cpus,
                            .variables = subject->override.shared ? subject->override.environment : NULL};

    subject->step = SUBJECT_RUN;
    if (subject->inherits) {
        sockets_set_blocking(data->fd, true);
    } else {
        data_listener_close(client); /* late: until here no other process gets its port */
        data->address = subject->address;
    }
    start_process(client, &launch);
    session_enter(&client->session, SESSION_LISTENING);
    if (subject->inherits) {
        close(data->fd);
        data->fd = -1;
        on_ready(client);
        return;
    }
    client->open_parts++;
    connector_open(&subject->connector, client->session.timer.loop);
    connector_begin(&subject->connector, &data->address, ATTEMPT_MS, true);
}

static void on_process_ended(void *owner)
{
    struct client_session *client = owner;
    struct subject *subject = &client->subject;
    struct subject_program *program = &subject->program;
    struct problem problem = {0};
    bool is_closing = client->is_closing;

    uv_timer_stop(&subject->timer);
    client_session_part_closed(client);
    if (is_closing)
        return;
    if (subject->step == SUBJECT_VERSION) {
        read_line(subject, ".version", program->version);
        size_t name = strcspn(program->version, " ");
        while (name && program->version[name - 1] != '/') /* some programs print their path */
            name--;
        memmove(program->version, program->version + name, strlen(program->version + name) + 1);
        ask(client, SUBJECT_PACKAGE, ".package",
            json_pack("[s, s, s, s]", "/bin/sh", "-c", package_script, program->path));
    } else if (subject->step == SUBJECT_PACKAGE) {
        read_line(subject, ".package", program->package);
        /* not without a version: one that came too late may come in time when it is asked again */
        struct known new = {.program = *program};
        if (*program->version && stat(program->path, &new.file) == 0)
            known[known_count++ % KNOWN_MAX] = new;
        launch(client);
    } else if (client->session.state != SESSION_RUNNING && client->session.state != SESSION_REPORTING) {
        subject_explain_halt(client, &problem);
        client_session_fail(client, &problem);
    } /* else its connections break, and the client reports a failure */
}

static void on_prepared(uv_work_t *request, int status)
{
    struct client_session *client = request->data;
    struct subject *subject = &client->subject;
    bool is_closing = client->is_closing;

    client_session_part_closed(client);
    if (is_closing)
        return;
    if (client->problem.kind != PROBLEM_NONE)
        client_session_fail(client, &client->problem);
    else if (recall(subject))
        launch(client);
    else
        ask(client, SUBJECT_VERSION, ".version",
            json_pack("[s, s]", subject->program.path, control_text(subject->definition, "version")));
}

void subject_start(struct client_session *client, const struct address *sink)
{
    struct subject *subject = &client->subject;
    uv_loop_t *loop = client->session.timer.loop;

    subject->step = SUBJECT_PREPARE;
    if (sink)
        subject->sink = *sink;
    subject->process = (struct process){.ended = on_process_ended, .owner = client};
    subject->connector =
        (struct connector){.done = on_connected, .closed = client_session_part_closed, .owner = client};
    uv_timer_init(loop, &subject->timer);
    subject->timer.data = subject->work.data = client;
    client->open_parts += 2;
    session_enter(&client->session, SESSION_STARTING);
    uv_queue_work(loop, &subject->work, prepare, on_prepared);
}

int subject_mark(struct client_session *client, struct problem *problem)
{
    struct subject *subject = &client->subject;
    const struct subject_program *program = &subject->program;
    struct shared *shared = subject->override.shared;
    uint64_t cpu_ns = process_cpu_ns(&subject->process);

    if (subject_is_halted(subject))
        return subject_explain_halt(client, problem);
    if (!subject->measures) {
        subject->measures = true;
        subject->cpu_before_ns = cpu_ns;
        channel_send(&client->channel, CONTROL_MARKED, NULL);
        return 0;
    }
    /* whether the override reached the program and took effect, while connections are open */
    if (shared &&
        (reach_check_process(subject->process.child.pid, problem) < 0 || override_proof(shared, problem) < 0))
        return -1;
    uint64_t used_ns = cpu_ns - subject->cpu_before_ns;
    channel_send(&client->channel, CONTROL_REPORT,
                 json_pack("{s:{s:s, s:s, s:s, s:s, s:s*, s:s*, s:O, s:s, s:o*, s:o*}}", "value", "name",
                           client->plan.subject.name, "host", facts_host_id(), "program", program->path,
                           "version", program->version, "package",
                           *program->package ? program->package : NULL, "sha256",
                           *subject->digest ? subject->digest : NULL, "arguments", subject->arguments, "user",
                           subject->is_other_user ? SUBJECT_USER : "caller", "cpu_ns",
                           used_ns ? json_integer((json_int_t)used_ns) : NULL, "override",
                           shared ? report_make(shared, NULL, 0, "") : NULL));
    session_enter(&client->session, SESSION_REPORTING);
    return 0;
}

/* ---- the end ---- */

int subject_explain_halt(const struct client_session *client, struct problem *problem)
{
    const struct subject *subject = &client->subject;
    char how[CHILD_TEXT_MAX], path[FOLDER_MAX + 8], tail[301];
    if (subject->process.error < 0)
        return problem_failure(problem, "cannot start a process for %s: %s", subject->program.path,
                               uv_strerror(subject->process.error));
    child_describe(&subject->process.child, how);
    snprintf(path, sizeof path, "%s/.log", subject->folder);
    scan_tail(path, tail, sizeof tail);
    return problem_failure(problem, "the subject %s %s; its log ends: %s", client->plan.subject.name, how,
                           *tail ? tail : "(empty)");
}

void subject_close(struct client_session *client)
{
    struct subject *subject = &client->subject;
    process_kill(&subject->process);
    if (subject->connector.open_parts)
        connector_close(&subject->connector);
    uv_close((uv_handle_t *)&subject->timer, client_session_handle_closed);
}

void subject_free(struct subject *subject)
{
    folder_remove(subject->folder);
    json_decref(subject->arguments);
    json_decref(subject->values);
    override_close(&subject->override);
}
