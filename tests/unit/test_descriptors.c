/* SPDX-License-Identifier: MIT */
/* A thread with a table of descriptors of its own: base/threads.h. */
#include "unit.h"

#include "base/threads.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

static void try_it(void *owns)
{
    *(bool *)owns = descriptors_own(NULL, 0);
}

static int check(struct problem *problem)
{
    uv_thread_t thread;
    bool owns;

    uv_thread_create(&thread, try_it, &owns);
    uv_thread_join(&thread);
    return owns ? 0 : problem_unsupported(problem, "a thread cannot have a table of descriptors of its own");
}

struct unit_fixture unit_fixture = {.check = check};

static struct {
    int kept[2], other[2]; /* pairs of sockets */
    uv_barrier_t turn;
    bool owns, kept_is_open, other_is_open, let_go, blocks_signals;
} table;

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void own_a_table(void *nothing)
{
    sigset_t blocked;
    char byte;

    table.owns = descriptors_own((int[]){-1, table.kept[1]}, 2);
    table.kept_is_open = is_open(table.kept[1]) && is_open(STDERR_FILENO);
    table.other_is_open = is_open(table.other[1]);
    table.blocks_signals =
        pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0 && sigismember(&blocked, SIGTERM);
    uv_barrier_wait(&table.turn);
    uv_barrier_wait(&table.turn);             /* the other thread closes the other pair */
    while (read(table.kept[1], &byte, 1) > 0) /* until the other thread shuts it down */
        ;
    table.let_go = descriptors_own(NULL, 0) && !is_open(table.kept[1]);
    uv_barrier_wait(&table.turn);
    uv_barrier_wait(&table.turn);
}

/* Closes the last descriptors that the process has: the other end of a pair has half-closed. */
static bool ends(int end, int fd)
{
    char byte;

    close(fd);
    return recv(end, &byte, 1, MSG_DONTWAIT) == 0;
}

TEST(a_table_of_its_own_has_the_kept_descriptors_and_shares_their_files)
{
    uv_thread_t thread;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, table.kept), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, table.other), 0);
    uv_barrier_init(&table.turn, 2);
    assert_int_equal(uv_thread_create(&thread, own_a_table, NULL), 0);
    uv_barrier_wait(&table.turn);
    assert_true(table.owns);
    assert_true(table.kept_is_open);
    assert_false(table.other_is_open);
    assert_true(table.blocks_signals); /* whose handlers write to a descriptor of the other table */
    assert_true(is_open(table.other[1]));
    assert_true(ends(table.other[0], table.other[1]));
    uv_barrier_wait(&table.turn);
    shutdown(table.kept[1], SHUT_RDWR);
    uv_barrier_wait(&table.turn);
    assert_true(table.let_go);
    assert_true(ends(table.kept[0], table.kept[1])); /* while the thread still runs */
    uv_barrier_wait(&table.turn);
    uv_thread_join(&thread);
    uv_barrier_destroy(&table.turn);
    close(table.kept[0]);
    close(table.other[0]);
}
