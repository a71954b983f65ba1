/* SPDX-License-Identifier: MIT */
#include "subject.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/files.h"
#include "base/program.h"
#include "measure/facts.h"
#include "words/definition.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SUBJECT_USER "nobody" /* of a subject that root starts */
#define LINE_WITHIN_MS 2000
#define ATTEMPT_MS 1000 /* of one connect(2) */
#define KNOWN_MAX 8

/* ---- its override ---- */

static int open_override(struct subject *subject, struct problem *problem)
{
    if (!strcmp(subject->plan->override, OVERRIDE_OFF))
        return 0;
    return override_start(&subject->override, subject->plan->override, subject->program,
                          subject->is_other_user, problem);
}

/* Checks that the override reached the program and took effect, while connections are open. */
static int prove_override(const struct subject *subject, struct problem *problem)
{
    if (!subject->override.shared)
        return 0;
    return reach_check_process(subject->process.child.pid, problem) < 0
               ? -1
               : override_proof(subject->override.shared, problem);
}

/* ---- steps ---- */

static void begin_step(struct subject *subject, enum subject_step step);

static void part_closed(struct subject *subject)
{
    if (--subject->open_parts > 0)
        return;
    folder_remove(subject->folder);
    json_decref(subject->arguments);
    json_decref(subject->values);
    override_close(&subject->override);
    subject->events->closed(subject->owner);
}

static void fail(struct subject *subject)
{
    subject->events->failed(subject->owner, &subject->problem);
}

/* ---- its program ---- */

static int find_program(struct subject *subject, struct problem *problem)
{
    const char *name = control_text(subject->values, "program"), *own = subject->plan->subject.name;

    if (!strcmp(name, "uncork-server") && /* this program */
        uv_exepath(subject->program, &(size_t){sizeof subject->program}) == 0)
        return 0;
    /* not in PATH: for many users it lacks sbin, where servers are */
    if (program_find(name, PROCESS_PATH, subject->program, sizeof subject->program) == 0)
        return 0;
    return problem_unsupported(problem, "subject=%s needs the program %s: uncork setup %s", own, name, own);
}

static int find(struct subject *subject)
{
    const struct plan *plan = subject->plan;
    struct problem *problem = &subject->problem;
    const struct passwd *user = NULL;

    subject->is_other_user = geteuid() == 0;
    if (subject->is_other_user && !(user = getpwnam(SUBJECT_USER)))
        return problem_failure(problem, "root starts a subject as user " SUBJECT_USER
                                        ", but this machine has no such user");
    subject->owner_of_files = user ? user->pw_uid : geteuid();
    subject->definition = definition_find(subject->definitions, false, plan, problem);
    if (!subject->definition ||
        !(subject->values = definition_values(subject->definition, plan->subject.name, plan, problem)) ||
        find_program(subject, problem) < 0 || open_override(subject, problem) < 0 ||
        plan_cpus(plan, plan_second_end(plan), subject->remote, &subject->cpus, problem) < 0 ||
        folder_make(subject->folder, "subject", subject->owner_of_files, problem) < 0)
        return -1;
    json_object_set_new(subject->values, "protocol",
                        json_string(definition_protocol(subject->definitions, plan)));
    subject->inherits = !strcmp(control_text(subject->definition, "listens"), "inherited");
    if (digest_of_file(subject->program, subject->digest) < 0)
        *subject->digest = '\0';
    return 0;
}

/* ---- steps in a thread ---- */

static void work(uv_work_t *request)
{
    struct subject *subject = request->data;

    if (subject->step == SUBJECT_FIND)
        find(subject);
    else
        subject_prepare(subject, &subject->problem);
}

static void on_worked(uv_work_t *request, int status)
{
    struct subject *subject = request->data;

    (void)status;
    if (subject->is_closing) {
        part_closed(subject);
        return;
    }
    subject->open_parts--;
    if (subject->problem.kind != PROBLEM_NONE)
        fail(subject);
    else
        begin_step(subject, subject->step + 1);
}

/* ---- its version and its package ---- */

/* The answers of the last programs: dpkg 1.21 needs 0.1 s to find a package. */
static struct known {
    char program[PATH_MAX];
    struct stat file;
    char version[SUBJECT_LINE_MAX], package[SUBJECT_LINE_MAX];
} known[KNOWN_MAX];
static size_t known_count;

static bool recall(struct subject *subject)
{
    struct stat file;

    for (size_t i = 0; i < KNOWN_MAX && stat(subject->program, &file) == 0; i++)
        if (!strcmp(known[i].program, subject->program) && known[i].file.st_ino == file.st_ino &&
            known[i].file.st_size == file.st_size && known[i].file.st_mtime == file.st_mtime) {
            strcpy(subject->version, known[i].version);
            strcpy(subject->package, known[i].package);
            return true;
        }
    return false;
}

static void remember(const struct subject *subject)
{
    struct known *new = &known[known_count++ % KNOWN_MAX];

    *new = (struct known){0};
    if (!*subject->version || stat(subject->program, &new->file) < 0)
        return; /* a version that came too late may come in time when it is asked again */
    strcpy(new->program, subject->program);
    strcpy(new->version, subject->version);
    strcpy(new->package, subject->package);
}

static void start_process(struct subject *subject, struct launch *launch)
{
    launch->folder = subject->folder;
    launch->user = subject->is_other_user ? SUBJECT_USER : NULL;
    subject->open_parts++;
    process_start(&subject->process, subject->loop, launch);
}

static void on_line_late(uv_timer_t *timer)
{
    process_kill(&((struct subject *)timer->data)->process);
}

static void ask_version(struct subject *subject)
{
    char *option = (char *)(uintptr_t)control_text(subject->definition, "version");
    struct launch launch = {.arguments = {subject->program, option}, .output = "version", .listener = -1};

    uv_timer_start(&subject->timer, on_line_late, LINE_WITHIN_MS, 0);
    start_process(subject, &launch);
}

/* Like "nginx 1.22.1-9"; empty: no package has the program. */
static void ask_package(struct subject *subject)
{
    static char shell[] = "/bin/sh", option[] = "-c",
                script[] = "exec 2>/dev/null; if p=$(dpkg-query -S \"$0\"); then "
                           "dpkg-query -Wf '${Package} ${Version}' \"${p%%:*}\"; "
                           "elif p=$(rpm -qf \"$0\"); then echo \"$p\"; fi";
    struct launch launch = {
        .arguments = {shell, option, script, subject->program}, .output = "package", .listener = -1};

    uv_timer_start(&subject->timer, on_line_late, LINE_WITHIN_MS, 0);
    start_process(subject, &launch);
}

static void read_line(struct subject *subject, const char *name, char line[SUBJECT_LINE_MAX])
{
    char path[FOLDER_MAX + 16];

    snprintf(path, sizeof path, "%s/%s", subject->folder, name);
    scan_file(path, 1, "%159[^\n]", line);
}

static void read_version(struct subject *subject)
{
    size_t name;

    read_line(subject, "version", subject->version);
    name = strcspn(subject->version, " ");
    while (name && subject->version[name - 1] != '/') /* some programs print their path */
        name--;
    memmove(subject->version, subject->version + name, strlen(subject->version + name) + 1);
}

/* ---- the program itself ---- */

static void on_process_ended(void *owner)
{
    struct subject *subject = owner;

    uv_timer_stop(&subject->timer);
    if (subject->is_closing) {
        part_closed(subject);
        return;
    }
    subject->open_parts--;
    if (subject->step == SUBJECT_VERSION) {
        read_version(subject);
        begin_step(subject, SUBJECT_PACKAGE);
    } else if (subject->step == SUBJECT_PACKAGE) {
        read_line(subject, "package", subject->package);
        remember(subject);
        begin_step(subject, SUBJECT_PREPARE);
    } else {
        subject_explain_exit(subject, &subject->problem);
        fail(subject);
    }
}

static void on_connected(void *owner, int fd, const struct problem *problem)
{
    struct subject *subject = owner;

    (void)problem; /* a persistent connector does not fail */
    close(fd);
    connector_close(&subject->connector);
    subject->events->ready(subject->owner);
}

static void on_connector_closed(void *owner)
{
    part_closed(owner);
}

/* A server that can accept on a blocking socket inherits the socket of the data listener. This
 * process then closes its own descriptor. So the socket ends with the subject, and no client waits
 * for it. */
static void launch(struct subject *subject)
{
    struct data_listener *data = subject->data;
    struct launch launch = {.output = "log",
                            .listener = subject->inherits ? data->fd : -1,
                            .cpus = &subject->cpus,
                            .variables = subject->override.shared ? subject->override.environment : NULL};
    const json_t *text;
    size_t i;

    json_array_foreach(subject->arguments, i, text)
        launch.arguments[i] = (char *)(uintptr_t)json_string_value(text);
    if (subject->inherits)
        sockets_set_blocking(data->fd, true);
    else
        data_listener_close(data); /* late: until here no other process gets its port */
    start_process(subject, &launch);
    if (subject->inherits) {
        close(data->fd);
        data->fd = -1;
    }
    subject->events->launched(subject->owner);
    if (subject->inherits) {
        subject->events->ready(subject->owner);
        return;
    }
    subject->open_parts++;
    connector_open(&subject->connector, subject->loop);
    connector_begin(&subject->connector, &data->address, ATTEMPT_MS, true);
}

static void begin_step(struct subject *subject, enum subject_step step)
{
    subject->step = step;
    switch (step) {
    case SUBJECT_VERSION:
        if (recall(subject))
            begin_step(subject, SUBJECT_PREPARE);
        else
            ask_version(subject);
        break;
    case SUBJECT_PACKAGE:
        ask_package(subject);
        break;
    case SUBJECT_RUN:
        launch(subject);
        break;
    default: /* SUBJECT_FIND, SUBJECT_PREPARE */
        if (step == SUBJECT_PREPARE && !subject->inherits && *address_path(&subject->data->address))
            data_listener_close(subject->data); /* the program gets a path in its own folder */
        subject->open_parts++;
        uv_queue_work(subject->loop, &subject->work, work, on_worked);
    }
}

void subject_start(struct subject *subject, uv_loop_t *loop)
{
    subject->loop = loop;
    subject->process = (struct process){.ended = on_process_ended, .owner = subject};
    subject->connector =
        (struct connector){.done = on_connected, .closed = on_connector_closed, .owner = subject};
    uv_timer_init(loop, &subject->timer);
    subject->timer.data = subject->work.data = subject;
    subject->open_parts = 1;
    begin_step(subject, SUBJECT_FIND);
}

/* ---- figures ---- */

static json_t *make_report(const struct subject *subject)
{
    uint64_t used_ns = process_cpu_ns(&subject->process) - subject->cpu_before_ns;

    return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:o*, s:O, s:s, s:o*, s:o*}", "name",
                     subject->plan->subject.name, "host", facts_host_id(), "program", subject->program,
                     "version", subject->version, "package", *subject->package ? subject->package : NULL,
                     "sha256", *subject->digest ? json_string(subject->digest) : NULL, "arguments",
                     subject->arguments, "user", subject->is_other_user ? SUBJECT_USER : "caller", "cpu_ns",
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
    channel_send(subject->channel, CONTROL_REPORT, json_pack("{s:O}", "value", report));
    return 1;
}

/* ---- the end ---- */

void subject_explain_exit(const struct subject *subject, struct problem *problem)
{
    char how[CHILD_TEXT_MAX], path[FOLDER_MAX + 8], tail[301];

    if (subject->process.error < 0) {
        problem_failure(problem, "cannot start a process for %s: %s", subject->program,
                        uv_strerror(subject->process.error));
        return;
    }
    child_describe(&subject->process.child, how);
    snprintf(path, sizeof path, "%s/log", subject->folder);
    scan_tail(path, tail, sizeof tail);
    problem_failure(problem, "the subject %s %s; its log ends: %s", subject->plan->subject.name, how,
                    *tail ? tail : "(empty)");
}

static void on_timer_closed(uv_handle_t *timer)
{
    part_closed(timer->data);
}

void subject_close(struct subject *subject)
{
    if (subject->is_closing)
        return;
    subject->is_closing = true;
    process_kill(&subject->process);
    if (subject->connector.open_parts)
        connector_close(&subject->connector);
    uv_close((uv_handle_t *)&subject->timer, on_timer_closed);
}
