// fuzz_merge.c - any bytes as the traces of two ranks: what is merged is a valid trace, aligned or not.
//
// In:  byte 0: bit 0 asks for alignment; bytes 1 and 2: the size of the first file; then both files.
// Out: nothing, or abort.

#include "analysis/merge.h"
#include "fuzz_file.h"
#include "trace/writer.h"

static const struct fp_reader_options reading = {
    .size = sizeof(reading), .salvage = true, .threads = 1, .block_bytes = 8192
};

static void write_merged(struct fp_merge *merge) {
    struct fp_emit_options emitting = { sizeof(emitting), FP_EMIT_AS_IS, false, true };
    struct fp_output *output;
    struct fp_error err;
    if (fp_output_open(fuzz_result_path(), NULL, &output, &err))
        abort();
    struct fp_emit *emit = fp_emit_new(output, &emitting);
    char *description = fp_merge_description(merge);
    if (!emit || !description || fp_merge_begin(merge, emit))
        abort();
    fp_emit_set_last(emit, "flagprof_merge", description);
    for (size_t i = 0; i < merge->count; i++) {
        struct fp_reader *reader;
        if (fp_reader_open(merge->files[i].path, &reading, &reader, &err) ||
            fp_merge_write(merge, i, reader, NULL, emit, &err))
            abort();
        fp_reader_close(reader);
    }
    if (fp_emit_end(emit, NULL) || fp_output_commit(output, &err))
        abort();
    fp_emit_free(emit);
    free(description);
    fuzz_judge_result();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct fuzz_file files[2];
    struct fp_error err;
    if (size < 3)
        return 0;
    size_t first = (size_t)bytes[1] | (size_t)bytes[2] << 8, left = size - 3;
    first = first < left ? first : left;
    fuzz_file_make(&files[0], bytes + 3, first);
    fuzz_file_make(&files[1], bytes + 3 + first, left - first);
    const char *paths[] = { files[0].path, files[1].path }, *names[] = { "rank0.json", "b.json" };
    struct fp_merge *merge = fp_merge_new(paths, names, 2);
    int code = merge ? 0 : -ENOMEM;
    for (size_t i = 0; i < 2 && !code; i++)
        code = fp_merge_scan(merge, i, &reading, NULL, &err);
    if (!code && !fp_merge_plan(merge, bytes[0] & 1, true, &err))
        write_merged(merge);
    fp_merge_free(merge);
    fuzz_file_close(&files[0]);
    fuzz_file_close(&files[1]);
    return 0;
}
