// fuzz_fix.c - any bytes as a trace to be fixed: what comes out is a valid trace, and fixing it again moves
// nothing.
//
// In:  byte 0: bit 0 keeps every other slice only; then the file.
// Out: nothing, or abort.

#include "analysis/fix.h"
#include "fuzz_file.h"
#include "trace/writer.h"

static const struct fp_reader_options reading = {
    .size = sizeof(reading), .salvage = true, .threads = 1, .block_bytes = 8192
};

// Fixes the file at `path`. The changes of the kinds that a second time may not find; -1 where nothing can be
// read.
static int64_t fix(const char *path, const struct fp_cut *kept) {
    struct fp_fix *fix;
    struct fp_reader *reader;
    struct fp_output *output;
    const struct fp_trace_event *event;
    struct fp_error err;
    if (fp_fix_plan(path, &reading, kept, &fix, &err))
        return -1;
    if (fp_reader_open(path, &reading, &reader, &err) ||
        fp_output_open(fuzz_result_path(), NULL, &output, &err))
        abort(); // it could be read a moment ago
    int code = fp_reader_next(reader, &event, &err);
    struct fp_reader_summary summary;
    fp_reader_summarise(reader, &summary);
    struct fp_emit_options emitting = { sizeof(emitting), FP_EMIT_COMPACT, summary.array_form, true };
    struct fp_emit *emit = fp_emit_new(output, &emitting);
    fp_emit_headers(emit, reader);
    for (; code == 1; code = fp_reader_next(reader, &event, &err))
        if (fp_fix_event(fix, event, NULL, emit))
            abort();
    if (code || fp_fix_finish(fix, reader, emit) || fp_emit_end(emit, reader))
        abort();
    fp_fix_note_text(fix, reader, emit);
    if (fp_output_commit(output, &err))
        abort();
    int64_t moved = 0;
    if (!fp_fix_changes(fix, FP_FIX_STILL_CROSSING).count)
        moved =
            (int64_t)(fp_fix_changes(fix, FP_FIX_MOVED).count + fp_fix_changes(fix, FP_FIX_OPEN_SLICE).count);
    fp_emit_free(emit);
    fp_reader_close(reader);
    fp_fix_free(fix);
    return moved;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct fp_select_options every_other = { .size = sizeof(every_other), .every = 2 };
    struct fp_select *select = NULL;
    struct fp_cut cut = { 0 };
    struct fuzz_file file;
    struct fp_error err;
    if (!size)
        return 0;
    fuzz_file_make(&file, bytes + 1, size - 1);
    bool kept = bytes[0] & 1;
    if (kept &&
        (fp_select_new(&every_other, &select, &err) || fp_cut_plan(file.path, select, &reading, &cut, &err)))
        kept = false;
    if (fix(file.path, kept ? &cut : NULL) >= 0)
        fuzz_judge_result();
    fp_select_free(select);
    fp_cut_free(&cut);
    fuzz_file_close(&file);
    return 0;
}
