/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "net/address.h"

static bool contains(const char *text, const char *address)
{
    struct problem problem = {0};
    struct prefix prefix;
    struct address parsed;

    if (prefix_parse(&prefix, text, &problem) < 0 || address_parse_numeric(&parsed, address, &problem) < 0)
        fail_msg("%s", problem.text);
    return prefix_contains(&prefix, &parsed);
}

TEST(a_prefix_contains_the_addresses_with_its_first_bits)
{
    assert_true(contains("10.0.0.0/8", "10.255.0.1:80"));
    assert_false(contains("10.0.0.0/8", "11.0.0.1:80"));
    assert_true(contains("192.0.2.128/25", "192.0.2.255:1"));
    assert_false(contains("192.0.2.128/25", "192.0.2.127:1"));
    assert_true(contains("10.9.9.9/8", "10.1.1.1:1")); /* the bits after the length do not count */
    assert_true(contains("0.0.0.0/0", "203.0.113.7:1"));
    assert_true(contains("fd00::/8", "[fd12::1]:80"));
    assert_false(contains("fd00::/8", "[fe80::1]:80"));
    assert_true(contains("2001:db8::/33", "[2001:db8:7fff::1]:80"));
    assert_false(contains("2001:db8::/33", "[2001:db8:8000::1]:80"));
}

TEST(a_prefix_without_a_length_is_one_address)
{
    assert_true(contains("192.0.2.1", "192.0.2.1:80"));
    assert_false(contains("192.0.2.1", "192.0.2.0:80"));
    assert_true(contains("::1", "[::1]:80"));
    assert_false(contains("::1", "[::2]:80"));
}

TEST(a_prefix_contains_only_its_family_and_mapped_ipv4)
{
    assert_false(contains("::/0", "127.0.0.1:80"));
    assert_false(contains("0.0.0.0/0", "[::1]:80"));
    assert_true(contains("127.0.0.0/8", "[::ffff:127.0.0.1]:80"));
    assert_false(contains("::/0", "[::ffff:127.0.0.1]:80"));
    assert_false(contains("unix", "127.0.0.1:80"));
    assert_false(contains("0.0.0.0/0", "unix:/tmp/x"));
    assert_false(contains("::/0", "unix:/tmp/x"));
    assert_true(contains("unix", "unix:/tmp/x"));
}

TEST(an_invalid_prefix_is_refused)
{
    const char *const *refused =
        WORDS("", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/-1", "10.0.0.0/8 ",
              "localhost", "unix:/tmp", "10.0.0.0/8/8", "[::1]", "fe80::1%lo/64", "Unix", " ::1");

    for (; *refused; refused++) {
        struct problem problem = {0};
        struct prefix prefix;

        assert_int_equal(prefix_parse(&prefix, *refused, &problem), -1);
        assert_problem(&problem, PROBLEM_USAGE, "is not a prefix; write it like 10.0.0.0/8");
    }
}

TEST(a_numeric_parse_looks_up_no_name)
{
    struct problem problem = {0};
    struct address address;

    assert_int_equal(address_parse_numeric(&address, "localhost:80", &problem), -1);
    assert_problem(&problem, PROBLEM_FAILURE, "localhost");
}
