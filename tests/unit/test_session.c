/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "team/session.h"

static uv_loop_t loop;
static struct session session;
static int timeouts;

static void on_timed_out(void *owner)
{
    timeouts++;
}

static void on_closed(void *owner)
{
}

static void begin(bool is_client, enum session_state first)
{
    timeouts = 0;
    uv_loop_init(&loop);
    session = (struct session){.is_client = is_client, .timed_out = on_timed_out, .closed = on_closed};
    session_open(&session, &loop, first);
}

static void end(void)
{
    session_close(&session);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void find_reached(bool reached[SESSION_STATE_COUNT], enum session_state from)
{
    reached[from] = true;
    for (int pass = 0; pass < SESSION_STATE_COUNT; pass++)
        for (int at = 0; at < SESSION_STATE_COUNT; at++)
            for (int to = 0; to < SESSION_STATE_COUNT; to++)
                reached[to] |=
                    reached[at] && session_may_enter((enum session_state)at, (enum session_state)to);
}

TEST(every_state_can_be_reached_at_a_server_or_at_a_client)
{
    bool by_server[SESSION_STATE_COUNT] = {false}, by_client[SESSION_STATE_COUNT] = {false};

    find_reached(by_server, SESSION_ACCEPTED);
    find_reached(by_client, SESSION_CHECKING);
    for (int at = 0; at < SESSION_STATE_COUNT; at++)
        if (!by_server[at] && !by_client[at])
            fail_msg("state %d cannot be reached", at);
}

TEST(every_state_leads_to_closing_but_closing_leads_nowhere)
{
    for (int at = 0; at < SESSION_STATE_COUNT; at++) {
        assert_int_equal(session_may_enter((enum session_state)at, SESSION_CLOSING), at != SESSION_CLOSING);
        assert_false(session_may_enter(SESSION_CLOSING, (enum session_state)at));
    }
}

TEST(a_message_belongs_into_the_states_of_its_end)
{
    begin(false, SESSION_ACCEPTED);
    assert_true(session_accepts(&session, CONTROL_PLAN));
    assert_false(session_accepts(&session, CONTROL_SINK));
    assert_false(session_accepts(&session, CONTROL_REPORT));
    session_enter(&session, SESSION_QUEUED);
    assert_false(session_accepts(&session, CONTROL_PLAN));
    end();
    begin(true, SESSION_CHECKING);
    assert_false(session_accepts(&session, CONTROL_READY));
    session_enter(&session, SESSION_AGREEING);
    assert_true(session_accepts(&session, CONTROL_READY));
    assert_false(session_accepts(&session, CONTROL_REPORT));
    end();
}

TEST(a_ping_and_a_failure_belong_into_every_state_but_only_a_server_refuses)
{
    for (int at = 0; at < SESSION_STATE_COUNT; at++)
        for (int is_client = 0; is_client < 2; is_client++) {
            session = (struct session){.state = (enum session_state)at, .is_client = is_client};
            assert_true(session_accepts(&session, CONTROL_PING));
            assert_true(session_accepts(&session, CONTROL_FAILED));
            assert_int_equal(session_accepts(&session, CONTROL_REFUSED), is_client);
        }
}

TEST(a_time_limit_is_that_of_the_state_and_ends_with_it)
{
    struct plan plan;

    unit_parse(&plan, WORDS("duration=1s", "warmup=0s", "connections=100"));
    assert_int_equal(session_limit_ms(SESSION_RUNNING, false, &plan), 62000);
    assert_int_equal(session_limit_ms(SESSION_RUNNING, true, &plan), 0);
    assert_int_equal(session_limit_ms(SESSION_JOINING, false, &plan), 3100);
    assert_int_equal(session_limit_ms(SESSION_LISTENING, false, &plan), 30000);
    begin(true, SESSION_CHECKING);
    session.plan = &plan;
    session_enter(&session, SESSION_AGREEING);
    assert_false(uv_is_active((uv_handle_t *)&session.timer));
    session_enter(&session, SESSION_RUNNING);
    session_enter(&session, SESSION_EXPLAINING);
    assert_int_equal(uv_timer_get_due_in(&session.timer), 300);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(timeouts, 1);
    session_enter(&session, SESSION_CLOSING);
    end();
    plan_free(&plan);
}

TEST(a_run_without_a_duration_ends_a_minute_after_the_time_that_its_server_allows)
{
    struct plan endless = {.messages = UINT64_C(1) << 48}, timed = {.duration_ns = 5000000000};

    assert_int_equal(session_limit_ms(SESSION_RUNNING, false, &endless), PLAN_LIMIT_MS + 60000);
    endless.longest_ms = timed.longest_ms = 1000;
    assert_int_equal(session_limit_ms(SESSION_RUNNING, false, &endless), 61000);
    assert_int_equal(session_limit_ms(SESSION_RUNNING, false, &timed), 70000);
}
