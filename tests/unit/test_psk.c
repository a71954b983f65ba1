/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "control/psk.h"

#include <sys/stat.h>
#include <unistd.h>

#define KEY "00112233445566778899aabbccddeeff"
#define KEY_64 KEY KEY KEY KEY

static struct psk_list list;

static int parse(const char *text)
{
    memset(&list, 0, sizeof list);
    return psk_parse(&list, text, strlen(text), "keys", empty_problem());
}

static void assert_key(const char *identity, size_t size, uint8_t first, size_t key_size)
{
    const struct psk *psk = psk_find(&list, (const uint8_t *)identity, size);

    assert_non_null(psk);
    assert_int_equal(psk->key[0], first);
    assert_int_equal(psk->key_size, key_size);
}

TEST(a_file_of_psktool_gives_the_key_of_each_identity)
{
    assert_int_equal(parse("alice:aa" KEY "\nbob:BB" KEY_64 "\n"), -1); /* bob's key has 65 bytes */
    assert_int_equal(parse("alice:aa" KEY "\n#623a2362:" KEY_64 "\nc d#e:Ff" KEY), 0);
    assert_int_equal(list.count, 3);
    assert_key("alice", 5, 0xaa, 17);
    assert_key("b:#b", 4, 0, 64);
    assert_key("c d#e", 5, 0xff, 17);
    assert_null(psk_find(&list, (const uint8_t *)"alic", 4));
    assert_null(psk_find(&list, (const uint8_t *)"", 0));
}

static void refuse_keys(const char *text, const char *says)
{
    assert_refused(parse(text), PROBLEM_USAGE, says);
    assert_null(strstr(unit_problem.text, "0011"));
}

TEST(an_error_names_its_line_and_repeats_no_byte_of_it)
{
    unit_each(refuse_keys, "keys:1: no colon", WORDS("alice\n", "# comment\n"));
    refuse_keys("a:" KEY "\n\n", "keys:2: no colon");
    unit_each(refuse_keys, "keys:1: no identity", WORDS(":" KEY "\n", "#:" KEY "\n"));
    unit_each(refuse_keys, "keys:1: after #", WORDS("#abc:" KEY "\n", "#zz:" KEY "\n"));
    unit_each(refuse_keys, "keys:1: an identity has", WORDS("a\tb:" KEY "\n", KEY_64 KEY_64 ":" KEY "\n"));
    unit_each(refuse_keys, "keys:1: a key has 32 to 128",
              WORDS("a:\n", "a:" KEY " \n", "a:" KEY "\r\n", "a:" KEY "a\n", "a:0x" KEY "\n",
                    "a:00112233445566778899aabbccddee\n", "a:" KEY_64 "aa\n", "a:" KEY ":" KEY "\n"));
    refuse_keys("a:" KEY "\nb:" KEY "\n#61:" KEY_64 "\n", "keys:3: an earlier line has the same identity");
}

TEST(a_file_has_at_most_256_identities)
{
    char *text = malloc((PSK_IDENTITIES_MAX + 1) * PSK_LINE_MAX), *end = text;

    for (int i = 0; i < PSK_IDENTITIES_MAX; i++)
        end += sprintf(end, "%d:" KEY "\n", i);
    assert_int_equal(parse(text), 0);
    strcpy(end, "one more:" KEY "\n");
    assert_refused(parse(text), PROBLEM_USAGE, "keys:257: a file has at most 256 identities");
    free(text);
}

/* ---- files ---- */

static char path[] = "/tmp/uncork-psk-XXXXXX";

static void file_write(const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), mode), 0);
    fputs(text, file);
    fclose(file);
}

static void refuse(const char *name, const char *says)
{
    assert_null(psk_read(name, empty_problem()));
    assert_problem(&unit_problem, PROBLEM_USAGE, says);
    assert_non_null(strstr(unit_problem.text, name));
}

static void file_make(void)
{
    CLEANUP_CLOSE int fd = mkstemp(path);

    assert_true(fd >= 0);
}

static void file_remove(void)
{
    unlink(path);
}

struct unit_fixture unit_fixture = {.before_all = file_make, .after_all = file_remove};

static void accept(const char *name)
{
    struct psk_list *read = psk_read(name, &unit_problem);
    assert_non_null(read);
    assert_int_equal(read->count, 1);
    psk_free(read);
}

TEST(a_file_that_others_may_read_or_change_is_refused)
{
    static const mode_t modes[] = {0644, 0602, 0640, 0660, 0604, 0620, 0610};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        file_write("a:" KEY "\n", modes[i]);
        refuse(path, unit_text("other users may use these keys, by mode %04o; chmod 600 %s", modes[i], path));
    }
    file_write("a:" KEY "\n", 0600);
    accept(path);
    file_write("a:" KEY "\n", 0400);
    accept(path);
}

TEST(a_link_counts_as_the_file_that_it_names)
{
    const char *name = unit_text("%s.link", path);

    file_write("a:" KEY "\n", 0600);
    assert_int_equal(symlink(path, name), 0);
    accept(name);
    assert_int_equal(chmod(path, 0640), 0);
    refuse(name, "by mode 0640");
    unlink(name);
}

/* As root: the effective user changes, as for a service that drops its rights. */
TEST(a_file_belongs_to_its_reader_or_to_root)
{
    if (geteuid() != 0)
        skip();
    file_write("a:" KEY "\n", 0600);
    assert_int_equal(chown(path, 65534, 0), 0);
    refuse(path,
           unit_text("user 65534 owns these keys, and this is user 0; chown 0 %s, then chmod 600", path));
    assert_int_equal(seteuid(65534), 0);
    accept(path);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chown(path, 0, getegid()), 0);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(seteuid(65534), 0);
    accept(path); /* the group of root may read it */
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(path, 0660), 0);
    assert_int_equal(seteuid(65534), 0);
    refuse(path, "by mode 0660; chmod 640");
    assert_int_equal(seteuid(0), 0);
}

TEST(a_file_without_a_key_is_refused)
{
    CLEANUP_FREE char *text = calloc(1, PSK_IDENTITIES_MAX * PSK_LINE_MAX + 2);

    file_write("", 0600);
    refuse(path, "has no key");
    memset(text, 'a', PSK_IDENTITIES_MAX * PSK_LINE_MAX + 1);
    file_write(text, 0600);
    refuse(path, "too large for a file of keys");
}

TEST(an_unreadable_file_is_named)
{
    refuse("/nonexistent/keys", "/nonexistent/keys: No such file");
    refuse("/tmp", "/tmp: ");
}

TEST(a_key_is_read_from_an_inherited_descriptor)
{
    char line[PSK_LINE_MAX];
    struct psk_list *generated = psk_generate(line, &unit_problem);
    size_t size = strlen(line);
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], line, size), size);
    close(ends[1]);
    struct psk_list *read = psk_read(unit_text("/dev/fd/%d", ends[0]), &unit_problem);
    assert_non_null(read);
    assert_memory_equal(read, generated, sizeof *read);
    close(ends[0]);
    psk_free(read);
    psk_free(generated);
}

TEST(two_generated_keys_differ)
{
    char line[PSK_LINE_MAX];
    struct psk_list *one = psk_generate(line, &unit_problem), *another = psk_generate(line, &unit_problem);

    assert_int_equal(one->entries[0].key_size, 32);
    assert_memory_not_equal(one->entries[0].key, another->entries[0].key, 32);
    psk_free(one);
    psk_free(another);
}
