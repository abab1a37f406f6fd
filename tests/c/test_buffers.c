// test_buffers.c - the buffers that a vendor's library fills: order, spares, bounds, and many threads at
// once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tracers/buffers.h"

static void count_words(void *owner, const uint8_t *buffer, size_t valid,
                        uint64_t counts[FP_KIND_COUNT + 1]) {
    (void)owner;
    (void)buffer;
    counts[FP_KIND_KERNEL] += valid / 8;
}

// Pools whose buffers are never given back live to the end of the process, on purpose.
static struct fp_buffers *kept[4];
static size_t kept_count;

static struct fp_buffers *open_pool(uint32_t count, uint32_t spares, bool may_refuse) {
    struct fp_buffers_setup setup = {
        .buffer_bytes = 8192,
        .count = count,
        .spare_bytes = 4096,
        .spares = spares,
        .may_refuse = may_refuse,
        .count_records = count_words,
    };
    struct fp_buffers *buffers = NULL;
    assert_int_equal(fp_buffers_open(&setup, &buffers, NULL), 0);
    return buffers;
}

static void buffers_come_out_in_the_order_in_which_they_were_completed(void **state) {
    (void)state;
    struct fp_buffers *buffers = open_pool(8, 1, true);
    uint8_t *given[3];
    size_t bytes;
    for (int i = 0; i < 3; i++)
        given[i] = fp_buffers_request(buffers, &bytes);
    assert_int_equal(bytes, 8192);
    assert_int_equal((uintptr_t)given[0] % 8, 0);
    assert_true(fp_buffers_complete(buffers, given[2], 30));
    assert_true(fp_buffers_complete(buffers, given[0], 10));
    assert_true(fp_buffers_complete(buffers, given[1], 20));
    struct fp_buffer taken;
    for (int i = 0; i < 3; i++) {
        static const int order[] = { 2, 0, 1 };
        assert_true(fp_buffers_take(buffers, &taken));
        assert_ptr_equal(taken.bytes, given[order[i]]);
        assert_int_equal(taken.valid, (order[i] + 1) * 10);
        fp_buffers_recycle(buffers, &taken);
    }
    assert_false(fp_buffers_take(buffers, &taken));
    assert_true(fp_buffers_close(buffers));
}

static void an_empty_completion_is_no_work(void **state) {
    (void)state;
    struct fp_buffers *buffers = open_pool(4, 1, true);
    size_t bytes;
    assert_false(fp_buffers_complete(buffers, fp_buffers_request(buffers, &bytes), 0));
    struct fp_buffer taken;
    assert_false(fp_buffers_take(buffers, &taken));
    assert_int_equal(fp_buffers_outstanding(buffers), 0);
    assert_true(fp_buffers_close(buffers));
}

static void when_all_are_out_a_spare_is_given_and_its_records_count_as_dropped(void **state) {
    (void)state;
    struct fp_buffers *buffers = open_pool(4, 2, false);
    size_t bytes;
    uint8_t *given[5];
    for (int i = 0; i < 5; i++)
        given[i] = fp_buffers_request(buffers, &bytes);
    assert_int_equal(bytes, 4096);
    assert_false(fp_buffers_complete(buffers, given[4], 800));
    uint64_t counts[FP_KIND_COUNT + 1] = { 0 };
    assert_int_equal(fp_buffers_take_dropped(buffers, counts), 100);
    assert_int_equal(counts[FP_KIND_KERNEL], 100);
    assert_int_equal(fp_buffers_take_dropped(buffers, counts), 0);
    for (int i = 0; i < 4; i++)
        fp_buffers_complete(buffers, given[i], 0);
    assert_true(fp_buffers_close(buffers));
}

enum { MANY = 3000 };

// Until the last resort is handed out, and once more; how many were given.
static uint32_t ask_for_all(struct fp_buffers *buffers, uint8_t *given[MANY]) {
    size_t bytes = 0;
    uint32_t count = 0;
    while (count < 2 || given[count - 1] != given[count - 2]) {
        assert_true(count < MANY);
        given[count] = fp_buffers_request(buffers, &bytes);
        assert_non_null(given[count]);
        assert_true(bytes >= 4096);
        memset(given[count++], 1, 4096);
    }
    return count;
}

static void a_vendor_that_dies_of_a_refusal_is_never_refused(void **state) {
    (void)state;
    struct fp_buffers *buffers = open_pool(4, 1, false);
    static uint8_t *given[MANY];
    uint32_t count = ask_for_all(buffers, given);
    struct fp_buffers_counts counts;
    fp_buffers_count(buffers, &counts);
    assert_int_equal(counts.refused, 0);
    assert_false(fp_buffers_close(buffers)); // they are the vendor's
    uint64_t lost[FP_KIND_COUNT + 1] = { 0 };
    for (int i = 0; i < 3; i++) // the last one was handed out twice
        fp_buffers_complete(buffers, given[count - 1], 800);
    assert_int_equal(fp_buffers_take_dropped(buffers, lost), 2);
    assert_int_equal(lost[FP_KIND_COUNT], 2);
    for (uint32_t at = 0; at < count - 2; at++)
        fp_buffers_complete(buffers, given[at], 0);
    assert_int_equal(fp_buffers_outstanding(buffers), 0);
    assert_true(fp_buffers_close(buffers));
}

static void a_vendor_that_bears_it_is_refused_last(void **state) {
    (void)state;
    struct fp_buffers *buffers = open_pool(4, 1, true);
    size_t bytes = 1;
    for (int i = 0; i < 5; i++)
        assert_non_null(fp_buffers_request(buffers, &bytes));
    assert_null(fp_buffers_request(buffers, &bytes));
    assert_int_equal(bytes, 0);
    struct fp_buffers_counts counts;
    fp_buffers_count(buffers, &counts);
    assert_int_equal(counts.refused, 1);
    assert_int_equal(counts.spares_given, 1);
    kept[kept_count++] = buffers;
}

static void memory_of_others_and_second_returns_are_not_taken(void **state) {
    (void)state;
    struct fp_buffers *buffers = open_pool(4, 1, true);
    size_t bytes;
    uint64_t words[8] = { 0 };
    uint8_t *given = fp_buffers_request(buffers, &bytes);
    assert_false(fp_buffers_complete(buffers, (uint8_t *)words, sizeof(words)));
    assert_false(fp_buffers_complete(buffers, given + 8, 8)); // inside a buffer, not its beginning
    assert_false(fp_buffers_complete(buffers, NULL, 0));
    assert_true(fp_buffers_complete(buffers, given, 1 << 20)); // more than it holds
    assert_false(fp_buffers_complete(buffers, given, 8));
    struct fp_buffer taken;
    assert_true(fp_buffers_take(buffers, &taken));
    assert_int_equal(taken.valid, 8192);
    fp_buffers_recycle(buffers, &taken);
    assert_false(fp_buffers_take(buffers, &taken));
    assert_true(fp_buffers_close(buffers));
}

static size_t resident_pages(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    size_t total = 0, resident = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu %zu", &total, &resident), 2);
    fclose(file);
    return resident;
}

static void trimmed_buffers_cost_no_memory_and_can_be_asked_for_again(void **state) {
    (void)state;
    struct fp_buffers_setup setup = { .buffer_bytes = 4 << 20, .count = 8, .spare_bytes = 4096, .spares = 1 };
    struct fp_buffers *buffers = NULL;
    assert_int_equal(fp_buffers_open(&setup, &buffers, NULL), 0);
    uint8_t *given[8];
    size_t bytes;
    for (int i = 0; i < 8; i++) {
        given[i] = fp_buffers_request(buffers, &bytes);
        memset(given[i], 1, bytes);
    }
    for (int i = 0; i < 8; i++)
        fp_buffers_complete(buffers, given[i], 0);
    size_t before = resident_pages();
    fp_buffers_trim(buffers, 1);
    assert_true(resident_pages() + 6 * 1024 <= before); // 4 MB are 1,024 pages; one buffer of eight was kept
    for (int i = 0; i < 8; i++)
        assert_non_null(fp_buffers_request(buffers, &bytes));
    assert_int_equal(bytes, 4 << 20);
    kept[kept_count++] = buffers;
}

static size_t address_pages(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    size_t total = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu", &total), 1);
    fclose(file);
    return total;
}

static void spares_are_used_again_and_cost_nothing_after_the_session(void **state) {
    (void)state;
    struct fp_buffers *buffers = open_pool(4, 1, false);
    static uint8_t *given[MANY];
    size_t address = 0, resident = 0;
    for (int session = 0; session < 20; session++) {
        uint32_t count = ask_for_all(buffers, given);
        for (uint32_t at = 0; at < count; at++)
            fp_buffers_complete(buffers, given[at], 0);
        size_t full = resident_pages();
        fp_buffers_trim(buffers, 1);
        if (session == 0) {
            address = address_pages();
            resident = resident_pages();
            assert_true(resident + 900 <= full); // of 1,024 and some
        }
    }
    assert_int_equal(address_pages(), address);
    assert_in_range(resident_pages(), 0, resident + 100);
    assert_true(fp_buffers_close(buffers));
}

static void what_a_session_left_outside_is_told_when_it_comes_back(void **state) {
    (void)state;
    struct fp_buffers *buffers = open_pool(2, 1, true);
    size_t bytes;
    uint8_t *filled = fp_buffers_request(buffers, &bytes), *empty = fp_buffers_request(buffers, &bytes);
    uint8_t *spare = fp_buffers_request(buffers, &bytes);
    memset(filled, 1, 8);
    memset(spare, 1, 8);
    fp_buffers_leave(buffers);
    fp_buffers_complete(buffers, filled, 8);
    fp_buffers_complete(buffers, empty, 8); // filled in the session that followed
    fp_buffers_complete(buffers, spare, 8);
    struct fp_buffer taken;
    uint64_t lost[FP_KIND_COUNT + 1] = { 0 };
    for (int at = 0; at < 2; at++) {
        assert_true(fp_buffers_take(buffers, &taken));
        assert_int_equal(taken.left, taken.bytes == filled);
        fp_buffers_recycle(buffers, &taken);
    }
    assert_int_equal(fp_buffers_take_dropped(buffers, lost), 0);
    for (int at = 0; at < 2; at++) { // and not when it was handed out anew
        fp_buffers_complete(buffers, fp_buffers_request(buffers, &bytes), 8);
        assert_true(fp_buffers_take(buffers, &taken));
        assert_false(taken.left);
        fp_buffers_recycle(buffers, &taken);
    }
    assert_true(fp_buffers_close(buffers));
}

// ---- Many threads

enum { THREADS = 8, ROUNDS = 4000 };

struct storm {
    struct fp_buffers *buffers;
    atomic_ullong written, done;
};

static void *fill_and_return(void *owner) {
    struct storm *storm = owner;
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes;
        uint8_t *buffer = fp_buffers_request(storm->buffers, &bytes);
        uint64_t mark = (uint64_t)(uintptr_t)&mark ^ (uint64_t)round;
        memcpy(buffer, &mark, sizeof(mark));
        memcpy(buffer + 8, &mark, sizeof(mark)); // two writers of one buffer would leave them different
        if (fp_buffers_complete(storm->buffers, buffer, 16))
            atomic_fetch_add(&storm->written, 1);
    }
    atomic_fetch_add(&storm->done, 1);
    return NULL;
}

static void no_buffer_is_lost_doubled_or_shared_among_threads(void **state) {
    (void)state;
    struct storm storm = { .buffers = open_pool(6, THREADS, false) };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fill_and_return, &storm), 0);
    uint64_t taken_count = 0, torn = 0;
    struct fp_buffer taken;
    while (atomic_load(&storm.done) < THREADS || taken_count < atomic_load(&storm.written)) {
        if (!fp_buffers_take(storm.buffers, &taken))
            continue;
        torn += memcmp(taken.bytes, taken.bytes + 8, 8) != 0;
        taken_count++;
        fp_buffers_recycle(storm.buffers, &taken);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint64_t counts[FP_KIND_COUNT + 1] = { 0 };
    uint64_t dropped = fp_buffers_take_dropped(storm.buffers, counts) / 2; // two words a spare
    assert_int_equal(torn, 0);
    assert_int_equal(taken_count + dropped, (uint64_t)THREADS * ROUNDS);
    assert_true(fp_buffers_close(storm.buffers));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_come_out_in_the_order_in_which_they_were_completed),
        cmocka_unit_test(an_empty_completion_is_no_work),
        cmocka_unit_test(when_all_are_out_a_spare_is_given_and_its_records_count_as_dropped),
        cmocka_unit_test(a_vendor_that_dies_of_a_refusal_is_never_refused),
        cmocka_unit_test(a_vendor_that_bears_it_is_refused_last),
        cmocka_unit_test(memory_of_others_and_second_returns_are_not_taken),
        cmocka_unit_test(trimmed_buffers_cost_no_memory_and_can_be_asked_for_again),
        cmocka_unit_test(spares_are_used_again_and_cost_nothing_after_the_session),
        cmocka_unit_test(what_a_session_left_outside_is_told_when_it_comes_back),
        cmocka_unit_test(no_buffer_is_lost_doubled_or_shared_among_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
