/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "connection/connection.h"

TEST(every_state_can_be_reached_from_unopened)
{
    bool reached[STATE_COUNT] = {[STATE_UNOPENED] = true};

    for (int pass = 0; pass < STATE_COUNT; pass++)
        for (int at = 0; at < STATE_COUNT; at++)
            for (int event = 0; reached[at] && event < EVENT_COUNT; event++) {
                enum state next = lifecycle_next((enum state)at, (enum event)event);

                if (next != STATE_COUNT)
                    reached[next] = true;
            }
    for (int at = 0; at < STATE_COUNT; at++)
        if (!reached[at])
            fail_msg("state %d cannot be reached", at);
}

TEST(every_event_can_happen_in_some_state)
{
    for (int event = 0; event < EVENT_COUNT; event++) {
        bool can = false;

        for (int at = 0; at < STATE_COUNT; at++)
            can |= lifecycle_next((enum state)at, (enum event)event) != STATE_COUNT;
        if (!can)
            fail_msg("event %d happens nowhere", event);
    }
}

TEST(a_connection_fails_in_every_state_and_stays_failed)
{
    for (int at = 0; at < STATE_COUNT; at++)
        assert_int_equal(lifecycle_next((enum state)at, EVENT_BROKEN), STATE_FAILED);
    for (int event = 0; event < EVENT_COUNT; event++)
        if (event != EVENT_BROKEN)
            assert_int_equal(lifecycle_next(STATE_FAILED, (enum event)event), STATE_COUNT);
}

TEST(both_half_closes_lead_to_closed_in_either_order)
{
    static const enum event orders[2][2] = {{EVENT_HALF_CLOSED, EVENT_PEER_HALF_CLOSED},
                                            {EVENT_PEER_HALF_CLOSED, EVENT_HALF_CLOSED}};

    for (int i = 0; i < 2; i++) {
        enum state at = STATE_ESTABLISHED;

        for (int j = 0; j < 2; j++)
            lifecycle_advance(&at, orders[i][j]);
        assert_int_equal(at, STATE_CLOSED);
    }
}

TEST(a_connection_goes_through_its_states_again_on_its_next_descriptor)
{
    static const enum event events[] = {EVENT_CONNECT, EVENT_CONNECTED, EVENT_OPENED,
                                        EVENT_SECURED, EVENT_DROPPED,   EVENT_RELEASED};
    enum state at = STATE_UNOPENED;

    for (size_t i = 0; i < 2 * COUNT_OF(events); i++)
        lifecycle_advance(&at, events[i % COUNT_OF(events)]);
    assert_int_equal(at, STATE_UNOPENED);
}
