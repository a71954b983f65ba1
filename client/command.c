/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/folder.h"
#include "base/program.h"
#include "base/scan.h"
#include "base/units.h"
#include "connection/protocol.h"
#include "connection/source.h"
#include "supervisor.h"
#include "measure/facts.h"
#include "override/override.h"
#include "override/reach.h"
#include "override/report.h"
#include "record.h"
#include "connection/security.h"
#include "transport/transport.h"
#include "words/definition.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TIMER "hyperfine"
#define TIMES "times.json"
#define LIMIT_S 600 /* time limit of a load without limit_s */
#define VERSION_WITHIN_S 5
#define CHECK_EVERY_MS 20 /* between two checks of the processes of a rehearsal */
#define CONTENT_CHUNK (UINT64_C(1) << 20)
#define TAIL_MAX 301

/* The programs that run, one after the other. */
enum step { STEP_VERSION, STEP_TIMER, STEP_REHEARSE, STEP_TIME, STEP_COUNT };

struct command {
    struct command_task task;
    uv_poll_t answers; /* of the supervisor */
    uv_timer_t timer;  /* of the step */
    int open_handles;
    enum step step;
    uint64_t until_ns;
    struct supervisor supervisor;
    const char *name;
    char folder[FOLDER_MAX], program[PATH_MAX], timer_path[PATH_MAX], version[160], timer_version[32];
    json_t *definitions; /* has the texts of the jobs */
    json_t *arguments, *times;
    char *timed_line;            /* the load as an argument of hyperfine */
    struct job jobs[STEP_COUNT]; /* a job without a program is skipped */
    uint64_t limit_s, moves, moved, done;
    regex_t counts; /* finds `done` in the output of the load, as its group */
    bool has_counts;
    struct override override;
    bool overridden;      /* the timed run is under the library too */
    struct problem limit; /* what the library cannot see of the load */
};

/* ---- the values that a load gets ---- */

static void put_uri(const struct command *command, json_t *values, const char *protocol)
{
    const struct plan *plan = command->task.plan;
    const char *path = address_path(command->task.address), *s = plan->encrypts ? "s" : "";
    const char *user = plan->encrypts ? SECURITY_IDENTITY "@" : "";
    bool is_nbd = !strncmp(protocol, "nbd", 3), is_http = !strcmp(protocol, "http");
    char keys[FOLDER_MAX + 32] = "", address[ADDRESS_MAX], file[32] = "";
    json_t *uri;

    if (plan->encrypts)
        snprintf(keys, sizeof keys, "tls-psk-file=%s/keys.psk", command->folder);
    if (is_http && plan->operations.count)
        snprintf(file, sizeof file, "%" PRIu64, plan->operations.list[0].bytes);
    address_format(address, command->task.address);
    if (is_nbd && *path)
        uri = json_sprintf("nbd%s+unix://%s/?socket=%s%s%s", s, user, path, *keys ? "&" : "", keys);
    else if (is_nbd)
        uri = json_sprintf("nbd%s://%s%s/%s%s", s, user, address, *keys ? "?" : "", keys);
    else
        uri = json_sprintf("%s%s://%s/%s", !strcmp(protocol, "resp") ? "redis" : protocol, s, address, file);
    json_object_set_new(values, "uri", uri);
}

/* Quotes a text as one word of sh(1). New memory. */
static char *quote(const char *text)
{
    char *result = NULL;
    size_t size;
    FILE *out = open_memstream(&result, &size);

    fputc('\'', out);
    for (; *text; text++)
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, out);
    fputc('\'', out);
    fclose(out);
    return result;
}

/* Makes the definition of `command=`: sh(1) runs its text, with quoted values. */
static json_t *define_command(const struct plan *plan, json_t *values)
{
    char text[COMMAND_TEXT_MAX], *end = text;
    const char *key;
    json_t *value;

    for (const char *at = plan->command; *at; end++) {
        unsigned code;
        bool is_code =
            *at == '%' && sscanf(at + 1, "%2x", &code) == 1 && strspn(at + 1, "0123456789abcdefABCDEF") > 1;

        *end = is_code ? (char)code : *at;
        at += is_code ? 3 : 1;
    }
    *end = '\0';
    json_object_foreach(values, key, value) {
        CLEANUP_FREE char *safe = quote(json_string_value(value));

        json_string_set(value, safe);
    }
    return json_pack("{s:s, s:[s,s], s:o}", "program", "sh", "arguments", "-c", text, "moves",
                     json_sprintf("%" PRIu64, plan->moves_bytes));
}

/* Parses a size or a product of sizes. 0 if it is neither. */
static uint64_t parse_product(char *text)
{
    uint64_t product = 1, factor;
    char *part;

    while ((part = strsep(&text, "*"))) {
        if (units_parse(&units_size, part, &factor) < 0)
            return 0;
        product *= factor;
    }
    return product;
}

static int write_content(const struct command *command, const json_t *values, struct problem *problem)
{
    CLEANUP_FREE uint8_t *chunk = needed(malloc(CONTENT_CHUNK));
    char path[FOLDER_MAX + 16];
    uint64_t size = 0;
    FILE *file;
    bool whole;

    if (units_parse(&units_size, record_text(values, "size"), &size) < 0)
        return problem_failure(problem, "the load %s has content but no size= for it", command->name);
    snprintf(path, sizeof path, "%s/content", command->folder);
    whole = (file = fopen(path, "we"));
    for (uint64_t at = 0; whole && at < size; at += CONTENT_CHUNK) {
        size_t part = (size_t)(size - at < CONTENT_CHUNK ? size - at : CONTENT_CHUNK);

        pattern_fill(chunk, part, at);
        whole = fwrite(chunk, 1, part, file) == part;
    }
    if (file && fclose(file) == 0 && whole)
        return 0;
    return problem_failure(problem, "cannot write %s: %s", path, strerror(errno));
}

static int write_key(const struct command *command, struct problem *problem)
{
    char line[256];

    snprintf(line, sizeof line, "%s:%s\n", SECURITY_IDENTITY, command->task.key);
    if (definition_write(command->folder, "keys.psk", line, strlen(line), geteuid()) == 0)
        return 0;
    return problem_failure(problem, "cannot write keys.psk in %s", command->folder);
}

/* Collects the parameters of the subject, its address and the folder. Parameters of the load
 * replace those of the same name. */
static json_t *collect_values(const struct command *command, const json_t *load, struct problem *problem)
{
    const struct plan *plan = command->task.plan;
    const json_t *subject = json_object_get(command->definitions, plan->subject.name);
    CLEANUP_JSON json_t *values = definition_values(subject, plan->subject.name, plan, problem);
    CLEANUP_JSON json_t *own = definition_values(load, command->name, plan, problem);

    if (!values || !own)
        return NULL;
    definition_add_address(values, command->task.address);
    json_object_set_new(values, "folder", json_string(command->folder));
    put_uri(command, values, definition_protocol(command->definitions, plan));
    json_object_del(values, "program");
    json_object_update(values, own);
    return json_incref(values);
}

/* ---- preparation ---- */

static int compile_counts(struct command *command, const char *text, struct problem *problem)
{
    command->has_counts = *text && regcomp(&command->counts, text, REG_EXTENDED) == 0;
    if (!*text || (command->has_counts && command->counts.re_nsub == 1))
        return 0;
    return problem_failure(problem, "the load %s: counts='%s' is not a regular expression with one group",
                           command->name, text);
}

static int find(const char *name, char path[PATH_MAX], const char *hint, struct problem *problem)
{
    if (program_find(name, NULL, path, PATH_MAX) == 0)
        return 0;
    return problem_unsupported(problem, "workload=command needs the program %s: uncork setup%s%s", name,
                               *hint ? " " : "", hint);
}

static int open_override(struct command *command, const char *text, struct problem *problem)
{
    command->overridden = strcmp(text, OVERRIDE_OFF) != 0;
    return override_start(&command->override, command->overridden ? text : "none", command->program, false,
                          problem);
}

static void make_jobs(struct command *command, const json_t *definition)
{
    char *const *environment = command->override.environment;
    const char *version = record_text(definition, "version");
    struct job *jobs = command->jobs;
    const json_t *text;
    size_t i, size;
    FILE *line = open_memstream(&command->timed_line, &size);

    jobs[STEP_REHEARSE] = (struct job){.output = "log", .environment = environment};
    json_array_foreach(command->arguments, i, text) {
        CLEANUP_FREE char *word = quote(json_string_value(text));

        jobs[STEP_REHEARSE].arguments[i] = json_string_value(text);
        fprintf(line, "%s ", word);
    }
    fclose(line);
    if (*version)
        jobs[STEP_VERSION] = (struct job){{command->program, version}, "version", NULL};
    jobs[STEP_TIMER] = (struct job){{command->timer_path, "--version"}, "timer", NULL};
    jobs[STEP_TIME] = (struct job){{command->timer_path, "-N", "-r", "1", "-w", "0", "--style", "none",
                                    "--output", "inherit", "--export-json", "./" TIMES, command->timed_line},
                                   "timed",
                                   command->overridden ? environment : NULL};
}

static int prepare(struct command *command, struct problem *problem)
{
    const struct plan *plan = command->task.plan;
    const char *file = command->task.definitions;
    CLEANUP_JSON json_t *ad_hoc = NULL, *values = NULL;
    const json_t *definition = NULL;
    CLEANUP_FREE char *moves = NULL;

    if (file && !(command->definitions = definitions_load(file, problem)))
        return -1;
    if (*plan->load && !(definition = definition_of_load(command->definitions, plan, problem)))
        return -1;
    if (folder_make(command->folder, "load", geteuid(), problem) < 0 ||
        !(values = collect_values(command, definition, problem)))
        return -1;
    if (!definition)
        definition = ad_hoc = define_command(plan, values);
    if (!json_object_get(values, "program"))
        json_object_set(values, "program", json_object_get(definition, "program"));
    if (find(record_text(values, "program"), command->program, plan->load, problem) < 0 ||
        find(TIMER, command->timer_path, "", problem) < 0 ||
        open_override(command, *plan->load ? record_text(values, "override") : OVERRIDE_OFF, problem) < 0)
        return -1;
    if ((definition_needs(definition, "content") && write_content(command, values, problem) < 0) ||
        (plan->encrypts && write_key(command, problem) < 0))
        return -1;
    command->arguments = needed(definition_arguments(definition, values, plan));
    moves = needed(definition_expand(record_text(definition, "moves"), values));
    if (json_array_size(command->arguments) > JOB_ARGUMENTS_MAX - 2)
        return problem_failure(problem, "cannot prepare the load %s", command->name);
    json_array_insert_new(command->arguments, 0, json_string(command->program));
    if (!(command->limit_s = record_number(definition, "limit_s")))
        command->limit_s = LIMIT_S;
    if (!(command->moves = parse_product(moves)))
        return problem_failure(problem, "the load %s: moves='%s' is not a size", command->name,
                               record_text(definition, "moves"));
    make_jobs(command, definition);
    return compile_counts(command, record_text(definition, "counts"), problem);
}

/* ---- the steps ---- */

static void take_step(struct command *command, enum step step);

static void report_done(struct command *command, const struct problem *problem)
{
    uv_timer_stop(&command->timer);
    command->task.done(command->task.owner, problem);
}

static uint64_t limit_of_step_s(const struct command *command)
{
    return command->step < STEP_REHEARSE ? VERSION_WITHIN_S : command->limit_s;
}

static void on_timer(uv_timer_t *timer)
{
    struct command *command = timer->data;
    struct problem problem = {0};

    if (clock_now_ns() < command->until_ns) {
        reach_check_all(command->override.shared, &command->limit);
        return;
    }
    problem_failure(&problem, "%s did not end within %" PRIu64 " s and was killed",
                    command->step == STEP_TIMER ? TIMER : command->name, limit_of_step_s(command));
    report_done(command, &problem);
}

static int check_moved(struct command *command, struct problem *problem)
{
    const struct shared *shared = command->override.shared;

    for (size_t i = 0; i < SHARED_KINDS; i++)
        command->moved += shared->kinds[i].sent_bytes + shared->kinds[i].received_bytes;
    if (command->moved >= command->moves)
        return 0;
    if (command->limit.kind != PROBLEM_NONE || !shared->process_count)
        return problem_unsupported(problem, "it is not known how many bytes %s moved: %s", command->name,
                                   *command->limit.text ? command->limit.text
                                                        : "the library did not reach the program");
    return problem_failure(problem,
                           "%s moved %" PRIu64 " of %" PRIu64
                           " bytes by its sockets: holes, a copy within the "
                           "machine, or compression",
                           command->name, command->moved, command->moves);
}

static int read_times(struct command *command, struct problem *problem)
{
    static const char *const names[] = {"wall_ns", "user_ns", "system_ns"};
    char path[FOLDER_MAX + 16];
    CLEANUP_JSON json_t *root = NULL;
    double seconds[3];

    snprintf(path, sizeof path, "%s/" TIMES, command->folder);
    root = json_load_file(path, 0, NULL);
    if (json_unpack(root, "{s:[{s:[F], s:F, s:F}]}", "results", "times", &seconds[0], "user", &seconds[1],
                    "system", &seconds[2]) < 0)
        return problem_failure(problem, TIMER " wrote no times");
    command->times = json_pack("{s:s}", "version", command->timer_version);
    for (size_t i = 0; i < 3; i++)
        json_object_set_new(command->times, names[i], json_integer(llround(1e9 * seconds[i])));
    return command->overridden ? override_proof(command->override.shared, problem) : 0;
}

/* Reads from the output of the load how many operations it did. */
static int read_count(struct command *command, struct problem *problem)
{
    char path[FOLDER_MAX + 16];
    CLEANUP_FILE FILE *file = NULL;
    CLEANUP_FREE char *line = NULL;
    size_t size = 0;
    regmatch_t found[2];

    if (!command->has_counts)
        return 0;
    snprintf(path, sizeof path, "%s/%s", command->folder, command->jobs[STEP_TIME].output);
    file = fopen(path, "re");
    while (file && !command->done && getline(&line, &size, file) >= 0)
        if (regexec(&command->counts, line, 2, found, 0) == 0 && found[1].rm_so >= 0)
            command->done = strtoull(line + found[1].rm_so, NULL, 10);
    return command->done
               ? 0
               : problem_failure(problem, "the output of %s has no count of what it did", command->name);
}

static void read_versions(struct command *command)
{
    char path[FOLDER_MAX + 16];

    snprintf(path, sizeof path, "%s/version", command->folder);
    scan_file(path, 1, "%159[^\n]", command->version);
    snprintf(path, sizeof path, "%s/timer", command->folder);
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
        snprintf(path, sizeof path, "%s/%s", command->folder, command->jobs[command->step].output);
        scan_tail(path, tail, sizeof tail);
        problem_failure(&problem, "%s %s; its output ends: %s",
                        command->step == STEP_TIMER ? TIMER : command->name, how, *tail ? tail : "(empty)");
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
    uv_poll_stop(&command->answers);
    problem_failure(&problem, "the supervisor of %s has ended", command->name);
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

static void on_closed(uv_handle_t *handle)
{
    struct command *command = handle->data;

    command->task.closed(command->task.owner);
    if (--command->open_handles == 0)
        free(command);
}

/* Releases all that needs no turn of the loop. */
static void release(struct command *command)
{
    supervisor_stop(&command->supervisor);
    override_close(&command->override);
    json_decref(command->definitions);
    json_decref(command->arguments);
    json_decref(command->times);
    free(command->timed_line);
    if (command->has_counts)
        regfree(&command->counts);
}

struct command *command_open(const struct command_task *task, uv_loop_t *loop, struct problem *problem)
{
    struct command *command = needed(calloc(1, sizeof *command));

    *command = (struct command){.task = *task, .name = *task->plan->load ? task->plan->load : "command"};
    command->supervisor = (struct supervisor){
        .folder = command->folder, .cpus = &command->task.cpus, .jobs = command->jobs, .channel_fd = -1};
    if (prepare(command, problem) < 0 || supervisor_start(&command->supervisor, problem) < 0) {
        release(command);
        free(command);
        return NULL;
    }
    uv_poll_init(loop, &command->answers, command->supervisor.channel_fd);
    uv_timer_init(loop, &command->timer);
    command->open_handles = 2;
    command->answers.data = command->timer.data = command;
    uv_poll_start(&command->answers, UV_READABLE, on_answer);
    take_step(command, STEP_VERSION);
    return command;
}

void command_time(struct command *command)
{
    take_step(command, STEP_TIME);
}

void command_report(const struct command *command, json_t **load, json_t **times)
{
    char digest[DIGEST_TEXT_MAX];
    bool digested = digest_of_file(command->program, digest) == 0;

    *load = json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:O, s:I, s:I, s:o*}", "name", command->name, "host",
                      facts_host_id(), "program", command->program, "version",
                      *command->version ? command->version : NULL, "sha256", digested ? digest : NULL,
                      "arguments", command->arguments, "moves_bytes", (json_int_t)command->moves,
                      "moved_bytes", (json_int_t)command->moved, "override",
                      command->overridden ? report_make(command->override.shared, NULL, 0, "") : NULL);
    if (command->done)
        json_object_set_new(*load, "requests", json_integer((json_int_t)command->done));
    *times = json_incref(command->times);
}

void command_close(struct command *command)
{
    uv_close((uv_handle_t *)&command->answers, on_closed);
    uv_close((uv_handle_t *)&command->timer, on_closed);
    release(command);
}
