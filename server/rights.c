/* SPDX-License-Identifier: MIT */
#include "rights.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#define WORD_RIGHT(word, capability, why) #word,
#define SUBJECT_RIGHT(capability, why) NULL,
static const char *const words[RIGHT_COUNT] = {
#include "rights.def"
};
#undef WORD_RIGHT
#undef SUBJECT_RIGHT

/* ---- options ---- */

int rights_take_user(struct rights *rights, const char *name, struct problem *problem)
{
    const struct passwd *user = getpwnam(name);
    if (!user)
        return problem_usage(problem, "--user %.60s: this machine has no such user", name);
    if (user->pw_uid == 0)
        return problem_usage(problem, "--user %.60s: that is root; name another user", name);
    if (geteuid() != 0)
        return problem_failure(problem,
                               "--user %.60s: only root may become another user, and this is user %u", name,
                               (unsigned)geteuid());
    rights->user = name;
    rights->uid = user->pw_uid;
    rights->gid = user->pw_gid;
    return 0;
}

int rights_allow_word(struct rights *rights, const char *word, struct problem *problem)
{
    char known[256] = "";
    size_t size = 0;

    for (enum right right = 0; right < RIGHT_COUNT; right++) {
        if (!words[right])
            continue;
        if (!strcmp(words[right], word)) {
            rights->kept |= 1u << right;
            return 0;
        }
        size += (size_t)snprintf(known + size, sizeof known - size, "%s%s", size ? ", " : "", words[right]);
    }
    return problem_usage(problem, "--allow-word %.40s: only these words need a right: %s", word, known);
}

void rights_keep_for(struct rights *rights, const char *word)
{
    for (enum right right = 0; right < RIGHT_COUNT; right++) {
        size_t length = words[right] ? strlen(words[right]) : 0;
        if (length && !strncmp(words[right], word, length) && word[length] == '=')
            rights->kept |= 1u << right;
    }
}

/* ---- giving up ---- */

#ifdef __linux__

#define BIT(capability) (UINT64_C(1) << (capability))

#define WORD_RIGHT(word, capability, why) CAP_##capability,
#define SUBJECT_RIGHT(capability, why) CAP_##capability,
static const uint8_t capabilities[RIGHT_COUNT] = {
#include "rights.def"
};
#undef WORD_RIGHT
#undef SUBJECT_RIGHT

static uint64_t kept_of(const struct rights *rights)
{
    uint64_t kept = 0;
    for (enum right right = 0; right < RIGHT_COUNT; right++)
        if (rights->kept & 1u << right ||
            (words[right] ? rights->has_parent : rights->starts_programs && !rights->user))
            kept |= BIT(capabilities[right]);
    return kept;
}

/* The capabilities that this process may have. */
static uint64_t read_permitted(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    syscall(SYS_capget, &header, data);
    return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

static int set_capabilities(uint64_t kept)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    uint32_t low = (uint32_t)kept, high = (uint32_t)(kept >> 32);
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{low, low, 0}, {high, high, 0}};
    return (int)syscall(SYS_capset, &header, data);
}

/* What the process itself and any program that it starts can never have again. The end of the list
 * of this kernel is the first number that it does not know. */
static void bound_capabilities(uint64_t kept)
{
    for (unsigned long number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++)
        if (!(kept & BIT(number)))
            prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
}

#endif

static int become_user(const struct rights *rights, struct problem *problem)
{
    if (setgroups(0, NULL) == 0 && setgid(rights->gid) == 0 && setuid(rights->uid) == 0)
        return 0;
    return problem_failure(problem, "--user %s: cannot become this user: %s", rights->user, strerror(errno));
}

/* Whether the user of before is gone for good: a set that a kernel ignores would leave it. */
static int check_user(const struct rights *rights, struct problem *problem)
{
    bool is_user = getuid() == rights->uid && geteuid() == rights->uid && getgid() == rights->gid &&
                   getegid() == rights->gid;
    if (is_user && setuid(0) < 0 && seteuid(0) < 0 && (rights->gid == 0 || setgid(0) < 0))
        return 0;
    return problem_failure(problem, "--user %s: this process could still become root", rights->user);
}

int rights_drop(const struct rights *rights, struct problem *problem)
{
#ifdef __linux__
    uint64_t permitted = read_permitted(), kept = kept_of(rights) & permitted;
    if (permitted) {
        bound_capabilities(kept);
        prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0); /* else setuid(2) takes those that are kept too */
    }
#endif
    if (rights->user && become_user(rights, problem) < 0)
        return -1;
#ifdef __linux__
    if (permitted && (set_capabilities(kept) < 0 || read_permitted() != kept))
        return problem_failure(problem, "cannot give up capabilities: %s", strerror(errno));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return problem_failure(problem, "cannot give up later rights (PR_SET_NO_NEW_PRIVS): %s",
                               strerror(errno));
#ifndef UNCORK_SANITIZED                      /* LeakSanitizer traces its own process */
    if (rights->hides_memory || rights->user) /* setuid(2) has cleared it: /proc/self would be root's */
        prctl(PR_SET_DUMPABLE, rights->hides_memory ? 0 : 1, 0, 0, 0);
#endif
#endif
    return rights->user ? check_user(rights, problem) : 0;
}
