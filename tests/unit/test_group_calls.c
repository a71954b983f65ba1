/* SPDX-License-Identifier: MIT */
/* The calls of each strategy for a group, in order and with flags: the table of docs and help. */
#include "script.h"
#include "unit.h"

/* "s" send, "S" with MSG_MORE, "v" sendmsg, "V" with MSG_MORE, "f" sendfile, "+" cork on, "-" off; a number
 * repeats. */
static char *spell_calls(const struct script *script)
{
    static char text[1024];
    char *at = text;

    for (size_t i = 0, run; i < script->count; i += run) {
        const struct scripted_call *call = &script->calls[i];
        bool more = call->flags & MSG_MORE;

        for (run = 1;
             i + run < script->count && script->calls[i + run].kind == call->kind &&
             script->calls[i + run].flags == call->flags && script->calls[i + run].value == call->value;
             run++)
            ;
        assert_true((size_t)(at - text) < sizeof text - 32);
        if (run > 1)
            at += sprintf(at, "%zu", run);
        *at++ = call->kind == CALL_SETSOCKOPT ? (call->value ? '+' : '-')
                : call->kind == CALL_SENDTO   ? (more ? 'S' : 's')
                : call->kind == CALL_SENDFILE ? 'f'
                                              : (more ? 'V' : 'v');
        *at = '\0';
    }
    return text;
}

static const struct {
    const char *write, *message, *calls;
} table[] = {
    {"nagle", "15x2", "15s"},
    {"nodelay", "15x2", "15s"},
    {"cork", "15x2", "+15s-"},
    {"more", "15x2", "14Ss"},
    {"writev", "15x2", "v"},
    {"zerocopy", "15x2", "v"},
    {"coalesce", "15x2", "s"},
    {"sendfile", "15x2", "+S14f-"},
    {"sendfile", "4K", "f"},
    {"sendfile", "16+4K", "Sf"},

    {"nagle", "32/2x4K/2x4K", "5s"},
    {"nodelay", "32/2x4K/2x4K", "5s"},
    {"cork", "32/2x4K/2x4K", "+s-+2s-+2s-"},
    {"more", "32/2x4K/2x4K", "sSsSs"},
    {"writev", "32/2x4K/2x4K", "3v"},
    {"coalesce", "32/2x4K/2x4K", "3s"},
    {"sendfile", "32/2x4K/2x4K", "fSfSf"},

    /* groups up to the size of the parameter, and above */
    {"cork:64K", "16x4K/17x4K/1", "+16s-17s+s-"},
    {"cork:30", "15x2/2x2", "+15s-+2s-"},
    {"cork:29", "15x2/2x2", "15s+2s-"},
    {"coalesce:16K", "4x4K/5x4K/2x2", "svs"},
    {"coalesce:30", "15x2", "s"},
    {"coalesce:29", "15x2", "v"},

    /* more than IOV_MAX fragments */
    {"writev", "1024x1", "v"},
    {"writev", "1025x1", "Vv"},
    {"writev", "3000x1/2x1", "2V2v"},
    {"zerocopy", "3000x1/2x1", "2V2v"},
    {"coalesce:1K", "3000x1", "2Vv"},
    {"coalesce", "3000x1", "s"},
};

/* strace and the record count the same calls as the script. */
TEST(every_strategy_calls_for_a_group_what_its_name_says_and_every_call_is_counted)
{
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct script *script = script_open(table[i].write, table[i].message, 0, 0);

        connection_append(&script->connection, 1);
        assert_int_equal(script_push(script), 0);
        if (strcmp(spell_calls(script), table[i].calls) != 0)
            fail_msg("%s calls %s for %s, not %s", table[i].write, spell_calls(script), table[i].message,
                     table[i].calls);
        assert_int_equal(calls_count_path(&script->connection.calls.counts, CALL_WRITES), script->count);
        assert_int_equal(script->connection.calls.counts.would_block, 0);
        script_close(script);
    }
}

/* Call number 16 of 15x2 takes the cork off. */
TEST(a_group_whose_uncorking_would_block_is_accepted_and_not_flushed)
{
    struct script *script = script_open("cork", "15x2/3x2", 16, -EAGAIN);
    const struct send_queue *queue = &script->connection.queue;

    connection_append(&script->connection, 1);
    assert_int_equal(script_push(script), -EAGAIN);
    assert_string_equal(spell_calls(script), "+15s");
    assert_int_equal(queue->accepted_fragments, 15);
    assert_int_equal(queue->released, queue->accepted);
    assert_int_equal(queue->flushed, 0);
    assert_int_equal(script->transmitted, 0);
    assert_int_equal(script_push(script), 0);
    assert_string_equal(spell_calls(script), "+15s-+3s-");
    assert_int_equal(queue->flushed_messages, 1);
    script_close(script);
}
