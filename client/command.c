/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "measure/facts.h"

#include <inttypes.h>
#include <math.h>
#include <sys/socket.h>

#define CHECK_EVERY_MS 20 /* between two checks of the processes of a rehearsal */
#define TAIL_MAX 301

/* After a problem the supervisor is told to kill what still runs. */
static void fail(struct command *command, const struct problem *problem)
{
    uv_timer_stop(&command->timer);
    if (command->answers.data) {
        uv_poll_stop(&command->answers);
        shutdown(command->channel_fd, SHUT_RDWR);
    }
    run_work_ended(command->run, "run", problem);
}

/* Reads the versions of both programs, and checks how many bytes the load moved. */
static int end_rehearsal(struct command *command, struct problem *problem)
{
    const struct load *load = &command->load;
    const struct shared *shared = load->override.shared;
    const char *limit = command->limit.text;
    char path[LOAD_PATH_MAX];

    scan_file(load_path(load, "version", path), 1, "%159[^\n]", command->version);
    scan_file(load_path(load, "timer", path), 1, LOAD_TIMER " %31s", command->timer_version);
    for (size_t i = 0; i < SHARED_KINDS; i++)
        command->moved += shared->kinds[i].sent_bytes + shared->kinds[i].received_bytes;
    if (command->moved >= load->moves)
        return 0;
    if (*limit || !shared->process_count)
        return problem_unsupported(problem, "it is not known how many bytes %s moved: %s", load->name,
                                   *limit ? limit : "the library did not reach the program");
    return problem_failure(problem,
                           "%s moved %" PRIu64 " of %" PRIu64
                           " bytes by its sockets: holes, a copy within the machine, or compression",
                           load->name, command->moved, load->moves);
}

/* Reads the times of the timed run, and from the output of the load how many operations it did. */
static int end_timed_run(struct command *command, struct problem *problem)
{
    const struct load *load = &command->load;
    char path[LOAD_PATH_MAX];
    CLEANUP_JSON json_t *root = json_load_file(load_path(load, LOAD_TIMES, path), 0, NULL);
    CLEANUP_FREE char *line = NULL;
    double wall, user, system;
    regmatch_t found[2];
    size_t size = 0;

    if (json_unpack(root, "{s:[{s:[F], s:F, s:F}]}", "results", "times", &wall, "user", &user, "system",
                    &system) < 0)
        return problem_failure(problem, LOAD_TIMER " wrote no times");
    command->times = json_pack("{s:s, s:I, s:I, s:I}", "version", command->timer_version, "wall_ns",
                               (json_int_t)llround(1e9 * wall), "user_ns", (json_int_t)llround(1e9 * user),
                               "system_ns", (json_int_t)llround(1e9 * system));
    if (load->overridden && override_proof(load->override.shared, problem) < 0)
        return -1;
    if (!load->has_counts)
        return 0;
    CLEANUP_FILE FILE *file = fopen(load_path(load, load->jobs[STEP_TIME].output, path), "re");
    while (file && !command->done && getline(&line, &size, file) >= 0)
        if (regexec(&load->counts, line, 2, found, 0) == 0 && found[1].rm_so >= 0)
            command->done = strtoull(line + found[1].rm_so, NULL, 10);
    if (command->done)
        return 0;
    return problem_failure(problem, "the output of %s has no count of what it did", load->name);
}

/* ---- the steps ---- */

static void on_timer(uv_timer_t *timer)
{
    struct command *command = timer->data;
    const struct job *job = &command->load.jobs[command->step];
    struct problem problem = {0};
    if (clock_now_ns() < command->until_ns) {
        reach_check_all(command->load.override.shared, &command->limit);
        return;
    }
    problem_failure(&problem, "%s did not end within %" PRIu64 " s and was killed", job->name, job->limit_s);
    fail(command, &problem);
}

static void take_step(struct command *command, enum step step)
{
    if (!command->load.jobs[step].arguments[0])
        step++;
    command->step = step;
    uint64_t limit_ms = 1000 * command->load.jobs[step].limit_s;
    command->until_ns = clock_now_ns() + limit_ms * NS_PER_MS;
    uv_timer_start(&command->timer, on_timer, step == STEP_REHEARSE ? CHECK_EVERY_MS : limit_ms + 1,
                   CHECK_EVERY_MS);
    /* if the supervisor has ended, on_answer() follows */
    send(command->channel_fd, &(uint8_t){(uint8_t)step}, 1, MSG_NOSIGNAL);
}

/* The program of a step has ended. CONTROL_MARKED makes the server read the CPU time of the
 * subject, around the timed run. */
static int end_step(struct command *command, int status, struct problem *problem)
{
    const struct job *job = &command->load.jobs[command->step];
    char how[CHILD_TEXT_MAX], path[LOAD_PATH_MAX], tail[TAIL_MAX];

    uv_timer_stop(&command->timer);
    if (status != 0 && command->step > STEP_VERSION) {
        child_describe(&(struct child){.status = status}, how);
        scan_tail(load_path(&command->load, job->output, path), tail, sizeof tail);
        return problem_failure(problem, "%s %s; its output ends: %s", job->name, how,
                               *tail ? tail : "(empty)");
    }
    if (command->step < STEP_REHEARSE) {
        take_step(command, command->step + 1);
        return 0;
    }
    bool is_timed = command->step == STEP_TIME;
    if ((is_timed ? end_timed_run : end_rehearsal)(command, problem) < 0)
        return -1;
    if (is_timed)
        run_work_ended(command->run, "run", NULL);
    channel_send(&command->run->links[END_SERVER].channel, CONTROL_MARKED, NULL);
    return 0;
}

static void on_answer(uv_poll_t *answers, int result, int events)
{
    struct command *command = answers->data;
    struct problem problem = {0};
    int status;
    if (result < 0 || recv(command->channel_fd, &status, sizeof status, MSG_DONTWAIT) != sizeof status)
        problem_failure(&problem, "the supervisor of %s has ended", command->load.name);
    else
        end_step(command, status, &problem);
    if (problem.kind != PROBLEM_NONE)
        fail(command, &problem);
}

/* ---- the interface ---- */

static void part_closed(struct command *command)
{
    if (--command->open_parts > 0)
        return;
    supervisor_stop(command);
    load_free(&command->load);
    json_decref(command->times);
    run_part_closed(command->run);
    free(command);
}

static void on_closed(uv_handle_t *handle)
{
    part_closed(handle->data);
}

static void prepare(uv_work_t *preparation)
{
    struct command *command = preparation->data;
    load_prepare(&command->load, &command->problem);
}

static int watch_answers(struct command *command, struct problem *problem)
{
    int result = uv_poll_init(command->timer.loop, &command->answers, command->channel_fd);
    return result == 0 ? 0 : problem_failure(problem, "cannot watch the supervisor: %s", uv_strerror(result));
}

static void on_prepared(uv_work_t *preparation, int status)
{
    struct command *command = preparation->data;

    if (!command->is_closing && command->problem.kind == PROBLEM_NONE &&
        supervisor_start(command, &command->problem) == 0 && watch_answers(command, &command->problem) == 0) {
        command->answers.data = command;
        command->open_parts++;
        uv_poll_start(&command->answers, UV_READABLE, on_answer);
        session_enter(&command->run->session, SESSION_RUNNING);
        take_step(command, STEP_VERSION);
    } else if (!command->is_closing) {
        fail(command, &command->problem);
    }
    part_closed(command);
}

struct command *command_open(struct run *run, struct problem *problem)
{
    const char *name = *run->plan->load ? run->plan->load : "command";
    struct place_list cpus;

    if (plan_cpus(run->plan, END_CLIENT, run->remote, &cpus, problem) < 0)
        return NULL;
    struct command *command = xcalloc(1, sizeof *command);
    *command = (struct command){
        .run = run, .cpus = cpus, .load = {.run = run, .name = name}, .open_parts = 2, .channel_fd = -1};
    uv_timer_init(&run->client->loop, &command->timer);
    command->timer.data = command->preparation.data = command;
    uv_queue_work(&run->client->loop, &command->preparation, prepare, on_prepared);
    return command;
}

/* CONTROL_JOINED: the subject accepts connections. CONTROL_MARKED: its CPU time was read, so the
 * timed run begins. */
int command_message(struct command *command, enum control_type type)
{
    if (type == CONTROL_JOINED)
        return 0;
    if (type != CONTROL_MARKED || command->step == STEP_TIME)
        return -1;
    take_step(command, STEP_TIME);
    return 0;
}

void command_report(const struct command *command, json_t *parts)
{
    const struct load *load = &command->load;
    char digest[DIGEST_TEXT_MAX];
    json_t *report = json_pack(
        "{s:s, s:s, s:s, s:s*, s:s*, s:O, s:I, s:I, s:o*, s:o*}", "name", load->name, "host", facts_host_id(),
        "program", load->program, "version", *command->version ? command->version : NULL, "sha256",
        digest_of_file(load->program, digest) == 0 ? digest : NULL, "arguments", load->arguments,
        "moves_bytes", (json_int_t)load->moves, "moved_bytes", (json_int_t)command->moved, "override",
        load->overridden ? report_make(load->override.shared, NULL, 0, "") : NULL, "requests",
        command->done ? json_integer((json_int_t)command->done) : NULL);

    json_object_set_new(parts, "load", report);
    json_object_set(parts, "hyperfine", command->times);
}

void command_close(struct command *command)
{
    command->is_closing = true;
    if (command->answers.data)
        uv_close((uv_handle_t *)&command->answers, on_closed);
    uv_close((uv_handle_t *)&command->timer, on_closed);
}
