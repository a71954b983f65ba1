/* SPDX-License-Identifier: MIT */
#include "subject.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/hex.h"
#include "base/secret.h"
#include "connection/protocol.h"
#include "measure/facts.h"
#ifdef __linux__
#include "override/override.h"
#include "override/reach.h"
#include "override/report.h"
#endif
#include "net/sockets.h"
#include "security/tls.h"
#include "transport/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define ARGUMENTS_MAX 64
#define READY_WITHIN_MS 5000
#define VERSION_WITHIN_MS 2000
#define ENDS_WITHIN_MS 3000
#define DYING_MS 400 /* its connections close first */
#define LOG_TAIL 300u
#define INHERITED_FD 3

/* A process to start, ready for fork(2): the child only makes system calls. */
struct launch {
    char *arguments[ARGUMENTS_MAX + 1];
    const char *folder; /* working directory, for its output too */
    const char *output; /* path of its output */
    int listener;       /* becomes INHERITED_FD; -1: none */
    const struct place_list *cpus;
    const struct passwd *user;       /* NULL: the caller */
    const struct override *override; /* NULL: none */
};

/* ---- texts ---- */

/* The value of a placeholder, or NULL. */
static const char *value_of(const json_t *values, const char *name, size_t size)
{
    return json_string_value(json_object_getn(values, name, size));
}

/* Replaces each {name} of `values`. Braces around anything else stay. New memory. */
static char *expand(const char *text, const json_t *values)
{
    char *result = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&result, &size);

    if (!out)
        return NULL;
    while (*text) {
        const char *end = *text == '{' ? strchr(text, '}') : NULL;
        const char *value = end ? value_of(values, text + 1, (size_t)(end - text - 1)) : NULL;

        if (value)
            fputs(value, out);
        else
            fputc(*text, out);
        text = value ? end + 1 : text + 1;
    }
    return fclose(out) == 0 ? result : NULL;
}

static int append_arguments(json_t *arguments, const json_t *definition, const char *key,
                            const json_t *values)
{
    const json_t *text;
    size_t i;

    json_array_foreach(json_object_get(definition, key), i, text)
    {
        CLEANUP_FREE char *argument = expand(json_string_value(text), values);

        if (!argument || json_array_append_new(arguments, json_string(argument)) < 0)
            return -1;
    }
    return 0;
}

/* Defaults, then what the words say. */
static int take_parameters(json_t *values, const json_t *definition, const struct plan *plan,
                           struct problem *problem)
{
    const json_t *known = json_object_get(definition, "parameters");
    const struct subject_choice *choice = &plan->subject;

    json_object_update(values, (json_t *)(uintptr_t)known);
    json_object_set(values, "program", json_object_get(definition, "program"));
    for (uint32_t i = 0; i < choice->count; i++) {
        const struct subject_parameter *parameter = &choice->parameters[i];

        if (!json_object_get(values, parameter->key))
            return problem_usage(problem, "%s.%s: the subject %s has no such parameter", choice->name,
                                 parameter->key, choice->name);
        json_object_set_new(values, parameter->key, json_string(parameter->value));
    }
    return 0;
}

/* ---- files ---- */

static int write_file(const struct subject *subject, const char *name, const char *text, uid_t owner)
{
    char path[512];
    FILE *file;
    int result;

    snprintf(path, sizeof path, "%s/%s", subject->folder, name);
    file = fopen(path, "we");
    if (!file)
        return -1;
    result = fputs(text, file) < 0 || fchmod(fileno(file), 0600) < 0 ||
             (geteuid() == 0 && fchown(fileno(file), owner, (gid_t)-1) < 0);
    return fclose(file) == 0 && !result ? 0 : -1;
}

static int write_files(const struct subject *subject, const json_t *definition, const json_t *values,
                       const struct lobby *lobby, uid_t owner)
{
    char key[2 * SECURITY_KEY_SIZE + 1], line[sizeof key + 16];
    const json_t *text;
    const char *name;
    int result;

    json_object_foreach((json_t *)(uintptr_t)json_object_get(definition, "files"), name, text)
    {
        CLEANUP_FREE char *content = expand(json_string_value(text), values);

        if (!content || write_file(subject, name, content, owner) < 0)
            return -1;
    }
    hex_format(key, lobby->key, sizeof lobby->key);
    snprintf(line, sizeof line, "%s:%s\n", TLS_IDENTITY, key);
    result = write_file(subject, "keys.psk", line, owner);
    secret_wipe(key, sizeof key);
    secret_wipe(line, sizeof line);
    return result;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static int make_folder(struct subject *subject, uid_t owner, struct problem *problem)
{
    const char *parent = getenv("TMPDIR");
    int size = snprintf(subject->folder, sizeof subject->folder, "%s/uncork-subject-XXXXXX",
                        parent && *parent ? parent : "/tmp");

    if (size >= (int)sizeof subject->folder) {
        *subject->folder = '\0';
        return problem_failure(problem, "TMPDIR=%.100s is too long for the folder of a subject", parent);
    }
    if (mkdtemp(subject->folder) && (geteuid() != 0 || chown(subject->folder, owner, (gid_t)-1) == 0))
        return 0;
    return problem_failure(problem, "cannot make the folder %s: %s", subject->folder, strerror(errno));
}

/* ---- processes ---- */

/* Looks where a login shell would, and where Debian has servers. */
static int find_program(struct subject *subject, const char *name, const char *subject_name,
                        struct problem *problem)
{
    CLEANUP_FREE char *folders = strdup("/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin");
    char *rest = folders, *folder;

    snprintf(subject->program, sizeof subject->program, "%s", name);
    if (strchr(name, '/') && access(name, X_OK) == 0)
        return 0;
    while (!strchr(name, '/') && (folder = strsep(&rest, ":"))) {
        snprintf(subject->program, sizeof subject->program, "%s/%s", folder, name);
        if (access(subject->program, X_OK) == 0)
            return 0;
    }
    return problem_unsupported(problem, "subject=%s needs the program %s: uncork setup %s", subject_name,
                               name, subject_name);
}

static void put_decimal(char *text, pid_t number)
{
    char digits[16];
    size_t count = 0;

    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10));
    while (count)
        *text++ = digits[--count];
    *text = '\0';
}

/* Descriptors from 3 on are close-on-exec but for the listener. */
static void run_child(const struct launch *launch, pid_t parent)
{
    static char listen_pid[32] = "LISTEN_PID=";
    static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", fds[] = "LISTEN_FDS=1";
    char *environment[6] = {path};
    size_t count = 1;
    int input = open("/dev/null", O_RDONLY), output;
    sigset_t none;

    if (launch->listener >= 0) {
        environment[count++] = fds;
        environment[count++] = listen_pid;
    }
#ifdef __linux__
    for (size_t i = 0; launch->override && i < 2; i++)
        environment[count++] = launch->override->environment[i];
#endif
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid();
#ifdef __linux__
    if (launch->cpus && launch->cpus->count) {
        cpu_set_t set;

        CPU_ZERO(&set);
        for (int i = 0; i < launch->cpus->count; i++)
            CPU_SET((size_t)launch->cpus->cpus[i], &set);
        sched_setaffinity(0, sizeof set, &set);
    }
#endif
    output = open(launch->output, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (launch->user &&
        (fchown(output, launch->user->pw_uid, launch->user->pw_gid) < 0 || setgroups(0, NULL) < 0 ||
         setgid(launch->user->pw_gid) < 0 || setuid(launch->user->pw_uid) < 0))
        _exit(126);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* after setuid(2), which clears it */
#endif
    if (getppid() != parent || chdir(launch->folder) < 0)
        _exit(126);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    if (launch->listener == INHERITED_FD)
        fcntl(INHERITED_FD, F_SETFD, 0);
    else if (launch->listener >= 0)
        dup2(launch->listener, INHERITED_FD);
    put_decimal(listen_pid + strlen("LISTEN_PID="), getpid());
    execve(launch->arguments[0], launch->arguments, environment);
    _exit(127);
}

static pid_t start_process(const struct launch *launch)
{
    pid_t parent = getpid(), pid = fork();

    if (pid == 0)
        run_child(launch, parent);
    return pid;
}

/* Whether the process has ended, or ends within this time. */
static bool ends_within(struct subject *subject, int ms)
{
    uint64_t until = clock_now_ns() + (uint64_t)ms * NS_PER_MS;

    while (subject->pid) {
        pid_t ended = waitpid(subject->pid, &subject->status, WNOHANG);

        if (ended == subject->pid || (ended < 0 && errno != EINTR))
            subject->pid = 0;
        else if (clock_now_ns() >= until)
            return false;
        else
            nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    return true;
}

/* Of the whole session that it may have started. */
static void end_process(struct subject *subject)
{
    pid_t session = subject->pid;

    if (!session)
        return;
    kill(subject->pid, SIGTERM);
    if (!ends_within(subject, ENDS_WITHIN_MS)) {
        kill(subject->pid, SIGKILL);
        ends_within(subject, ENDS_WITHIN_MS);
    }
    kill(-session, SIGKILL);
}

/* ---- its log ---- */

static void read_tail(const struct subject *subject, const char *name, char text[LOG_TAIL + 1])
{
    char path[512];
    size_t size = 0;
    FILE *log;

    snprintf(path, sizeof path, "%s/%s", subject->folder, name);
    if ((log = fopen(path, "re"))) {
        if (fseek(log, -(long)LOG_TAIL, SEEK_END) < 0)
            rewind(log);
        size = fread(text, 1, LOG_TAIL, log);
        fclose(log);
    }
    while (size && (text[size - 1] == '\n' || text[size - 1] == ' '))
        size--;
    text[size] = '\0';
    for (char *at = text; (at = strchr(at, '\n')); at++)
        *at = ';';
}

int subject_fate(struct subject *subject, const struct plan *plan, struct problem *problem)
{
    char how[64], tail[LOG_TAIL + 1];

    if (!*subject->folder || !ends_within(subject, DYING_MS))
        return -1;
    if (WIFSIGNALED(subject->status))
        snprintf(how, sizeof how, "was ended by signal %d", WTERMSIG(subject->status));
    else
        snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(subject->status));
    read_tail(subject, "log", tail);
    problem_failure(problem, "the subject %s %s; its log ends: %s", plan->subject.name, how,
                    *tail ? tail : "(empty)");
    return 0;
}

/* Its first line, by a run of its own. */
static void read_version(struct subject *subject, const char *argument, const struct passwd *user)
{
    struct subject asked = {0};
    char path[512];
    FILE *said;
    size_t name;
    struct launch launch = {.arguments = {subject->program, (char *)(uintptr_t)argument},
                            .folder = subject->folder,
                            .output = path,
                            .listener = -1,
                            .user = user};

    snprintf(path, sizeof path, "%s/version", subject->folder);
    asked.pid = argument ? start_process(&launch) : 0;
    if (!ends_within(&asked, VERSION_WITHIN_MS))
        end_process(&asked);
    if (!(said = fopen(path, "re")))
        return;
    if (fgets(subject->version, sizeof subject->version, said))
        subject->version[strcspn(subject->version, "\n")] = '\0';
    name = strcspn(subject->version, " ");
    while (name && subject->version[name - 1] != '/') /* some print their path */
        name--;
    memmove(subject->version, subject->version + name, strlen(subject->version + name) + 1);
    fclose(said);
}

/* ---- its override ---- */

#ifdef __linux__
static int open_override(struct subject *subject, const struct plan *plan, struct problem *problem)
{
    struct change change;

    if (!strcmp(plan->override, OVERRIDE_OFF))
        return 0;
    subject->override = calloc(1, sizeof *subject->override);
    if (!subject->override)
        return problem_failure(problem, "out of memory for an override");
    subject->override->file = -1;
    if (override_parse(&change, plan->override, problem) < 0)
        return -1;
    if (reach_check(subject->program, problem) < 0 ||
        override_open(subject->override, &change, false, problem) < 0) {
        problem->kind = PROBLEM_UNSUPPORTED;
        return -1;
    }
    return 0;
}

int subject_prove(const struct subject *subject, struct problem *problem)
{
    if (!subject->override)
        return 0;
    return reach_check_process(subject->pid, problem) < 0
               ? -1
               : override_proof(subject->override->shared, problem);
}

static void close_override(struct subject *subject)
{
    if (subject->override)
        override_close(subject->override);
    free(subject->override);
    subject->override = NULL;
}

static json_t *report_override(const struct subject *subject)
{
    return subject->override ? report_make(subject->override->shared, NULL, 0, "") : NULL;
}
#else
static int open_override(struct subject *subject, const struct plan *plan, struct problem *problem)
{
    (void)subject;
    if (!strcmp(plan->override, OVERRIDE_OFF))
        return 0;
    return problem_unsupported(problem, "override=%s: only Linux has the library that it preloads",
                               plan->override);
}

int subject_prove(const struct subject *subject, struct problem *problem)
{
    (void)subject, (void)problem;
    return 0;
}

static void close_override(struct subject *subject)
{
    (void)subject;
}

static json_t *report_override(const struct subject *subject)
{
    (void)subject;
    return NULL;
}
#endif

/* ---- start ---- */

static int check_definition(const json_t *definition, const struct plan *plan, struct problem *problem)
{
    const char *keys[] = {"protocols", "transports"},
               *wanted[] = {plan->protocol->variant.name, plan->transport->variant.name};

    if (!definition)
        return problem_unsupported(problem, "subject=%s: this server has no definition of it",
                                   plan->subject.name);
    for (size_t i = 0; i < 2; i++) {
        const json_t *names = json_object_get(definition, keys[i]), *name;
        bool found = false;
        size_t j;

        json_array_foreach(names, j, name)
        {
            found |= !strcmp(json_string_value(name), wanted[i]);
        }
        if (!found)
            return problem_unsupported(problem, "subject=%s does not work with %s=%s", plan->subject.name,
                                       i ? "transport" : "protocol", wanted[i]);
    }
    if (plan->encrypts && !json_object_get(definition, "arguments_tls"))
        return problem_unsupported(problem, "subject=%s does not work with TLS", plan->subject.name);
    return 0;
}

static int list_arguments(struct subject *subject, const json_t *definition, const json_t *values,
                          const struct plan *plan)
{
    const char *of_transport = plan->counts_segments ? "arguments_tcp" : "arguments_unix";

    subject->arguments = json_array();
    if (json_array_append_new(subject->arguments, json_string(subject->program)) < 0 ||
        (plan->encrypts && append_arguments(subject->arguments, definition, "arguments_tls", values) < 0) ||
        append_arguments(subject->arguments, definition, of_transport, values) < 0 ||
        append_arguments(subject->arguments, definition, "arguments", values) < 0)
        return -1;
    return json_array_size(subject->arguments) <= ARGUMENTS_MAX ? 0 : -1;
}

/* Connects until it is accepted. */
static int await_ready(struct subject *subject, const struct address *address, const struct plan *plan,
                       struct problem *problem)
{
    uint64_t until = clock_now_ns() + (uint64_t)READY_WITHIN_MS * NS_PER_MS;

    while (clock_now_ns() < until) {
        CLEANUP_CLOSE int fd = sockets_make(address->storage.ss_family, SOCK_STREAM, 0, true);

        if (fd >= 0 && connect(fd, (const struct sockaddr *)&address->storage, address->size) == 0)
            return 0;
        if (subject_fate(subject, plan, problem) == 0)
            return -1;
        nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    return problem_failure(problem, "the subject %s accepted no connection within %d s", plan->subject.name,
                           READY_WITHIN_MS / 1000);
}

static void put_address(json_t *values, const struct subject *subject, const struct address *address)
{
    char text[ADDRESS_MAX], *colon;

    address_format(text, address);
    if ((colon = strrchr(text, ':')))
        *colon = '\0';
    json_object_set_new(values, "host", json_string(text));
    json_object_set_new(values, "port", json_sprintf("%d", address_port(address)));
    json_object_set_new(values, "path", json_string(address_path(address)));
    json_object_set_new(values, "folder", json_string(subject->folder));
}

int subject_start(struct subject *subject, const json_t *definitions, const struct plan *plan,
                  struct lobby *lobby, struct problem *problem)
{
    const json_t *definition = json_object_get(definitions, plan->subject.name), *text;
    bool inherits;
    const struct passwd *user = geteuid() == 0 ? getpwnam("nobody") : NULL;
    uid_t owner = user ? user->pw_uid : geteuid();
    CLEANUP_JSON json_t *values = json_object();
    struct place_list cpus;
    char log[160], socket[160];
    struct launch launch = {.folder = subject->folder, .output = log, .cpus = &cpus, .user = user};
    size_t i;

    if (check_definition(definition, plan, problem) < 0 ||
        take_parameters(values, definition, plan, problem) < 0 ||
        find_program(subject, value_of(values, "program", strlen("program")), plan->subject.name, problem) <
            0 ||
        open_override(subject, plan, problem) < 0 || plan_cpus(plan, END_SERVER, false, &cpus, problem) < 0 ||
        make_folder(subject, owner, problem) < 0)
        return -1;
    inherits = !strcmp(control_text(definition, "listens"), "inherited");
    launch.listener = inherits ? lobby->fd : -1;
    snprintf(log, sizeof log, "%s/log", subject->folder);
    snprintf(socket, sizeof socket, "%s/socket", subject->folder);
    if (!inherits && *address_path(&lobby->address)) { /* the program makes its socket where it may */
        lobby_close(lobby);
        if (address_set_path(&lobby->address, socket) < 0)
            return problem_failure(problem, "the path of a Unix socket %s is too long", socket);
    }
    put_address(values, subject, &lobby->address);
    if (write_files(subject, definition, values, lobby, owner) < 0 ||
        list_arguments(subject, definition, values, plan) < 0)
        return problem_failure(problem, "cannot prepare the subject %s in %s", plan->subject.name,
                               subject->folder);
    read_version(subject, json_string_value(json_object_get(definition, "version")), user);
    json_array_foreach(subject->arguments, i, text)
    {
        launch.arguments[i] = (char *)(uintptr_t)json_string_value(text);
    }
    if (!inherits)
        lobby_close(lobby);
    if (inherits) /* a server that accepts may wait for that */
        sockets_set_blocking(lobby->fd, true);
    launch.override = subject->override;
    subject->pid = start_process(&launch);
    if (inherits) { /* with the process its socket ends, and no client waits for it */
        close(lobby->fd);
        lobby->fd = -1;
    }
    if (subject->pid < 0) {
        subject->pid = 0;
        return problem_failure(problem, "cannot start %s: %s", subject->program, strerror(errno));
    }
    return inherits ? 0 : await_ready(subject, &lobby->address, plan, problem);
}

/* ---- figures ---- */

uint64_t subject_cpu_ns(const struct subject *subject)
{
    struct timespec used = {0};
#ifndef __APPLE__
    clockid_t clock;

    if (!subject->pid || clock_getcpuclockid(subject->pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
        return 0;
#else
    (void)subject;
#endif
    return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

/* The sha256sum(1) of the program; NULL where this build has no SHA-256. */
static json_t *digest_of(const char *path)
{
    struct digest *digest = digest_library ? digest_library->open() : NULL;
    uint8_t buffer[65536], sum[DIGEST_SIZE];
    char text[2 * DIGEST_SIZE + 1];
    FILE *file = digest ? fopen(path, "re") : NULL;
    size_t size;

    if (file) {
        while ((size = fread(buffer, 1, sizeof buffer, file)) > 0)
            digest_library->update(digest, buffer, size);
        digest_library->read(digest, sum);
        hex_format(text, sum, sizeof sum);
        fclose(file);
    }
    if (digest)
        digest_library->close(digest);
    return file ? json_string(text) : NULL;
}

json_t *subject_report(const struct subject *subject, const struct plan *plan)
{
    uint64_t used_ns = subject->cpu_after_ns - subject->cpu_before_ns;

    return json_pack("{s:s, s:s, s:s, s:s, s:o*, s:O, s:s, s:o*, s:o*}", "name", plan->subject.name, "host",
                     facts_host_id(), "program", subject->program, "version", subject->version, "sha256",
                     digest_of(subject->program), "arguments", subject->arguments, "user",
                     geteuid() == 0 ? "nobody" : "caller", "cpu_ns",
                     used_ns ? json_integer((json_int_t)used_ns) : NULL, "override",
                     report_override(subject));
}

void subject_stop(struct subject *subject)
{
    end_process(subject);
    if (*subject->folder)
        nftw(subject->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    *subject->folder = '\0';
    json_decref(subject->arguments);
    subject->arguments = NULL;
    close_override(subject);
}
