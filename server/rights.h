/* SPDX-License-Identifier: MIT */
/* The rights that a server gives up before it serves: its user, its capabilities, later ones, and
 * most system calls. */
#pragma once

#include "base/problem.h"

#include <stdbool.h>
#include <sys/types.h>

#define WORD_RIGHT(word, capability, why) RIGHT_##word,
#define SUBJECT_RIGHT(capability, why) RIGHT_##capability,
enum right {
#include "rights.def"
    RIGHT_COUNT
};
#undef WORD_RIGHT
#undef SUBJECT_RIGHT

/* What --user, --allow-word and --sandbox say. */
struct rights {
    const char *user; /* NULL: the user stays */
    uid_t uid;        /* of `user` */
    gid_t gid;
    unsigned kept; /* 1 << enum right */
    enum { SANDBOX_DEFAULT, SANDBOX_ON, SANDBOX_OFF } sandbox;
    bool hides_memory; /* keys are loaded: no other program of the user may read this one's memory */
    bool starts_programs;
    bool has_parent;
};

/* --user: this user, and no groups but its own. 0; -1 with a usage problem: there is no such user, or it is
 * root; or with a failure: only root may become another user. */
int rights_take_user(struct rights *rights, const char *name, struct problem *problem);

/* --allow-word. 0, or -1 with a usage problem: that word needs no right. */
int rights_allow_word(struct rights *rights, const char *word, struct problem *problem);

/* Keeps what a word like busy_poll=50us needs, if it needs any. */
void rights_keep_for(struct rights *rights, const char *word);

/* Becomes the user, and gives up all capabilities but those that are kept, for good: programs that
 * are started cannot have more (PR_SET_NO_NEW_PRIVS). Call it with one thread, when sockets and
 * files are open. 0, or -1 with a failure. */
int rights_drop(const struct rights *rights, struct problem *problem);

/* Whether this build has a sandbox: 0, or -1 with a usage problem. */
int sandbox_check(struct problem *problem);

/* Lets all threads make only the system calls of server/sandbox.def from here on. Any other call
 * fails with EPERM, and standard error gets its name, once. 0, or -1 with a failure. */
int sandbox_enter(const struct rights *rights, struct problem *problem);
