/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "transport/transport.h"

#include <sys/un.h>
#include <unistd.h>

static struct address address; /* of the last parse() */

static void parse(const char *text)
{
    assert_accepted(address_find(&address, 1, text, &unit_problem));
}

TEST(an_address_is_read_back_from_its_spelling)
{
    static const char *const spellings[][2] = {
        {"127.0.0.1:80", "127.0.0.1:80"},
        {"127.0.0.1:00080", "127.0.0.1:80"},
        {"0.0.0.0:0", "0.0.0.0:0"},
        {"[::1]:65535", "[::1]:65535"},
        {"[2001:DB8:0:0::1]:1", "[2001:db8::1]:1"},
        {"[::ffff:1.2.3.4]:5", "[::ffff:1.2.3.4]:5"},
        {"[fe80::1%1]:80", "[fe80::1%1]:80"}, /* a link-local address needs its interface */
        {"unix:/tmp/x", "unix:/tmp/x"},
        {"unix:relative:80", "unix:relative:80"},
    };

    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        char text[ADDRESS_MAX];

        parse(spellings[i][0]);
        struct address first = address;
        address_format(text, &address);
        assert_string_equal(text, spellings[i][1]);
        parse(text);
        assert_int_equal(address.size, first.size);
        assert_memory_equal(&address.storage, &first.storage, address.size);
    }
}

TEST(an_invalid_address_is_refused)
{
    static const char *const refused[] = {
        "",       "80",       ":80",      "host",       "host:",
        "host:x", "host:-1",  "host:+1",  "host:65536", "host:99999999999999999999",
        "::1:80", "[::1]",    "[::1]80",  "[]:80",      "[::1:80",
        "unix:",  "host:80 ", "host: 80", "a:b:80"};

    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(address_check(refused[i]), -EINVAL);
        assert_refused(address_find(&address, 1, refused[i], &unit_problem), PROBLEM_USAGE,
                       "write HOST:PORT, [IPV6]:PORT or unix:PATH");
    }
}

TEST(a_path_or_a_host_that_is_too_long_is_refused)
{
    char text[400];
    size_t longest = sizeof((struct sockaddr_un *)0)->sun_path - 1;

    memset(text, 'a', sizeof text);
    memcpy(text, "unix:", 5);
    text[5 + longest] = '\0';
    assert_int_equal(address_check(text), 0);
    text[5 + longest] = 'a';
    text[6 + longest] = '\0';
    assert_int_equal(address_check(text), -EINVAL);
    memset(text, 'a', 300);
    strcpy(text + 300, ":80");
    assert_int_equal(address_check(text), -EINVAL);
}

TEST(only_addresses_of_this_machine_are_local)
{
    static const struct {
        const char *text;
        bool local;
    } addresses[] = {{"127.0.0.1:1", true}, {"127.255.0.9:1", true}, {"128.0.0.1:1", false},
                     {"0.0.0.0:1", false},  {"[::1]:1", true},       {"[::]:1", false},
                     {"unix:x", true}};

    for (size_t i = 0; i < COUNT_OF(addresses); i++) {
        parse(addresses[i].text);
        assert_int_equal(address_is_local(&address), addresses[i].local);
    }
}

TEST(a_port_is_read_and_set)
{
    parse("127.0.0.1:80");
    assert_int_equal(address_port(&address), 80);
    address_set_port(&address, 65535);
    assert_int_equal(address_port(&address), 65535);
    parse("[::1]:81");
    assert_int_equal(address_port(&address), 81);
    address_set_port(&address, 0);
    assert_int_equal(address_port(&address), 0);
    parse("unix:x");
    address_set_port(&address, 7);
    assert_int_equal(address_port(&address), 0);
}

TEST(a_listener_reports_its_port_and_can_be_connected_to)
{
    struct address own;
    CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_STREAM, 0);
    CLEANUP_CLOSE int listener = unit_listen(&address, "127.0.0.1:0");

    assert_true(address_port(&address) > 0);
    assert_int_equal(address_of_socket(&own, listener), 0);
    assert_int_equal(address_port(&own), address_port(&address));
    assert_int_equal(address_connect(fd, &address, 1000, &unit_problem), 0);
}

TEST(a_taken_port_is_named)
{
    char text[ADDRESS_MAX];
    int listener = unit_listen(&address, "127.0.0.1:0");

    address_format(text, &address);
    assert_refused(address_listen(-1, &address, &unit_problem), PROBLEM_FAILURE, text);
    assert_problem(&unit_problem, PROBLEM_FAILURE, "cannot bind on");
    close(listener);
}

TEST(a_refused_connection_names_its_address)
{
    char text[ADDRESS_MAX];
    CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_STREAM, 0);

    close(unit_listen(&address, "127.0.0.1:0")); /* no socket listens on this port now */
    address_format(text, &address);
    assert_refused(address_connect(fd, &address, 1000, &unit_problem), PROBLEM_FAILURE, text);
}

TEST(a_unix_socket_is_removed_with_its_directory)
{
    char directory[] = "/tmp/unit-address-XXXXXX";

    assert_non_null(mkdtemp(directory));
    int listener = unit_listen(&address, unit_text("unix:%s/data", directory));
    assert_int_equal(access(unit_text("%s/data", directory), F_OK), 0);
    address_unlink(&address);
    assert_int_equal(access(directory, F_OK), -1);
    close(listener);
}

extern const struct transport transport_tcp, transport_mptcp, transport_unix;

/* The address to which a client connects for data, or the error. */
static const char *target(const struct transport *transport, const char *control, json_int_t port,
                          const char *path)
{
    static char text[ADDRESS_MAX];
    struct address data;

    parse(control);
    int result = transport->data_target(&data, &address, port, path);
    if (result < 0)
        return strerror(-result);
    address_format(text, &data);
    return text;
}

TEST(a_server_chooses_the_port_for_data_but_not_the_host)
{
    assert_string_equal(target(&transport_tcp, "192.0.2.1:90", 80, ""), "192.0.2.1:80");
    assert_string_equal(target(&transport_mptcp, "[2001:db8::1]:90", 80, ""), "[2001:db8::1]:80");
    assert_string_equal(target(&transport_tcp, "[fe80::1%1]:90", 80, ""), "[fe80::1%1]:80");
    assert_string_equal(target(&transport_tcp, "unix:/run/control", 80, ""), "127.0.0.1:80");
    assert_string_equal(target(&transport_tcp, "127.0.0.1:90", 65535, ""), "127.0.0.1:65535");
}

TEST(a_path_is_accepted_only_from_a_server_on_the_same_machine)
{
    assert_string_equal(target(&transport_unix, "unix:/run/control", 0, "/tmp/data"), "unix:/tmp/data");
    assert_string_equal(target(&transport_unix, "127.0.0.2:90", 0, "/tmp/data"), "unix:/tmp/data");
    assert_string_equal(target(&transport_unix, "[::1]:90", 0, "/tmp/data"), "unix:/tmp/data");
    assert_string_equal(target(&transport_unix, "192.0.2.1:90", 0, "/tmp/data"), strerror(EPERM));
    assert_string_equal(target(&transport_unix, "[2001:db8::1]:90", 0, "/tmp/data"), strerror(EPERM));
}

TEST(a_port_or_path_that_the_transport_does_not_have_is_refused)
{
    static const json_int_t ports[] = {0, -1, 65536, 1LL << 40};
    char endless[200] = "/";

    memset(endless + 1, 'a', sizeof endless - 2);
    for (size_t i = 0; i < COUNT_OF(ports); i++)
        assert_string_equal(target(&transport_tcp, "127.0.0.1:90", ports[i], ""), strerror(EINVAL));
    assert_string_equal(target(&transport_tcp, "127.0.0.1:90", 80, "/tmp/data"), strerror(EINVAL));
    assert_string_equal(target(&transport_tcp, "127.0.0.1:90", 0, "/tmp/data"), strerror(EINVAL));
    assert_string_equal(target(&transport_unix, "127.0.0.1:90", 80, "/tmp/data"), strerror(EINVAL));
    assert_string_equal(target(&transport_unix, "127.0.0.1:90", 0, ""), strerror(EINVAL));
    assert_string_equal(target(&transport_unix, "127.0.0.1:90", 0, endless), strerror(EINVAL));
}

/* ---- prefixes ---- */

/* Whether the prefix contains each of these addresses. */
static void contains(const char *text, bool expected, const char *const *addresses)
{
    struct prefix prefix;

    assert_accepted(prefix_parse(&prefix, text, &unit_problem));
    for (; *addresses; addresses++) {
        assert_accepted(address_parse_numeric(&address, *addresses, &unit_problem));
        assert_int_equal(prefix_contains(&prefix, &address), expected);
    }
}

static void divides(const char *text, const char *inside, const char *outside)
{
    contains(text, true, WORDS(inside));
    contains(text, false, WORDS(outside));
}

TEST(a_prefix_contains_the_addresses_with_its_first_bits)
{
    divides("10.0.0.0/8", "10.255.0.1:80", "11.0.0.1:80");
    divides("192.0.2.128/25", "192.0.2.255:1", "192.0.2.127:1");
    contains("10.9.9.9/8", true, WORDS("10.1.1.1:1")); /* the bits after the length do not count */
    contains("0.0.0.0/0", true, WORDS("203.0.113.7:1"));
    divides("fd00::/8", "[fd12::1]:80", "[fe80::1]:80");
    divides("2001:db8::/33", "[2001:db8:7fff::1]:80", "[2001:db8:8000::1]:80");
}

TEST(a_prefix_without_a_length_is_one_address)
{
    divides("192.0.2.1", "192.0.2.1:80", "192.0.2.0:80");
    divides("::1", "[::1]:80", "[::2]:80");
}

TEST(a_prefix_contains_only_its_family_and_mapped_ipv4)
{
    contains("::/0", false, WORDS("127.0.0.1:80", "[::ffff:127.0.0.1]:80", "unix:/tmp/x"));
    contains("0.0.0.0/0", false, WORDS("[::1]:80", "unix:/tmp/x"));
    contains("127.0.0.0/8", true, WORDS("[::ffff:127.0.0.1]:80"));
    divides("unix", "unix:/tmp/x", "127.0.0.1:80");
}

TEST(an_invalid_prefix_is_refused)
{
    const char *const *refused =
        WORDS("", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/-1", "10.0.0.0/8 ",
              "localhost", "unix:/tmp", "10.0.0.0/8/8", "[::1]", "fe80::1%lo/64", "Unix", " ::1");
    struct prefix prefix;

    for (; *refused; refused++)
        assert_refused(prefix_parse(&prefix, *refused, &unit_problem), PROBLEM_USAGE,
                       "is not a prefix; write it like 10.0.0.0/8");
}

TEST(a_numeric_parse_looks_up_no_name)
{
    assert_refused(address_parse_numeric(&address, "localhost:80", &unit_problem), PROBLEM_FAILURE,
                   "localhost");
}
