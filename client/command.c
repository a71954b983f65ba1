/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/files.h"
#include "base/program.h"
#include "load.h"
#include "measure/facts.h"
#include "override/override.h"
#include "record.h"
#include "supervisor.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMER "hyperfine"
#define TIMES "times.json"
#define VERSION_WITHIN_S 5
#define CHECK_EVERY_MS 20 /* between two checks of the processes of a rehearsal */
#define TAIL_MAX 301

/* The programs that run, one after the other. */
enum step { STEP_VERSION, STEP_TIMER, STEP_REHEARSE, STEP_TIME, STEP_COUNT };

struct command {
    struct command_task task;
    uv_work_t preparation;
    struct problem problem; /* of the preparation */
    uv_poll_t answers;      /* of the supervisor */
    uv_timer_t timer;       /* of the step */
    int open_parts;         /* preparation, answers, timer */
    bool is_closing;
    enum step step;
    uint64_t until_ns;
    struct supervisor supervisor;
    struct load load;
    char timer_path[PATH_MAX], version[160], timer_version[32];
    json_t *times;
    char *timed_line;            /* the load as an argument of hyperfine */
    struct job jobs[STEP_COUNT]; /* a job without a program is skipped */
    uint64_t moved, done;        /* bytes in the rehearsal; requests in the timed run */
    struct problem limit;        /* what the library cannot see of the load */
};

/* ---- preparation ---- */

static void make_jobs(struct command *command)
{
    const struct load *load = &command->load;
    char *const *environment = load->override.environment;
    struct job *jobs = command->jobs;
    const json_t *text;
    size_t i, size;
    FILE *line = open_memstream(&command->timed_line, &size);

    jobs[STEP_REHEARSE] = (struct job){.output = "log", .environment = environment};
    json_array_foreach(load->arguments, i, text) {
        CLEANUP_FREE char *word = load_quote(json_string_value(text));

        jobs[STEP_REHEARSE].arguments[i] = json_string_value(text);
        fprintf(line, "%s ", word);
    }
    fclose(line);
    if (load->version_option)
        jobs[STEP_VERSION] = (struct job){{load->program, load->version_option}, "version", NULL};
    jobs[STEP_TIMER] = (struct job){{command->timer_path, "--version"}, "timer", NULL};
    jobs[STEP_TIME] = (struct job){{command->timer_path, "-N", "-r", "1", "-w", "0", "--style", "none",
                                    "--output", "inherit", "--export-json", "./" TIMES, command->timed_line},
                                   "timed",
                                   load->overridden ? environment : NULL};
}

static void prepare(uv_work_t *preparation)
{
    struct command *command = preparation->data;

    if (load_prepare(&command->load, command->task.definitions, &command->problem) < 0)
        return;
    if (program_find(TIMER, NULL, command->timer_path, PATH_MAX) == 0)
        make_jobs(command);
    else
        problem_unsupported(&command->problem, "workload=command needs the program " TIMER ": uncork setup");
}

/* ---- the steps ---- */

static void take_step(struct command *command, enum step step);

/* Once for each run of the load. After a problem its supervisor is told to kill what still runs. */
static void report_done(struct command *command, const struct problem *problem)
{
    uv_timer_stop(&command->timer);
    if (problem->kind != PROBLEM_NONE && command->answers.data) {
        uv_poll_stop(&command->answers);
        shutdown(command->supervisor.channel_fd, SHUT_RDWR);
    }
    command->task.done(command->task.owner, problem);
}

static uint64_t limit_of_step_s(const struct command *command)
{
    return command->step < STEP_REHEARSE ? VERSION_WITHIN_S : command->load.limit_s;
}

static void on_timer(uv_timer_t *timer)
{
    struct command *command = timer->data;
    struct problem problem = {0};

    if (clock_now_ns() < command->until_ns) {
        reach_check_all(command->load.override.shared, &command->limit);
        return;
    }
    problem_failure(&problem, "%s did not end within %" PRIu64 " s and was killed",
                    command->step == STEP_TIMER ? TIMER : command->load.name, limit_of_step_s(command));
    report_done(command, &problem);
}

static int check_moved(struct command *command, struct problem *problem)
{
    const struct shared *shared = command->load.override.shared;

    for (size_t i = 0; i < SHARED_KINDS; i++)
        command->moved += shared->kinds[i].sent_bytes + shared->kinds[i].received_bytes;
    if (command->moved >= command->load.moves)
        return 0;
    if (command->limit.kind != PROBLEM_NONE || !shared->process_count)
        return problem_unsupported(problem, "it is not known how many bytes %s moved: %s", command->load.name,
                                   *command->limit.text ? command->limit.text
                                                        : "the library did not reach the program");
    return problem_failure(problem,
                           "%s moved %" PRIu64 " of %" PRIu64
                           " bytes by its sockets: holes, a copy within the "
                           "machine, or compression",
                           command->load.name, command->moved, command->load.moves);
}

static int read_times(struct command *command, struct problem *problem)
{
    static const char *const names[] = {"wall_ns", "user_ns", "system_ns"};
    char path[FOLDER_MAX + 16];
    CLEANUP_JSON json_t *root = NULL;
    double seconds[3];

    snprintf(path, sizeof path, "%s/" TIMES, command->load.folder);
    root = json_load_file(path, 0, NULL);
    if (json_unpack(root, "{s:[{s:[F], s:F, s:F}]}", "results", "times", &seconds[0], "user", &seconds[1],
                    "system", &seconds[2]) < 0)
        return problem_failure(problem, TIMER " wrote no times");
    command->times = json_pack("{s:s}", "version", command->timer_version);
    for (size_t i = 0; i < 3; i++)
        json_object_set_new(command->times, names[i], json_integer(llround(1e9 * seconds[i])));
    return command->load.overridden ? override_proof(command->load.override.shared, problem) : 0;
}

/* Reads from the output of the load how many operations it did. */
static int read_count(struct command *command, struct problem *problem)
{
    char path[FOLDER_MAX + 16];
    CLEANUP_FILE FILE *file = NULL;
    CLEANUP_FREE char *line = NULL;
    size_t size = 0;
    regmatch_t found[2];

    if (!command->load.has_counts)
        return 0;
    snprintf(path, sizeof path, "%s/%s", command->load.folder, command->jobs[STEP_TIME].output);
    file = fopen(path, "re");
    while (file && !command->done && getline(&line, &size, file) >= 0)
        if (regexec(&command->load.counts, line, 2, found, 0) == 0 && found[1].rm_so >= 0)
            command->done = strtoull(line + found[1].rm_so, NULL, 10);
    return command->done
               ? 0
               : problem_failure(problem, "the output of %s has no count of what it did", command->load.name);
}

static void read_versions(struct command *command)
{
    char path[FOLDER_MAX + 16];

    snprintf(path, sizeof path, "%s/version", command->load.folder);
    scan_file(path, 1, "%159[^\n]", command->version);
    snprintf(path, sizeof path, "%s/timer", command->load.folder);
    scan_file(path, 1, TIMER " %31s", command->timer_version);
}

/* Called when the program of a step has ended. */
static void end_step(struct command *command, int status)
{
    struct child ended = {.status = status};
    char how[CHILD_TEXT_MAX], path[FOLDER_MAX + 16], tail[TAIL_MAX];
    struct problem problem = {0};

    uv_timer_stop(&command->timer);
    if (status != 0 && command->step > STEP_VERSION) {
        child_describe(&ended, how);
        snprintf(path, sizeof path, "%s/%s", command->load.folder, command->jobs[command->step].output);
        scan_tail(path, tail, sizeof tail);
        problem_failure(&problem, "%s %s; its output ends: %s",
                        command->step == STEP_TIMER ? TIMER : command->load.name, how,
                        *tail ? tail : "(empty)");
    } else if (command->step == STEP_REHEARSE) {
        read_versions(command);
        check_moved(command, &problem);
    } else if (command->step == STEP_TIME) {
        if (read_times(command, &problem) == 0)
            read_count(command, &problem);
    } else {
        take_step(command, command->step + 1);
        return;
    }
    report_done(command, &problem);
}

static void on_answer(uv_poll_t *answers, int result, int events)
{
    struct command *command = answers->data;
    struct problem problem = {0};
    int status;

    (void)events;
    if (result == 0 && supervisor_ended(&command->supervisor, &status)) {
        end_step(command, status);
        return;
    }
    problem_failure(&problem, "the supervisor of %s has ended", command->load.name);
    report_done(command, &problem);
}

static void take_step(struct command *command, enum step step)
{
    uint64_t limit_ms;

    command->step = step;
    if (!command->jobs[step].arguments[0]) {
        take_step(command, step + 1);
        return;
    }
    limit_ms = 1000 * limit_of_step_s(command);
    command->until_ns = clock_now_ns() + limit_ms * NS_PER_MS;
    uv_timer_start(&command->timer, on_timer, step == STEP_REHEARSE ? CHECK_EVERY_MS : limit_ms + 1,
                   CHECK_EVERY_MS);
    supervisor_begin(&command->supervisor, (uint8_t)step);
}

/* ---- the interface ---- */

static void part_closed(struct command *command)
{
    if (--command->open_parts > 0)
        return;
    supervisor_stop(&command->supervisor);
    load_free(&command->load);
    json_decref(command->times);
    free(command->timed_line);
    command->task.closed(command->task.owner);
    free(command);
}

static void on_closed(uv_handle_t *handle)
{
    part_closed(handle->data);
}

static void on_prepared(uv_work_t *preparation, int status)
{
    struct command *command = preparation->data;

    (void)status;
    if (!command->is_closing && command->problem.kind == PROBLEM_NONE &&
        supervisor_start(&command->supervisor, &command->problem) == 0) {
        uv_poll_init(command->timer.loop, &command->answers, command->supervisor.channel_fd);
        command->answers.data = command;
        command->open_parts++;
        uv_poll_start(&command->answers, UV_READABLE, on_answer);
        command->task.prepared(command->task.owner);
        take_step(command, STEP_VERSION);
    } else if (!command->is_closing) {
        report_done(command, &command->problem);
    }
    part_closed(command);
}

struct command *command_open(const struct command_task *task, uv_loop_t *loop, struct problem *problem)
{
    struct command *command = calloc(1, sizeof *command);

    if (!command) {
        problem_failure(problem, "out of memory for a load");
        return NULL;
    }
    *command = (struct command){.task = *task,
                                .load = {.plan = task->plan,
                                         .address = task->address,
                                         .key = task->key,
                                         .name = *task->plan->load ? task->plan->load : "command"}};
    command->supervisor = (struct supervisor){
        .folder = command->load.folder, .cpus = &command->task.cpus, .jobs = command->jobs, .channel_fd = -1};
    uv_timer_init(loop, &command->timer);
    command->timer.data = command->preparation.data = command;
    command->open_parts = 2;
    uv_queue_work(loop, &command->preparation, prepare, on_prepared);
    return command;
}

void command_time(struct command *command)
{
    take_step(command, STEP_TIME);
}

void command_report(const struct command *command, json_t **load, json_t **times)
{
    char digest[DIGEST_TEXT_MAX];
    bool digested = digest_of_file(command->load.program, digest) == 0;

    *load =
        json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:O, s:I, s:I, s:o*}", "name", command->load.name, "host",
                  facts_host_id(), "program", command->load.program, "version",
                  *command->version ? command->version : NULL, "sha256", digested ? digest : NULL,
                  "arguments", command->load.arguments, "moves_bytes", (json_int_t)command->load.moves,
                  "moved_bytes", (json_int_t)command->moved, "override",
                  command->load.overridden ? report_make(command->load.override.shared, NULL, 0, "") : NULL);
    if (command->done)
        json_object_set_new(*load, "requests", json_integer((json_int_t)command->done));
    *times = json_incref(command->times);
}

void command_close(struct command *command)
{
    command->is_closing = true;
    if (command->answers.data)
        uv_close((uv_handle_t *)&command->answers, on_closed);
    uv_close((uv_handle_t *)&command->timer, on_closed);
}
