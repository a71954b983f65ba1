/* SPDX-License-Identifier: MIT */
/* What a static build has in place of the C library's getaddrinfo(3), compared with the C library's
 * own. */
#include "unit.h"

#include <dlfcn.h>
#include <netdb.h>
#include <sys/socket.h>

struct resolver {
    int (*look_up)(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found);
    void (*release)(struct addrinfo *found);
};

static const struct resolver ours = {getaddrinfo, freeaddrinfo};

/* Those that this program hides. */
static struct resolver of_the_c_library(void)
{
    void *look_up = dlsym(RTLD_NEXT, "getaddrinfo"), *release = dlsym(RTLD_NEXT, "freeaddrinfo");
    struct resolver resolver;

    assert_non_null(look_up);
    assert_non_null(release);
    memcpy(&resolver.look_up, &look_up, sizeof look_up);
    memcpy(&resolver.release, &release, sizeof release);
    return resolver;
}

/* 0 and the address, or the error. */
static int ask(const struct resolver *resolver, const char *host, const char *port,
               struct sockaddr_storage *address)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *found;
    int result = resolver->look_up(host, port, &hints, &found);

    memset(address, 0, sizeof *address);
    if (result != 0)
        return result;
    assert_int_equal(found->ai_socktype, SOCK_STREAM);
    assert_int_equal(found->ai_family, found->ai_addr->sa_family);
    assert_null(found->ai_next);
    memcpy(address, found->ai_addr, found->ai_addrlen);
    resolver->release(found);
    return 0;
}

TEST(an_address_in_numbers_is_what_the_c_library_makes_of_it)
{
    static const char *const hosts[] = {
        "127.0.0.1",   "0.0.0.0",    "127.1",
        "0x7f.1",      "1",          "256.1.1.1",
        "1.2.3.4.5",   "::1",        "::",
        "2001:DB8::1", "fe80::1",    "::ffff:1.2.3.4",
        "fe80::1%1",   "fe80::1%lo", "fe80::1%",
        "1::2::3",     ":::",        "fe80::1%4294967296",
        "a name",      "g::1",       "fe80::1%no_such_link",
        "localhost",   "1.2.3.4%1",  "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd"};
    struct resolver theirs = of_the_c_library();

    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        struct sockaddr_storage address, wanted;
        int result = ask(&ours, hosts[i], "4711", &address);

        if (result != ask(&theirs, hosts[i], "4711", &wanted))
            fail_msg("%s: %d", hosts[i], result);
        assert_memory_equal(&address, &wanted, sizeof address);
    }
}

TEST(an_address_is_of_the_family_that_is_asked_for)
{
    static const int families[] = {AF_INET, AF_INET6};
    static const char *const hosts[] = {"127.0.0.1", "::1"};

    for (size_t i = 0; i < 4; i++) {
        struct addrinfo hints = {.ai_family = families[i / 2]}, *found;
        int result = getaddrinfo(hosts[i % 2], NULL, &hints, &found);

        assert_int_equal(result, i / 2 == i % 2 ? 0 : EAI_NONAME);
        if (result == 0)
            freeaddrinfo(found);
    }
}

TEST(a_port_is_a_number_of_16_bits)
{
    static const char *const refused[] = {"65536", "-1", "+1", " 1", "1 ", "http", ""};
    struct sockaddr_storage address;

    assert_int_equal(ask(&ours, "::1", "65535", &address), 0);
    assert_int_equal(ask(&ours, "::1", NULL, &address), 0);
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        assert_int_equal(ask(&ours, "::1", refused[i], &address), EAI_SERVICE);
}

TEST(a_name_gets_an_error_that_asks_for_numbers)
{
    struct addrinfo *found;

    assert_string_equal(gai_strerror(getaddrinfo("localhost", "80", NULL, &found)),
                        "a static build looks up no names, give the address in numbers");
    assert_string_equal(gai_strerror(getaddrinfo("::1", "http", NULL, &found)),
                        "a static build looks up no services, give the port in numbers");
}
