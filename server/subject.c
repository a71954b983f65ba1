/* SPDX-License-Identifier: MIT */
#include "client_session.h"

#include "base/cleanup.h"
#include "base/files.h"
#include "measure/facts.h"
#include "net/address.h"

#include <string.h>
#include <sys/stat.h>

#define LINE_WITHIN_MS 2000
#define ATTEMPT_MS 1000 /* of one connect(2) */
#define KNOWN_MAX 8

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
    (void)problem; /* a persistent connector does not fail */
    close(fd);
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
        subject_explain_exit(client, &problem);
        client_session_fail(client, &problem);
    } /* else its connections break, and the client reports a failure */
}

static void work(uv_work_t *request)
{
    struct client_session *client = request->data;
    subject_prepare(client, &client->problem);
}

static void on_worked(uv_work_t *request, int status)
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
    uv_queue_work(loop, &subject->work, work, on_worked);
}

int subject_mark(struct client_session *client, struct problem *problem)
{
    struct subject *subject = &client->subject;
    const struct subject_program *program = &subject->program;
    struct shared *shared = subject->override.shared;
    uint64_t cpu_ns = process_cpu_ns(&subject->process);

    if (subject_has_ended(subject))
        return subject_explain_exit(client, problem);
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

int subject_explain_exit(const struct client_session *client, struct problem *problem)
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
