/* SPDX-License-Identifier: MIT */
#include "transport/congestion.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#ifdef __linux__
#define WHY_NOT "sysctl net.ipv4.tcp_available_congestion_control lists what is"
#elif defined TCP_CONGESTION
#define WHY_NOT "sysctl net.inet.tcp.cc.available lists what is"
#else
#define WHY_NOT "this system lets no program choose"
#define TCP_CONGESTION MISSING
#endif
#define MISSING (-1) /* this system does not have the option */

bool congestion_read(int fd, char name[CONGESTION_NAME_MAX])
{
    socklen_t size = CONGESTION_NAME_MAX - 1;

    memset(name, 0, CONGESTION_NAME_MAX);
    return TCP_CONGESTION != MISSING && getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0;
}

static bool set_name(int fd, const char *name)
{
    return TCP_CONGESTION != MISSING &&
           setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0;
}

/* Reads the name back, because some systems accept any. */
static bool choose(int fd, const char *name)
{
    char now[CONGESTION_NAME_MAX];

    return set_name(fd, name) && congestion_read(fd, now) && !strcmp(now, name);
}

int congestion_set_again(int fd, const char *word)
{
    if (TCP_CONGESTION == MISSING || !strcmp(word, "system"))
        return 0;
    set_name(fd, !strcmp(word, "default") ? "cubic" : word);
    return 1;
}

bool congestion_insists(const char *word)
{
    return strcmp(word, "system") != 0 && strcmp(word, "default") != 0;
}

int congestion_inherited(int accepted, const char *word, struct problem *problem)
{
    char now[CONGESTION_NAME_MAX];

    if (!congestion_insists(word) || (congestion_read(accepted, now) && !strcmp(now, word)))
        return 0;
    return problem_unsupported(
        problem,
        "congestion=%s: a connection that is accepted here does not have what its listener "
        "was given, but %s",
        word, now);
}

int congestion_set(int fd, const char *word, struct problem *problem)
{
    if (!strcmp(word, "system"))
        return 0;
    if (!strcmp(word, "default")) {
        choose(fd, "cubic"); /* without cubic: the system's default, which the record names */
        return 0;
    }
    if (choose(fd, word))
        return 0;
    return problem_unsupported(problem, "congestion=%s is not available here; " WHY_NOT, word);
}
