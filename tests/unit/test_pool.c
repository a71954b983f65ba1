/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/pool.h"

static struct pool pool;

static int open_three(void **state)
{
    (void)state;
    return pool_open(&pool, 100, 0, 3);
}

static int close_pool(void **state)
{
    (void)state;
    pool_close(&pool);
    return 0;
}

TEST(a_buffer_that_is_not_taken_comes_again)
{
    assert_ptr_equal(pool_next(&pool), pool_buffer(&pool, 0));
    assert_ptr_equal(pool_next(&pool), pool_buffer(&pool, 0));
}

TEST(when_all_are_taken_none_comes)
{
    for (uint32_t i = 0; i < 3; i++) {
        assert_ptr_equal(pool_next(&pool), pool_buffer(&pool, i));
        pool_take(&pool);
    }
    assert_null(pool_next(&pool));
}

TEST(a_buffer_is_given_back_by_any_of_its_bytes)
{
    for (uint32_t i = 0; i < 3; i++)
        pool_take(&pool);
    pool_release(&pool, pool_buffer(&pool, 1) + 99, 1);
    assert_ptr_equal(pool_next(&pool), pool_buffer(&pool, 1));
}

TEST(a_buffer_has_its_number_whatever_its_size)
{
    const size_t sizes[] = {1, 2, 3, 32, 1000, 4096};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct pool other;

        assert_int_equal(pool_open(&other, sizes[i], i % 2 * 16, 5), 0);
        for (uint32_t number = 0; number < 5; number++) {
            assert_int_equal(pool_number(&other, pool_buffer(&other, number)), number);
            assert_int_equal(pool_number(&other, pool_buffer(&other, number) + sizes[i] - 1), number);
        }
        pool_close(&other);
    }
}

static uint32_t told, told_count;

static void note(void *owner, uint32_t number, uint32_t count)
{
    assert_ptr_equal(owner, &told);
    told = number;
    told_count = count;
}

TEST(who_has_the_buffers_is_told_what_comes_back)
{
    for (uint32_t i = 0; i < 3; i++)
        pool_take(&pool);
    pool.on_release = note;
    pool.owner = &told;
    pool_release(&pool, pool_buffer(&pool, 2), 100);
    assert_int_equal(told, 2);
    assert_int_equal(told_count, 1);
    pool_release(&pool, pool_buffer(&pool, 0), 101);
    assert_int_equal(told, 0);
    assert_int_equal(told_count, 2);
    assert_null(pool_next(&pool));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_buffer_that_is_not_taken_comes_again, open_three, close_pool),
        cmocka_unit_test_setup_teardown(when_all_are_taken_none_comes, open_three, close_pool),
        cmocka_unit_test_setup_teardown(a_buffer_is_given_back_by_any_of_its_bytes, open_three, close_pool),
        cmocka_unit_test(a_buffer_has_its_number_whatever_its_size),
        cmocka_unit_test_setup_teardown(who_has_the_buffers_is_told_what_comes_back, open_three, close_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
