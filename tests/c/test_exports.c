// test_exports.c - what a library's file exports, read from the file; and files that are none, cut or spoiled.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracers/exports.h"

#define LIBRARY BUILD_DIR "/sim/mspti/libmspti.so"
#define FACE BUILD_DIR "/sim/ppu-face/libcupti.so.13"

static char spoiled[] = "/tmp/flagprof-exports-XXXXXX";

static int write_file(const uint8_t *bytes, size_t size) {
    FILE *file = fopen(spoiled, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size)
        return -1;
    return fclose(file);
}

static int read_spoiled(void) {
    struct fp_exports *exports = NULL;
    struct fp_error err = { "" };
    int result = fp_exports_read(&exports, spoiled, &err);
    assert_true(result == 0 || err.text[0]);
    if (result == 0) {
        fp_exports_has(exports, "msptiSubscribe");
        fp_exports_needs(exports, "lib");
    }
    fp_exports_free(result == 0 ? exports : NULL);
    return result;
}

static void functions_of_its_own_are_exported_and_those_that_it_calls_are_not(void **state) {
    struct fp_exports *exports = NULL;
    (void)state;
    assert_int_equal(fp_exports_read(&exports, LIBRARY, NULL), 0);
    assert_true(fp_exports_has(exports, "msptiActivityEnable"));
    assert_true(fp_exports_has(exports, "aclrtMemcpyAsync"));
    assert_false(fp_exports_has(exports, "flagsim_now_ns"));     // called
    assert_false(fp_exports_has(exports, "mspti_write_memory")); // hidden
    assert_false(fp_exports_has(exports, "msptiActivity"));
    assert_false(fp_exports_has(exports, ""));
    assert_true(fp_exports_needs(exports, "libflagsim.so"));
    assert_false(fp_exports_needs(exports, "libhgpti"));
    fp_exports_free(exports);
    assert_null(dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD)); // and nobody opened it
}

static void what_is_no_library_is_refused_with_the_reason(void **state) {
    struct fp_exports *exports = NULL;
    struct fp_error err = { "" };
    uint8_t other[4096] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };
    (void)state;
    assert_int_equal(fp_exports_read(&exports, "/nowhere/lib.so", &err), -ELIBACC);
    assert_non_null(strstr(err.text, "No such file"));
    assert_int_equal(fp_exports_read(&exports, "/tmp", &err), -ELIBBAD); // a folder
    assert_int_equal(write_file((const uint8_t *)"INPUT(libx.so)", 14), 0);
    assert_int_equal(fp_exports_read(&exports, spoiled, &err), -ELIBBAD);
    assert_non_null(strstr(err.text, "is no library"));
    other[16] = 3;   // a shared object
    other[18] = 243; // of RISC-V
    assert_int_equal(write_file(other, sizeof(other)), 0);
    assert_int_equal(fp_exports_read(&exports, spoiled, &err), -ELIBBAD);
    assert_non_null(strstr(err.text, "another processor"));
}

// Every length, and every byte of what says where the tables lie.
static void a_file_that_is_cut_or_spoiled_is_read_within_its_bounds(void **state) {
    enum { HEADER = 64, OFFSETS = 32, SECTION_TABLE = 40 };
    static const uint8_t values[] = { 0, 0x7f, 0xff };
    static uint8_t bytes[4 << 20];
    FILE *file = fopen(LIBRARY, "rb");
    (void)state;
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof(bytes), file), sections;
    fclose(file);
    assert_in_range(size, HEADER, sizeof(bytes) - 1);
    for (size_t length = 0; length < size; length += length < HEADER ? 1 : size / 40)
        if (write_file(bytes, length) != 0 || (read_spoiled() != 0) != (length < HEADER))
            fail_msg("cut to %zu bytes it is taken for something else", length);
    memcpy(&sections, bytes + SECTION_TABLE, sizeof(sections));
    assert_int_equal(write_file(bytes, size), 0);
    int place = open(spoiled, O_WRONLY);
    for (size_t at = OFFSETS; at < size; at = at + 1 == HEADER ? sections : at + 1) {
        for (size_t value = 0; value < sizeof(values); value++) {
            assert_int_equal(pwrite(place, &values[value], 1, (off_t)at), 1);
            read_spoiled();
        }
        assert_int_equal(pwrite(place, &bytes[at], 1, (off_t)at), 1);
    }
    close(place);
}

static void a_bare_name_is_the_loaded_library_or_one_in_the_loaders_folders(void **state) {
    char path[1024];
    (void)state;
    assert_true(fp_exports_file("some/where.so", path, sizeof(path)));
    assert_string_equal(path, "some/where.so");
    assert_false(fp_exports_file("libhgpti.so", path, sizeof(path)));
    setenv("LD_LIBRARY_PATH", "/nowhere:" BUILD_DIR "/sim/ppu", 1);
    assert_true(fp_exports_file("libhgpti.so", path, sizeof(path)));
    assert_non_null(strstr(path, "/sim/ppu/libhgpti.so"));
    unsetenv("LD_LIBRARY_PATH");
    assert_true(fp_exports_file("libc.so.6", path, sizeof(path)));
    assert_non_null(strstr(path, "/libc.so.6"));
    assert_false(fp_exports_file("libc.so", path, sizeof(path)));
}

static int begin(void **state) {
    (void)state;
    int file = mkstemp(spoiled);
    return file < 0 ? -1 : close(file);
}

static int end(void **state) {
    (void)state;
    return unlink(spoiled);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_its_own_are_exported_and_those_that_it_calls_are_not),
        cmocka_unit_test(what_is_no_library_is_refused_with_the_reason),
        cmocka_unit_test(a_file_that_is_cut_or_spoiled_is_read_within_its_bounds),
        cmocka_unit_test(a_bare_name_is_the_loaded_library_or_one_in_the_loaders_folders),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
