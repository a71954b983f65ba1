/* SPDX-License-Identifier: MIT */
#include "words/word.h"

#include "unit.h"

static int target_check(const char *text, struct problem *problem)
{
    char parsed[TARGET_TEXT_MAX];
    return kind_target.parse(&word_list[WORD_target], text, (union field){.text = parsed}, problem);
}

static void refuse(const char *text, const char *says)
{
    assert_refused(target_check(text, &unit_problem), PROBLEM_USAGE, says);
}

TEST(a_target_is_for_all_ends_or_one_for_each)
{
    const char *const *good =
        WORDS("local", "gvisor", "ssh:h1", "ssh:root@h1/192.168.7.1", "ssh:h1/fe80::1", "ssh:c+ssh:s",
              "local+ssh:s+ssh:p", "vng:6.18", "vng:/boot/vmlinuz-6.18.0+debug");

    for (; *good; good++)
        assert_accepted(target_check(*good, &unit_problem));
}

TEST(an_invalid_target_is_refused_with_a_valid_one)
{
    refuse("", "write a target");
    refuse("+ssh:a", "an end has no target");
    refuse("gvisr", "the nearest is 'gvisor'");
    refuse("local:here", "local takes nothing after a colon");
    unit_each(refuse, "write ssh:HOST[/ADDRESS]", WORDS("ssh", "ssh:", "ssh:-oProxyCommand=x"));
    refuse("ssh:a+", "target=ssh:a+: an end has no target");
    refuse("ssh:a+b", "nearest");
    refuse("vng:", "write vng:IMAGE");
    refuse("gvisor+ssh:a", "write target=gvisor");
    refuse("ssh:a+gvisor", "gvisor is one system for all ends");
    refuse("ssh:a+vng:b", "vng is one system for all ends");
    refuse("local+local+local+local", "at most client+server+proxy");
}
