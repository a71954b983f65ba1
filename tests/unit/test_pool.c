/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/memory.h"

static struct pool pool;

static void open_three(void)
{
    assert_int_equal(pool_open(&pool, 100, 0, 3), 0);
}

static void close_pool(void)
{
    pool_close(&pool);
}

struct unit_fixture unit_fixture = {.before = open_three, .after = close_pool};

TEST(the_next_buffer_stays_the_same_until_it_is_taken)
{
    assert_ptr_equal(pool_next(&pool), pool_buffer(&pool, 0));
    assert_ptr_equal(pool_next(&pool), pool_buffer(&pool, 0));
}

TEST(a_pool_without_spare_buffers_has_no_next_one)
{
    for (uint32_t i = 0; i < 3; i++) {
        assert_ptr_equal(pool_next(&pool), pool_buffer(&pool, i));
        pool_take(&pool);
    }
    assert_null(pool_next(&pool));
}

TEST(a_buffer_is_released_by_any_of_its_bytes)
{
    for (uint32_t i = 0; i < 3; i++)
        pool_take(&pool);
    pool_release(&pool, pool_buffer(&pool, 1) + 99, 1);
    assert_ptr_equal(pool_next(&pool), pool_buffer(&pool, 1));
}

TEST(a_buffer_has_its_number_whatever_its_size)
{
    const size_t sizes[] = {1, 2, 3, 32, 1000, 4096};

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct pool other;

        assert_int_equal(pool_open(&other, sizes[i], i % 2 * 16, 5), 0);
        for (uint32_t number = 0; number < 5; number++) {
            assert_int_equal(pool_number(&other, pool_buffer(&other, number)), number);
            assert_int_equal(pool_number(&other, pool_buffer(&other, number) + sizes[i] - 1), number);
        }
        pool_close(&other);
    }
}

static uint32_t released, released_count;

static void on_release(void *owner, uint32_t number, uint32_t count)
{
    assert_ptr_equal(owner, &released);
    released = number;
    released_count = count;
}

TEST(on_release_gets_the_released_buffers)
{
    for (uint32_t i = 0; i < 3; i++)
        pool_take(&pool);
    pool.on_release = on_release;
    pool.owner = &released;
    pool_release(&pool, pool_buffer(&pool, 2), 100);
    assert_int_equal(released, 2);
    assert_int_equal(released_count, 1);
    pool_release(&pool, pool_buffer(&pool, 0), 101);
    assert_int_equal(released, 0);
    assert_int_equal(released_count, 2);
    assert_null(pool_next(&pool));
}
