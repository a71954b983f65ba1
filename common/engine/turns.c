/* SPDX-License-Identifier: MIT */
#include "engine/turns.h"

#include "base/clock.h"

#define PUSHES_PER_TURN 64 /* before the others have their turn */

int turns_open(struct turns *turns, struct duty *duty, const struct turns_events *events)
{
    *turns = (struct turns){.duty = duty, .on = events};
    return agenda_open(&turns->agenda, duty->count);
}

void turns_close(struct turns *turns)
{
    agenda_close(&turns->agenda);
}

void turns_begin(struct turns *turns)
{
    turns->result = 0;
    turns->open = turns->duty->count;
    turns->busy = NULL;
    turns->last_busy = &turns->busy;
    agenda_clear(&turns->agenda);
}

void turn_leave(struct turn *turn)
{
    turn->over = true;
    turn->turns->open--;
}

void turn_stop(struct turn *turn, int result)
{
    turn->turns->result = result;
}

static void await_turn(struct turn *turn)
{
    struct turns *turns = turn->turns;

    if (turn->busy)
        return;
    turn->busy = true;
    turn->next_busy = NULL;
    *turns->last_busy = turn;
    turns->last_busy = &turn->next_busy;
}

static void await_due(struct turn *turn)
{
    uint64_t due_ns = half_next(turn->connection);

    if (turn->scheduled || due_ns == NEVER)
        return;
    turn->scheduled = true;
    agenda_put(&turn->turns->agenda, due_ns, turn);
}

/* Where memory is lent, its coming back is waited for: nothing can be appended while there is no room, and
 * the phase is not over before all of it is here. */
static void rest(struct turn *turn)
{
    struct connection *connection = turn->connection;
    bool lent = connection->queue.released != connection->queue.appended;

    turn->blocked = false;
    if (turn->turns->on->rests && turn->turns->on->rests(turn))
        return;
    if (lent && !connection_room(connection))
        return;
    if (!lent && half_over(connection))
        turn_leave(turn);
    else
        await_due(turn);
}

void turn_push(struct turn *turn)
{
    struct connection *connection = turn->connection;

    for (int i = 0; i < PUSHES_PER_TURN; i++) {
        int result;

        if (queue_is_idle(&connection->queue))
            connection->half->fill(connection);
        if (queue_is_idle(&connection->queue)) {
            rest(turn);
            return;
        }
        result = turn->turns->on->push(turn);
        if (result == -EBUSY)
            break;
        turn->blocked = result == -EAGAIN || result == -EINPROGRESS;
        if (turn->blocked)
            return;
        if (result < 0) {
            turn_stop(turn, engine_broken(connection, "send to", result));
            return;
        }
    }
    await_turn(turn);
}

void turn_step(struct turn *turn)
{
    turn_push(turn);
    turn->turns->on->stepped(turn);
}

void turn_go_on(struct turn *turn, int result)
{
    struct turns *turns = turn->turns;

    if (result < 0 && result != -EAGAIN)
        turn_stop(turn, result);
    if (turns->result == 0 && !turn->blocked && !turn->over)
        turn_push(turn);
    turns->on->stepped(turn);
}

void turn_go_on_to_end(struct turn *turn, int result)
{
    if (result < 0 && result != -EAGAIN)
        turn_stop(turn, result);
    if (result > 0 && !turn->over)
        turn_leave(turn);
    turn->turns->on->stepped(turn);
}

void turns_run_busy(struct turns *turns)
{
    struct turn *turn = turns->busy;

    turns->busy = NULL;
    turns->last_busy = &turns->busy;
    while (turn && turns->result == 0) {
        struct turn *next = turn->next_busy;

        turn->busy = false;
        if (!turn->over && !turn->blocked)
            turn_step(turn);
        turn = next;
    }
}

void turns_run_due(struct turns *turns)
{
    struct workbench *bench = turns->duty->bench;
    struct turn *turn;

    if (agenda_is_empty(&turns->agenda))
        return;
    bench->now_ns = clock_now_ns();
    while (turns->result == 0 && (turn = agenda_take(&turns->agenda, bench->now_ns))) {
        turn->scheduled = false;
        if (!turn->over && !turn->blocked && !turn->busy)
            turn_step(turn);
    }
}

uint64_t turns_next(const struct turns *turns)
{
    return agenda_is_empty(&turns->agenda) ? NEVER : agenda_next(&turns->agenda);
}
