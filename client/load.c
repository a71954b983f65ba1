/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/program.h"
#include "base/units.h"
#include "connection/security.h"
#include "connection/source.h"
#include "words/definition.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_S 600 /* time limit of a load without limit_s */
#define VERSION_WITHIN_S 5
#define CONTENT_CHUNK (UINT64_C(1) << 20)

/* ---- the values that it gets ---- */

static void put_uri(const struct load *load, json_t *values, const char *protocol)
{
    const struct plan *plan = load->run->plan;
    const char *path = address_path(&load->run->target), *s = plan->encrypts ? "s" : "";
    const char *user = plan->encrypts ? SECURITY_IDENTITY "@" : "";
    bool is_nbd = !strncmp(protocol, "nbd", 3), is_http = !strcmp(protocol, "http");
    char keys[FOLDER_MAX + 32] = "", address[ADDRESS_MAX], file[32] = "";
    json_t *uri;

    if (plan->encrypts)
        snprintf(keys, sizeof keys, "tls-psk-file=%s/keys.psk", load->folder);
    if (is_http && plan->operations.count)
        snprintf(file, sizeof file, "%" PRIu64, plan->operations.list[0].bytes);
    address_format(address, &load->run->target);
    if (is_nbd && *path)
        uri = json_sprintf("nbd%s+unix://%s/?socket=%s%s%s", s, user, path, *keys ? "&" : "", keys);
    else if (is_nbd)
        uri = json_sprintf("nbd%s://%s%s/%s%s", s, user, address, *keys ? "?" : "", keys);
    else
        uri = json_sprintf("%s%s://%s/%s", !strcmp(protocol, "resp") ? "redis" : protocol, s, address, file);
    json_object_set_new(values, "uri", uri);
}

const char *load_path(const struct load *load, const char *name, char path[LOAD_PATH_MAX])
{
    snprintf(path, LOAD_PATH_MAX, "%s/%s", load->folder, name);
    return path;
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
        bool is_code = *at == '%' && strspn(at + 1, "0123456789abcdefABCDEF") > 1;
        *end = is_code ? (char)strtoul((char[]){at[1], at[2], '\0'}, NULL, 16) : *at;
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

static int write_content(const struct load *load, const json_t *values, struct problem *problem)
{
    CLEANUP_FREE uint8_t *chunk = xmalloc(CONTENT_CHUNK);
    char path[LOAD_PATH_MAX];
    uint64_t size = 0;

    if (units_parse(&units_size, record_text(values, "size"), &size) < 0)
        return problem_failure(problem, "the load %s has content but no size= for it", load->name);
    FILE *file = fopen(load_path(load, "content", path), "we");
    bool is_whole = file;
    for (uint64_t at = 0; is_whole && at < size; at += CONTENT_CHUNK) {
        size_t part = (size_t)(size - at < CONTENT_CHUNK ? size - at : CONTENT_CHUNK);
        pattern_fill(chunk, part, at);
        is_whole = fwrite(chunk, 1, part, file) == part;
    }
    if (file && fclose(file) == 0 && is_whole)
        return 0;
    return problem_failure(problem, "cannot write %s: %s", path, strerror(errno));
}

/* Collects the parameters of the subject, its address and the folder. Parameters of the load
 * replace those of the same name. */
static json_t *collect_values(const struct load *load, const json_t *definition, struct problem *problem)
{
    const struct plan *plan = load->run->plan;
    const json_t *subject = json_object_get(load->definitions, plan->subject.name);
    CLEANUP_JSON json_t *values = definition_values(subject, plan->subject.name, plan, problem);
    CLEANUP_JSON json_t *own = definition_values(definition, load->name, plan, problem);

    if (!values || !own)
        return NULL;
    definition_add_address(values, &load->run->target);
    json_object_set_new(values, "folder", json_string(load->folder));
    put_uri(load, values, definition_protocol(load->definitions, plan));
    json_object_del(values, "program");
    json_object_update(values, own);
    return json_incref(values);
}

/* ---- preparation ---- */

static int find(const char *name, char path[PATH_MAX], const char *hint, struct problem *problem)
{
    if (program_find(name, NULL, path, PATH_MAX) == 0)
        return 0;
    return problem_unsupported(problem, "workload=command needs the program %s: uncork setup%s%s", name,
                               *hint ? " " : "", hint);
}

/* How much it must move, a size or a product of sizes, and how its output says what it did. */
static int parse_counts(struct load *load, const json_t *definition, const json_t *values,
                        struct problem *problem)
{
    const char *moves = record_text(definition, "moves"), *counts = record_text(definition, "counts");
    CLEANUP_FREE char *text = definition_expand(moves, values);
    char *rest = text;
    uint64_t factor;

    for (load->moves = text != NULL; rest && load->moves; load->moves *= factor)
        if (units_parse(&units_size, strsep(&rest, "*"), &factor) < 0)
            factor = 0;
    if (!load->moves)
        return problem_failure(problem, "the load %s: moves='%s' is not a size", load->name, moves);
    load->has_counts = *counts && regcomp(&load->counts, counts, REG_EXTENDED) == 0;
    if (!*counts || (load->has_counts && load->counts.re_nsub == 1))
        return 0;
    return problem_failure(problem, "the load %s: counts='%s' is not a regular expression with one group",
                           load->name, counts);
}

static void make_jobs(struct load *load, const json_t *definition)
{
    const char *version = json_string_value(json_object_get(definition, "version"));
    uint64_t limit_s = record_number(definition, "limit_s");
    struct job *jobs = load->jobs;
    size_t i, size;
    FILE *line = open_memstream(&load->timed_line, &size);
    const json_t *text;

    limit_s = limit_s ? limit_s : LIMIT_S;
    jobs[STEP_REHEARSE] = (struct job){load->name, limit_s, "log", load->override.environment, {NULL}};
    json_array_foreach(load->arguments, i, text) {
        CLEANUP_FREE char *word = quote(json_string_value(text));

        jobs[STEP_REHEARSE].arguments[i] = json_string_value(text);
        fprintf(line, "%s ", word);
    }
    fclose(line);
    if (version)
        jobs[STEP_VERSION] =
            (struct job){load->name, VERSION_WITHIN_S, "version", NULL, {load->program, version}};
    jobs[STEP_TIMER] = (struct job){LOAD_TIMER, VERSION_WITHIN_S, "timer", NULL, {load->timer, "--version"}};
    jobs[STEP_TIME] = (struct job){load->name,
                                   limit_s,
                                   "timed",
                                   load->overridden ? load->override.environment : NULL,
                                   {load->timer, "-N", "-r", "1", "-w", "0", "--style", "none", "--output",
                                    "inherit", "--export-json", "./" LOAD_TIMES, load->timed_line}};
}

int load_prepare(struct load *load, struct problem *problem)
{
    const char *file = load->run->client->options->subjects;
    const struct plan *plan = load->run->plan;
    CLEANUP_JSON json_t *ad_hoc = NULL, *values = NULL;
    const json_t *definition = NULL;

    if ((file && !(load->definitions = definitions_load(file, problem))) ||
        (*plan->load && !(definition = definition_find(load->definitions, true, plan, problem))) ||
        folder_make(load->folder, "load", geteuid(), problem) < 0 ||
        !(values = collect_values(load, definition, problem)))
        return -1;
    if (!definition)
        definition = ad_hoc = define_command(plan, values);
    if (!json_object_get(values, "program"))
        json_object_set(values, "program", json_object_get(definition, "program"));
    const char *override = record_text(values, "override");
    load->overridden = *plan->load && strcmp(override, OVERRIDE_OFF) != 0;
    override = load->overridden ? override : "none";
    if (find(record_text(values, "program"), load->program, plan->load, problem) < 0 ||
        override_start(&load->override, override, load->program, false, problem) < 0)
        return -1;
    if (definition_has(definition, "needs", "content") && write_content(load, values, problem) < 0)
        return -1;
    if (plan->encrypts) {
        char key[256];
        snprintf(key, sizeof key, "%s:%s\n", SECURITY_IDENTITY, control_text(load->run->ready, "key"));
        int written = definition_write(load->folder, "keys.psk", key, strlen(key), geteuid());
        secret_wipe(key, sizeof key);
        if (written < 0)
            return problem_failure(problem, "cannot write keys.psk in %s", load->folder);
    }
    load->arguments = definition_arguments(definition, values, plan);
    if (json_array_size(load->arguments) > JOB_ARGUMENTS_MAX - 2)
        return problem_failure(problem, "cannot prepare the load %s", load->name);
    json_array_insert_new(load->arguments, 0, json_string(load->program));
    if (parse_counts(load, definition, values, problem) < 0 || find(LOAD_TIMER, load->timer, "", problem) < 0)
        return -1;
    make_jobs(load, definition);
    return 0;
}

void load_free(struct load *load)
{
    override_close(&load->override);
    json_decref(load->definitions);
    json_decref(load->arguments);
    free(load->timed_line);
    if (load->has_counts)
        regfree(&load->counts);
}
