/* SPDX-License-Identifier: MIT */
#include "engine/reception.h"

#include <stdlib.h>
#include <unistd.h>

#define GUESTS_SPARE 32 /* that may wait, beyond one for every connection */

struct guest {
    uv_poll_t poll; /* first: closed as a handle */
    struct reception *reception;
    int fd; /* -1: handed over */
    size_t size;
    uint8_t hello[HELLO_SIZE];
    struct guest *next, **from;
};

static void on_guest_gone(uv_handle_t *handle)
{
    struct guest *guest = (struct guest *)handle;

    if (guest->fd >= 0)
        close(guest->fd);
    *guest->from = guest->next;
    if (guest->next)
        guest->next->from = guest->from;
    else
        guest->reception->last = guest->from;
    free(guest);
}

/* Its descriptor, if it has one, goes with it. */
static void dismiss(struct guest *guest)
{
    guest->reception->waiting--;
    uv_close((uv_handle_t *)&guest->poll, on_guest_gone);
}

void reception_see_off(struct reception *reception, int fd)
{
    reception->duty->dial->strangers++;
    close(fd);
}

/* What there is of the hello: 1 when it is whole, 0 when more is to come, -1 when nothing will. Reads not a
 * byte beyond it. */
static int read_hello(struct guest *guest)
{
    ssize_t size;

    guest->reception->duty->bench->waits.made[CALL_RECVFROM]++;
    size = recv(guest->fd, guest->hello + guest->size, HELLO_SIZE - guest->size, 0);
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
        reception_see_off(reception, fd);
    else
        reception->on->seated(reception->owner, (size_t)number, fd);
}

static void on_guest(uv_poll_t *poll, int status, int events)
{
    struct guest *guest = (struct guest *)poll;
    int fd = guest->fd, came;

    (void)status, (void)events;
    ++*guest->reception->events;
    came = read_hello(guest);
    if (came == 0)
        return;
    guest->fd = came > 0 ? -1 : fd;
    dismiss(guest); /* before the descriptor is watched as somebody else's */
    if (came > 0)
        admit(guest->reception, guest->hello, fd);
    else
        guest->reception->duty->dial->strangers++;
}

/* Those of the run show their hello soon: whoever has been silent longest gives way. */
static void make_room(struct reception *reception)
{
    struct guest *guest = reception->guests;

    if (reception->waiting < reception->duty->count + GUESTS_SPARE)
        return;
    while (uv_is_closing((uv_handle_t *)&guest->poll))
        guest = guest->next;
    reception->duty->dial->strangers++;
    dismiss(guest);
}

/* Its hello is on the way. */
static void let_wait(const struct guest *came)
{
    struct reception *reception = came->reception;
    struct guest *guest = malloc(sizeof *guest);

    make_room(reception);
    if (!guest || (*guest = *came, uv_poll_init(reception->listener.loop, &guest->poll, guest->fd) < 0)) {
        reception_see_off(reception, came->fd);
        free(guest);
        return;
    }
    guest->next = NULL;
    guest->from = reception->last;
    *reception->last = guest;
    reception->last = &guest->next;
    reception->waiting++;
    uv_poll_start(&guest->poll, UV_READABLE, on_guest);
}

/* As many as can be expected, or until none waits. */
static void on_listener(uv_poll_t *listener, int status, int events)
{
    struct reception *reception = listener->data;

    (void)status, (void)events;
    ++*reception->events;
    for (size_t i = 0; i < reception->duty->count; i++) {
        struct guest guest = {.reception = reception};
        int came;

        guest.fd = dial_accept(reception->duty->dial, &reception->duty->bench->waits);
        if (guest.fd < 0)
            return;
        came = read_hello(&guest);
        if (came > 0)
            admit(reception, guest.hello, guest.fd);
        else if (came < 0)
            reception_see_off(reception, guest.fd);
        else
            let_wait(&guest);
    }
}

int reception_open(struct reception *reception, uv_loop_t *loop, struct duty *duty, size_t *events,
                   const struct reception_events *on, void *owner)
{
    int result;

    *reception = (struct reception){.duty = duty, .events = events, .on = on, .owner = owner};
    reception->last = &reception->guests;
    result = uv_poll_init(loop, &reception->listener, duty->dial->listener);
    if (result < 0)
        return result;
    reception->listener.data = reception;
    return uv_poll_start(&reception->listener, UV_READABLE, on_listener);
}

void reception_close(struct reception *reception)
{
    if (!reception->listener.loop)
        return;
    uv_close((uv_handle_t *)&reception->listener, NULL);
    for (struct guest *guest = reception->guests; guest; guest = guest->next)
        if (!uv_is_closing((uv_handle_t *)&guest->poll))
            dismiss(guest);
}
