// test_trace_writer.c - a written file is whole or absent, and its text is JSON's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/source.h"
#include "trace/writer.h"

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/flagprof-writer-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static const char *in_folder(const char *name) {
    static char path[4][128];
    static int next;
    char *out = path[next++ % 4];
    snprintf(out, sizeof(path[0]), "%s/%s", folder, name);
    return out;
}

static int files_in_folder(void) {
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void write_old(const char *path) {
    FILE *file = fopen(path, "w");
    fputs("old", file);
    fclose(file);
}

static char *read_all(const char *path, size_t *size) {
    struct fp_source *source;
    assert_int_equal(fp_source_open(path, &source, NULL), 0);
    char *text = malloc(4u << 20);
    int64_t got = fp_source_read(source, text, (4u << 20) - 1, NULL);
    assert_true(got >= 0);
    text[got] = 0;
    *size = (size_t)got;
    fp_source_close(source);
    return text;
}

static void every_packing_reads_back_equal(void **state) {
    (void)state;
    static const char *names[] = { "a.json", "a.json.gz", "a.json.zst" };
    static const enum fp_packing packing[] = { FP_PACKING_PLAIN, FP_PACKING_GZIP, FP_PACKING_ZSTD };
    enum { SIZE = 1500001 };
    char *text = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        text[i] = (char)('a' + (i * 7 + i / 1000) % 26);
    for (int i = 0; i < 3; i++) {
        struct fp_output *output;
        assert_int_equal(fp_output_open(in_folder(names[i]), NULL, &output, NULL), 0);
        for (int at = 0; at < SIZE; at += 999)
            fp_output_write(output, text + at, SIZE - at < 999 ? SIZE - at : 999);
        assert_int_equal(fp_output_bytes(output), SIZE);
        assert_int_equal(fp_output_commit(output, NULL), 0);
        size_t size;
        char *back = read_all(in_folder(names[i]), &size);
        assert_int_equal(size, SIZE);
        assert_memory_equal(back, text, SIZE);
        free(back);
        struct fp_source *source;
        assert_int_equal(fp_source_open(in_folder(names[i]), &source, NULL), 0);
        assert_int_equal(fp_source_packing(source), packing[i]);
        fp_source_close(source);
    }
    free(text);
}

static void aborting_leaves_the_old_file_and_nothing_else(void **state) {
    (void)state;
    struct fp_output *output;
    write_old(in_folder("kept.json"));
    int before = files_in_folder();
    assert_int_equal(fp_output_open(in_folder("kept.json"), NULL, &output, NULL), 0);
    fp_output_text(output, "new");
    fp_output_abort(output);
    size_t size;
    char *text = read_all(in_folder("kept.json"), &size);
    assert_string_equal(text, "old");
    free(text);
    assert_int_equal(files_in_folder(), before);
}

static void a_limit_on_file_size_loses_nothing_and_says_so(void **state) {
    (void)state;
    struct fp_output *output;
    struct fp_error err = { "" };
    struct rlimit old, small;
    signal(SIGXFSZ, SIG_IGN);
    write_old(in_folder("full.json"));
    int before = files_in_folder();
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){ 1 << 20, old.rlim_max };
    assert_int_equal(fp_output_open(in_folder("full.json"), NULL, &output, NULL), 0);
    setrlimit(RLIMIT_FSIZE, &small);
    char line[1000];
    memset(line, 'x', sizeof(line));
    for (int i = 0; i < 2000; i++)
        fp_output_write(output, line, sizeof(line));
    int code = fp_output_commit(output, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(code, -EFBIG);
    assert_non_null(strstr(err.text, "full.json"));
    size_t size;
    char *text = read_all(in_folder("full.json"), &size);
    assert_string_equal(text, "old");
    free(text);
    assert_int_equal(files_in_folder(), before);
}

static void a_device_is_written_and_never_replaced(void **state) {
    (void)state;
    struct fp_output *output;
    struct fp_error err = { "" };
    struct stat found;
    assert_int_equal(fp_output_open("/dev/full", NULL, &output, NULL), 0);
    fp_output_text(output, "x");
    assert_int_equal(fp_output_commit(output, &err), -ENOSPC);
    assert_non_null(strstr(err.text, "/dev/full"));
    assert_int_equal(stat("/dev/full", &found), 0);
    assert_true(S_ISCHR(found.st_mode));
}

static void a_closed_pipe_is_an_error_with_a_sentence(void **state) {
    (void)state;
    struct fp_output *output;
    struct fp_error err = { "" };
    int ends[2];
    char path[64];
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
    assert_int_equal(fp_output_open(path, NULL, &output, NULL), 0);
    close(ends[0]);
    fp_output_text(output, "x");
    assert_int_equal(fp_output_commit(output, &err), -EPIPE);
    assert_non_null(strstr(err.text, "incomplete"));
    close(ends[1]);
}

static void a_link_keeps_pointing_at_the_new_file(void **state) {
    (void)state;
    struct fp_output *output;
    struct stat found;
    write_old(in_folder("target.json"));
    chmod(in_folder("target.json"), 0640);
    assert_int_equal(symlink("target.json", in_folder("link.json")), 0);
    assert_int_equal(fp_output_open(in_folder("link.json"), NULL, &output, NULL), 0);
    fp_output_text(output, "new");
    assert_int_equal(fp_output_commit(output, NULL), 0);
    assert_int_equal(lstat(in_folder("link.json"), &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    size_t size;
    char *text = read_all(in_folder("target.json"), &size);
    assert_string_equal(text, "new");
    free(text);
    assert_int_equal(stat(in_folder("target.json"), &found), 0);
    assert_int_equal(found.st_mode & 07777, 0640);
}

static void a_missing_folder_is_named(void **state) {
    (void)state;
    struct fp_output *output;
    struct fp_error err = { "" };
    assert_int_equal(fp_output_open(in_folder("no/such.json"), NULL, &output, &err), -ENOENT);
    assert_null(output);
    assert_non_null(strstr(err.text, "no/such.json"));
}

static void text_becomes_json(void **state) {
    (void)state;
    struct fp_output *output;
    static const char odd[] = "a\"b\\c\n\x01\xFF\xC3\xA9/";
    assert_int_equal(fp_output_open(in_folder("text"), NULL, &output, NULL), 0);
    fp_output_json_text(output, fp_text_of(odd));
    fp_output_microseconds(output, 1743521598000110500, false);
    fp_output_text(output, " ");
    fp_output_microseconds(output, -40001, true);
    fp_output_text(output, " ");
    fp_output_microseconds(output, -40000, true);
    fp_output_text(output, " ");
    fp_output_microseconds(output, INT64_MIN, false);
    fp_output_format(output, " %0600d", 7);
    assert_int_equal(fp_output_commit(output, NULL), 0);
    size_t size;
    char *text = read_all(in_folder("text"), &size);
    static const char expected[] =
        "\"a\\\"b\\\\c\\n\\u0001\xEF\xBF\xBD\xC3\xA9/\"1743521598000110.500 -40.001 -40 "
        "-9223372036854775.808 000";
    assert_memory_equal(text, expected, sizeof(expected) - 1);
    assert_int_equal(size, sizeof(expected) - 1 + 597);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_packing_reads_back_equal),
        cmocka_unit_test(aborting_leaves_the_old_file_and_nothing_else),
        cmocka_unit_test(a_limit_on_file_size_loses_nothing_and_says_so),
        cmocka_unit_test(a_device_is_written_and_never_replaced),
        cmocka_unit_test(a_closed_pipe_is_an_error_with_a_sentence),
        cmocka_unit_test(a_link_keeps_pointing_at_the_new_file),
        cmocka_unit_test(a_missing_folder_is_named),
        cmocka_unit_test(text_becomes_json),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
