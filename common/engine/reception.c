/* SPDX-License-Identifier: MIT */
#include "engine/reception.h"

#include "connection/workload.h"

#include <stdlib.h>
#include <unistd.h>

#define GUESTS_SPARE 32 /* that may wait, beyond one for every connection */

struct guest {
    int fd; /* -1: seated or dropped */
    size_t size;
    uint64_t number; /* in the order in which they came */
    bool here;       /* waits */
    uint8_t hello[HELLO_SIZE];
};

int reception_suits(const struct plan *plan, enum end end, struct problem *problem)
{
    if (!plan_role(plan, end)->reconnects || !plan_follows(plan, end) || plan->ends[end].threads == 1)
        return 0;
    return problem_unsupported(problem,
                               "server.threads=%llu: one thread takes all connections of workload=%s",
                               (unsigned long long)plan->ends[end].threads, plan->workload->variant.name);
}

/* Twice as many as may wait: a dismissed guest keeps its place until the engine has let go of it. */
size_t reception_capacity(const struct duty *duty)
{
    return 2 * (duty->count + GUESTS_SPARE);
}

int reception_open(struct reception *reception, struct duty *duty, bool nonblocking,
                   const struct reception_events *on, void *owner)
{
    *reception = (struct reception){.duty = duty,
                                    .on = on,
                                    .owner = owner,
                                    .nonblocking = nonblocking,
                                    .capacity = reception_capacity(duty)};
    reception->guests = calloc(reception->capacity, sizeof *reception->guests);
    reception->places = calloc(reception->capacity, sizeof *reception->places);
    if (!reception->guests || !reception->places)
        return -ENOMEM;
    while (reception->places_free < reception->capacity)
        reception_gone(reception, reception->places_free);
    return 0;
}

void reception_close(struct reception *reception)
{
    for (size_t i = 0; reception->guests && i < reception->capacity; i++)
        if (reception->guests[i].here)
            close(reception->guests[i].fd);
    free(reception->guests);
    free(reception->places);
    reception->guests = NULL;
    reception->places = NULL;
}

void reception_reject(struct reception *reception, int fd)
{
    reception->duty->dial->strangers++;
    close(fd);
}

/* What there is of the hello: 1 when it is whole, 0 when more is to come, -1 when nothing will. Reads not a
 * byte beyond it. */
static int read_hello(struct reception *reception, struct guest *guest)
{
    ssize_t size;

    reception->duty->bench->waits.made[CALL_RECVFROM]++;
    size = recv(guest->fd, guest->hello + guest->size, HELLO_SIZE - guest->size, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (size <= 0)
        return -1;
    guest->size += (size_t)size;
    return guest->size == HELLO_SIZE;
}

static void admit(struct reception *reception, const uint8_t hello[HELLO_SIZE], int fd)
{
    const struct duty *duty = reception->duty;
    int64_t number = hello_read(hello, duty->dial->token, duty->count);

    if (number < 0)
        reception_reject(reception, fd);
    else
        reception->on->seated(reception->owner, (size_t)number, fd);
}

/* It does not wait any more, and its descriptor is the caller's. */
static int dismiss(struct reception *reception, struct guest *guest, bool heard)
{
    int fd = guest->fd;

    guest->here = false;
    guest->fd = -1;
    reception->waiting--;
    reception->on->forget(reception->owner, (size_t)(guest - reception->guests), heard);
    return fd;
}

void reception_gone(struct reception *reception, size_t guest)
{
    reception->places[reception->places_free++] = guest;
}

bool reception_heard(struct reception *reception, size_t number)
{
    struct guest *guest = &reception->guests[number];
    int came, fd;

    if (!guest->here)
        return false;
    came = read_hello(reception, guest);
    if (came == 0)
        return true;
    fd = dismiss(reception, guest, true); /* before the descriptor is watched as somebody else's */
    if (came > 0)
        admit(reception, guest->hello, fd);
    else
        reception_reject(reception, fd);
    return false;
}

static struct guest *longest_here(struct reception *reception)
{
    struct guest *longest = NULL;

    for (size_t i = 0; i < reception->capacity; i++) {
        struct guest *guest = &reception->guests[i];

        if (guest->here && (!longest || guest->number < longest->number))
            longest = guest;
    }
    return longest;
}

/* Those of the run show their hello soon: whoever has been silent longest gives way. */
static void make_room(struct reception *reception)
{
    if (reception->waiting >= reception->capacity / 2)
        reception_reject(reception, dismiss(reception, longest_here(reception), false));
}

/* Its hello is on the way. */
static void let_wait(struct reception *reception, const struct guest *came)
{
    struct guest *guest;
    size_t place;

    make_room(reception);
    if (!reception->places_free) {
        reception_reject(reception, came->fd);
        return;
    }
    place = reception->places[reception->places_free - 1];
    if (reception->on->listen(reception->owner, place, came->fd) < 0) {
        reception_reject(reception, came->fd);
        return;
    }
    reception->places_free--;
    guest = &reception->guests[place];
    *guest = *came;
    guest->here = true;
    guest->number = reception->came++;
    reception->waiting++;
}

/* As many as can be expected, or until none waits. */
void reception_ready(struct reception *reception)
{
    struct duty *duty = reception->duty;

    for (size_t i = 0; i < duty->count; i++) {
        struct guest guest = {.fd = dial_accept(duty->dial, &duty->bench->waits, reception->nonblocking)};
        int came;

        if (guest.fd < 0)
            return;
        came = read_hello(reception, &guest);
        if (came > 0)
            admit(reception, guest.hello, guest.fd);
        else if (came < 0)
            reception_reject(reception, guest.fd);
        else
            let_wait(reception, &guest);
    }
}
