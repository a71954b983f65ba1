/* SPDX-License-Identifier: MIT */
/* A program from its start to its end: standard streams, options, event loop, parent, children. */
#pragma once

#include "base/problem.h"

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

/* Finds a program as execvp(3) does: a name without a slash in `folders`, in the form of PATH;
 * NULL: in PATH. Writes its path. 0, -ENOENT, or -EACCES if the file is not executable. */
int program_find(const char *name, const char *folders, char *path, size_t size);

/* Call it before all else. Opens /dev/null on each of the descriptors 0 to 2 that is closed: else
 * another file gets this number, messages go into that file, and libuv 1.44 aborts. The descriptor
 * is for the other direction: a read or a write still fails with EBADF, also in a child. */
void standard_open(void);

/* Prints `json` as one line; the flags are those of json_dumps(). 0, or -1 with a failure if any
 * byte since the start of the program could not be written. */
int standard_print(const json_t *json, size_t flags, struct problem *problem);

/* Closes standard output, as some files report a full disk only then, and prints the problem after
 * the name of the program. Returns the exit status. */
int standard_end(const char *program, struct problem *problem);

/* A row of options_client.def or options_server.def, for the help and for completion. value: what
 * the option takes, with the blank or the bracket before it. A row without a name is a heading; one
 * without help ends the list. Each program makes the table of getopt_long(3) from its list. */
struct option_help {
    const char *name, *value, *help;
};
extern const struct option_help client_options[], server_options[];

/* Prints options to standard output. column: where their help begins. */
void option_print(const struct option_help *options, int column);

/* uv_loop_init(); libuv before 1.45 leaves a descriptor open when it fails. 0 or -errno. */
int loop_init(uv_loop_t *loop);

/* loop_init(), if descriptors are free: libuv 1.44 aborts if its first loop cannot open a pipe for
 * signals (uv__signal_global_reinit() in src/unix/signal.c). 0, or -1 with a failure. */
int loop_open(uv_loop_t *loop, struct problem *problem);

/* Reports the end of the parent process, however it ends. The parent holds the other end of a pipe,
 * mostly of standard input, and the system closes that end with the parent. */
struct parent_watch {
    uv_pipe_t pipe;
    void (*gone)(void *owner);
    void *owner;
    bool started;
};

/* Calls `gone` once, from the loop, when the other end of `fd` closes. The watch owns `fd` from
 * here on and ignores bytes that arrive. 0, or -1 with a usage problem of --with-parent if `fd` is
 * neither a pipe nor a socket; call parent_watch_stop() in both cases. */
int parent_watch_start(struct parent_watch *watch, uv_loop_t *loop, int fd, void (*gone)(void *owner),
                       void *owner, struct problem *problem);

/* Closes the descriptor of a started watch; the loop must turn before its memory is freed. */
void parent_watch_stop(struct parent_watch *watch);

/* A child process that this process reaps. */
struct child {
    pid_t pid;  /* 0: not started, or ended */
    int status; /* of waitpid(2), after it has ended */
};

/* Notes how the child has ended, as the exit callback of libuv has it. */
void child_note_end(struct child *child, int64_t exit_status, int term_signal);

/* Waits at most `ms`. Returns true if the child has ended, or was never started. */
bool child_ends_within(struct child *child, uint64_t ms);

/* Sends SIGTERM, after `ms` SIGKILL, and reaps the child. No effect if it does not run. */
void child_end(struct child *child, uint64_t ms);

/* The signal that has stopped the child, as SIGSTOP does; 0: it is not stopped. */
int child_stopped_by(const struct child *child);

/* Writes how the child has ended: "was ended by signal 9", "ended with status 1"; or that it was
 * stopped. */
#define CHILD_TEXT_MAX 48
void child_describe(const struct child *child, char text[CHILD_TEXT_MAX]);
