// test_trace_reader.c - every kind of file that breaks tools is read rightly, or refused in one sentence.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <isa-l/igzip_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "trace/reader.h"
#include "trace/scan.h"

#define CASES FIXTURES "/cases/"

// What a reading came to, as one line, so that two ways of reading can be compared.
struct outcome {
    int code;
    struct fp_error err;
    struct fp_reader_summary summary;
    uint64_t notes[FP_NOTE_KINDS];
    struct fp_place first[FP_NOTE_KINDS];
    uint64_t digest; // of every event's fields
    uint32_t lanes;
};

static uint64_t mix(uint64_t digest, uint64_t value) {
    return (digest ^ value) * 0x9E3779B97F4A7C15ULL + 1;
}

static uint64_t mix_text(uint64_t digest, struct fp_text text) {
    return mix(digest, text.size ? fp_text_hash(text.at, text.size) : 0);
}

static uint64_t mix_id(uint64_t digest, const struct fp_trace_id *id) {
    return mix(mix_text(digest, id->text), id->number * 8 + id->kind * 2u + id->quoted);
}

// Of what an event is asked for, whichever way it was read.
static uint64_t mix_answers(uint64_t digest, const struct fp_trace_event *event) {
    uint64_t number = 0;
    digest = mix_id(mix_id(mix_id(digest, &event->pid), &event->tid), &event->id);
    digest = mix_text(mix_text(mix_text(digest, event->name), event->name_raw), event->cat);
    digest = mix(digest, (uint64_t)(unsigned char)event->phase << 32 | (uint64_t)event->category << 24 |
                             (uint64_t)event->ts_state << 16 | (uint64_t)event->dur_state << 8 |
                             (uint64_t)event->ts_quoted << 1 | event->name_escaped);
    digest = mix(digest, fp_event_correlation(event, &number) ? number : UINT64_MAX);
    digest = mix(digest, fp_event_external_id(event, &number) ? number : UINT64_MAX);
    for (unsigned id = 0; id < FP_ARG_COUNT; id++)
        digest = mix_text(digest, fp_field_text(fp_event_arg(event, (enum fp_arg_id)id)));
    return mix(mix(digest, event->cat_id), event->number);
}

static struct outcome read_with(struct fp_source *source, struct fp_reader_options options) {
    struct outcome outcome = { 0 };
    struct fp_reader *reader;
    const struct fp_trace_event *event;
    options.size = sizeof(options);
    outcome.code = fp_reader_open_source(source, &options, &reader, &outcome.err);
    if (outcome.code)
        return outcome;
    while ((outcome.code = fp_reader_next(reader, &event, &outcome.err)) == 1) {
        uint64_t digest = mix(outcome.digest, event->byte);
        digest = mix(mix(digest, (uint64_t)event->ts_ns), (uint64_t)event->dur_ns);
        digest = mix(mix(digest, event->lane), event->name_id);
        digest = mix(mix(digest, event->id.number), event->known_args);
        digest = mix(digest, fp_text_hash(event->raw.at, event->raw.size));
        outcome.digest = mix_answers(mix(digest, event->arg_count), event);
    }
    fp_reader_summarise(reader, &outcome.summary);
    for (int kind = 0; kind < FP_NOTE_KINDS; kind++) {
        outcome.notes[kind] = fp_reader_note(reader, kind)->count;
        outcome.first[kind] = fp_reader_note(reader, kind)->places[0];
    }
    outcome.lanes = fp_reader_lane_count(reader);
    fp_reader_close(reader);
    return outcome;
}

static struct outcome read_path(const char *path, struct fp_reader_options options) {
    struct outcome outcome = { 0 };
    struct fp_source *source;
    outcome.code = fp_source_open(path, &source, &outcome.err);
    return outcome.code ? outcome : read_with(source, options);
}

static struct outcome read_text(const char *text, size_t size, struct fp_reader_options options) {
    struct outcome outcome = { 0 };
    struct fp_source *source;
    outcome.code = fp_source_open_memory("memory", text, size, &source, &outcome.err);
    return outcome.code ? outcome : read_with(source, options);
}

static const struct fp_reader_options plain = { .threads = 1 }, salvage = { .threads = 1, .salvage = true };

struct row {
    const char *file;
    int code;
    uint64_t events;
    uint64_t salvaged;
    int note;              // one that must be there; -1: none of warning or error may
    uint64_t line, column; // of the note's first place, 0: not looked at
    const char *sentence;  // part of the error's text
};

static const struct row rows[] = {
    { "01-unescaped-quote-in-name.json", -EBADMSG, 0, 1, FP_NOTE_JSON_FAULT, 2, 45,
      "double quote inside a text" },
    { "02-unescaped-backslash.json", -EBADMSG, 0, 2, FP_NOTE_JSON_FAULT, 2, 48, "looks like a Windows path" },
    { "04-control-char-0x01.json", -EBADMSG, 0, 2, FP_NOTE_JSON_FAULT, 2, 47, "byte 0x01" },
    { "05-invalid-utf8-name.json", 0, 2, 2, FP_NOTE_BAD_UTF8, 2, 73, "" },
    { "07-nan-counter.json", -EBADMSG, 0, 2, FP_NOTE_JSON_FAULT, 2, 71, "NaN" },
    { "08-handwritten-missing-quote.json", -EBADMSG, 2, 3, FP_NOTE_JSON_FAULT, 3, 36,
      "opening quote of a key" },
    { "10-array-not-closed.json", 0, 2, 2, FP_NOTE_LIST_NOT_CLOSED, 4, 1, "" },
    { "11-object-cut-at-event-boundary.json", 0, 3, 3, FP_NOTE_OBJECT_NOT_CLOSED, 4, 90, "" },
    { "12-cut-mid-event.json", 0, 5, 5, FP_NOTE_EVENT_CUT, 8, 1, "" },
    { "14-bad-escape-in-metadata-only.json", -EBADMSG, 2, 2, FP_NOTE_TRAILER_BAD, 4, 74,
      "events before it were read" },
    { "15-utf16-and-bom-bom8.json", 0, 5, 5, -1, 0, 0, "" },
    { "15-utf16-and-bom-utf16le.json", 0, 5, 5, FP_NOTE_UTF16, 0, 0, "" },
    { "17-nested-traceEvents.json", 0, 1, 1, FP_NOTE_NESTED_EVENTS, 1, 17, "" },
    { "19-only-metadata.json", 0, 2, 2, -1, 0, 0, "" },
    { "20-empty-forms-a-empty-list.json", 0, 0, 0, -1, 0, 0, "" },
    { "20-empty-forms-b-no-key.json", -ENODATA, 0, 0, -1, 0, 0, "without the key traceEvents" },
    { "20-empty-forms-c-zero-bytes.json", -ENODATA, 0, 0, -1, 0, 0, "is empty (0 bytes)" },
    { "20-empty-forms-d-number.json", -ENODATA, 0, 0, -1, 0, 0, "a bare number" },
    { "20-empty-forms-e-list-of-lists.json", -ENODATA, 0, 0, FP_NOTE_NOT_AN_OBJECT, 1, 2, "no event" },
    { "21-args-is-array.json", 0, 3, 3, FP_NOTE_ODD_ARGS, 2, 1, "" },
    { "23-metadata-after-events.json", 0, 1, 1, -1, 0, 0, "" },
    { "25-ts-as-string-epoch.json", 0, 5, 5, FP_NOTE_TIME_IS_TEXT, 2, 59, "" },
    { "34-tid-64-bit.json", 0, 4, 4, -1, 0, 0, "" },
    { "35-pid-over-32-bit.json", 0, 2, 2, -1, 0, 0, "" },
};

static void every_case_is_read_or_refused_as_it_should(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct row *row = &rows[i];
        char path[256];
        snprintf(path, sizeof(path), CASES "%s", row->file);
        struct outcome got = read_path(path, plain);
        if (got.code != row->code || got.summary.events != row->events)
            fail_msg("%s: code %d with %" PRIu64 " events, expected %d with %" PRIu64 " (%s)", row->file,
                     got.code, got.summary.events, row->code, row->events, got.err.text);
        if (!strstr(got.err.text, row->sentence))
            fail_msg("%s: '%s' lacks '%s'", row->file, got.err.text, row->sentence);
        for (int kind = 0; kind < FP_NOTE_KINDS; kind++)
            if (row->note < 0 && got.notes[kind] && fp_note_severity(kind) != FP_SEVERITY_NOTE)
                fail_msg("%s: unexpected note %s", row->file, fp_note_name(kind));
        if (row->note >= 0) {
            struct fp_place *place = &got.first[row->note];
            if (!got.notes[row->note])
                fail_msg("%s: the note %s is missing", row->file, fp_note_name(row->note));
            if (row->line && (place->line != row->line || place->column != row->column))
                fail_msg("%s: %s at line %" PRIu64 " column %" PRIu64, row->file, fp_note_name(row->note),
                         place->line, place->column);
        }
        got = read_path(path, salvage);
        if (got.summary.events != row->salvaged)
            fail_msg("%s: salvage read %" PRIu64 " events of %" PRIu64 " (%s)", row->file, got.summary.events,
                     row->salvaged, got.err.text);
    }
}

static void salvage_says_how_much_was_lost(void **state) {
    (void)state;
    struct outcome got = read_path(CASES "08-handwritten-missing-quote.json", salvage);
    assert_int_equal(got.code, 0);
    assert_int_equal(got.summary.faults, 1);
    assert_int_equal(got.summary.lost_events, 1);
    assert_int_equal(got.first[FP_NOTE_EVENTS_LOST].line, 3);
    assert_int_equal(got.first[FP_NOTE_EVENTS_LOST].event, 2);
}

static void a_counter_without_a_value_is_counted_and_the_rest_kept(void **state) {
    (void)state;
    struct outcome got = read_path(CASES "07-nan-counter.json", salvage);
    assert_int_equal(got.notes[FP_NOTE_COUNTER_NOT_FINITE], 1);
    assert_int_equal(got.summary.lost_events, 0);
}

static void what_is_said_of_a_fault_holds_no_raw_byte(void **state) {
    (void)state;
    const char text[] = "[{\"name\":\"a\x1b[31m\",\"ph\":\"X\"},\x07]";
    for (int i = 0; i < 2; i++) {
        struct outcome got = read_text(text, sizeof(text) - 1, i ? salvage : plain);
        for (const char *at = got.err.text; *at; at++)
            assert_true((unsigned char)*at >= 0x20);
        for (int kind = 0; kind < FP_NOTE_KINDS; kind++)
            for (const char *at = got.first[kind].text; *at; at++)
                assert_true((unsigned char)*at >= 0x20);
    }
}

static void threads_of_64_bits_stay_two(void **state) {
    (void)state;
    assert_int_equal(read_path(CASES "34-tid-64-bit.json", plain).lanes, 2);
    assert_int_equal(read_path(CASES "35-pid-over-32-bit.json", plain).lanes, 2);
}

static char *slurp(const char *path, size_t *size) {
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    char *text = malloc(1 << 20);
    *size = fread(text, 1, 1 << 20, in);
    fclose(in);
    return text;
}

static void the_size_of_the_blocks_changes_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (int way = 0; way < 4; way++) {
            char path[256];
            snprintf(path, sizeof(path), CASES "%s", rows[i].file);
            struct fp_reader_options small = { .threads = way & 1 ? 2 : 1,
                                               .salvage = way >= 2,
                                               .block_bytes = 64 };
            struct outcome a = read_path(path, way >= 2 ? salvage : plain), b = read_path(path, small);
            if (memcmp(&a.summary, &b.summary, sizeof(a.summary)) != 0 || a.digest != b.digest ||
                a.code != b.code || strcmp(a.err.text, b.err.text) != 0 ||
                memcmp(a.notes, b.notes, sizeof(a.notes)) != 0)
                fail_msg("%s reads differently in blocks of 64 bytes (way %d): %s / %s", rows[i].file, way,
                         a.err.text, b.err.text);
        }
}

// Every form of the values that a digest holds (digest.h), plain and not, among more names than it numbers.
static char *various_events(size_t count, size_t *size) {
    static const char *const phases[] = { "X", "X", "X", "X", "X", "X", "i", "C", "XY", "" };
    static const char *const pids[] = { "7", "\"7\"", "-3", "\"a\"", "12345678901234567890", "1.5" };
    static const char *const ids[] = { "", ", \"id\": 5", ", \"id\": \"0x5\"", ", \"id\": 0" };
    static const char *const durs[] = { ", \"dur\": 2", ", \"dur\": 0.125", "", ", \"dur\": 1e3",
                                        ", \"dur\": -1" };
    static const char *const args[] = {
        "",
        ", \"args\": {}",
        ", \"args\": {\"External id\": 0, \"correlation\": 0}",
        ", \"args\": {\"correlation\": 9, \"External id\": 18446744073709551615, \"stream\": 7}",
        ", \"args\": {\"External id\": \"12\", \"correlation\": 4, \"correlation\": \"8\"}",
        ", \"args\": {\"External id\": -1, \"External id\": 3, \"bytes\": 12}",
        ", \"args\": {\"External id\": 3, \"External id\": -1, \"correlation\": 5, \"correlation\": 6}",
        ", \"args\": {\"external id\": 5, \"correlation\": null}",
    };
    static const char *const cats[] = { ", \"cat\": \"cpu_op\"", "", ", \"cat\": \"kernel\"",
                                        ", \"cat\": 4" };
#define OF(list, i) (list)[(i) % (sizeof(list) / sizeof(*(list)))]
    char *text = malloc(count * 1000 + 100), *at = text;
    at += sprintf(at, "[");
    for (size_t i = 0; i < count; i++) {
        size_t turn = i * 2654435761u >> 7; // so that the lists' lengths do not run along with each other
        at += sprintf(at, "%s\n{\"ph\": \"%s\", \"ts\": %zu.%03zu, \"pid\": %s, \"tid\": %s%s%s%s%s",
                      i ? "," : "", OF(phases, turn), i, turn % 1000, i % 8 ? "7" : OF(pids, turn),
                      i % 9 ? "8" : OF(pids, turn), i % 3 ? "" : OF(ids, turn), OF(durs, i % 4 ? 0 : turn),
                      OF(args, turn / 2), OF(cats, i % 5 ? 0 : turn));
        if (i % 50 == 0)
            at += sprintf(at, ", \"name\": \"%0600zu\"}", i);
        else if (i % 51 == 0)
            at += sprintf(at, "}");
        else
            at += sprintf(at, ", \"name\": \"name %zu\"}", i % 3 ? i % 700 : i);
    }
    at += sprintf(at, "]");
    *size = (size_t)(at - text);
    return text;
}

static void an_event_read_ahead_gives_the_same_answers(void **state) {
    (void)state;
    size_t size;
    char *text = various_events(20000, &size);
    struct outcome one = read_text(text, size, plain);
    assert_int_equal(one.code, 0);
    assert_int_equal(one.summary.events, 20000);
    for (size_t bytes = 4096; bytes <= 64 * 1024; bytes *= 4) {
        struct outcome two =
            read_text(text, size, (struct fp_reader_options){ .threads = 2, .block_bytes = bytes });
        assert_int_equal(two.code, 0);
        assert_memory_equal(two.notes, one.notes, sizeof(one.notes));
        assert_memory_equal(&two.summary, &one.summary, sizeof(one.summary));
        if (two.digest != one.digest)
            fail_msg("in blocks of %zu bytes two threads read other values than one", bytes);
    }
    free(text);
}

static void a_file_cut_anywhere_is_read_up_to_the_cut(void **state) {
    (void)state;
    size_t size;
    char *text = slurp(CASES "12-cut-mid-event.json", &size);
    uint64_t before = 0;
    for (size_t cut = 1; cut <= size; cut++) {
        struct outcome got = read_text(text, cut, plain);
        assert_true(got.code == 0 || got.code == -ENODATA); // never taken for a fault
        assert_true(got.summary.events >= before);
        before = got.summary.events;
    }
    assert_int_equal(before, 5);
    free(text);
}

// A trace of one event whose args nest `depth` deep and whose name has `name` bytes.
static char *deep_trace(size_t depth, size_t name, size_t *size) {
    char *text = malloc(depth * 2 + name + 200), *at = text;
    at += sprintf(at, "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"");
    memset(at, 'n', name);
    at += name;
    at += sprintf(at, "\",\"args\":{\"deep\":");
    memset(at, '[', depth);
    at += depth;
    memset(at, ']', depth);
    at += depth;
    at += sprintf(at, "}}]}");
    *size = (size_t)(at - text);
    return text;
}

static void depth_and_length_of_names_have_no_limit(void **state) {
    (void)state;
    size_t size;
    char *text = deep_trace(300000, 400000, &size);
    struct fp_reader_options ways[] = { { .threads = 1 }, { .threads = 2, .block_bytes = 4096 } };
    for (int i = 0; i < 2; i++) {
        struct outcome got = read_text(text, size, ways[i]);
        assert_int_equal(got.code, 0);
        assert_int_equal(got.summary.events, 1);
    }
    free(text);
}

static void an_event_beyond_the_limit_is_refused_with_its_place(void **state) {
    (void)state;
    size_t size;
    char *text = deep_trace(10, 3000000, &size);
    struct outcome got =
        read_text(text, size, (struct fp_reader_options){ .threads = 1, .value_limit = 1 << 20 });
    assert_int_equal(got.code, -EFBIG);
    assert_non_null(strstr(got.err.text, "byte 16"));
    free(text);
}

// The text as a gzip member.
static size_t gzip(const char *text, size_t size, char *out, size_t room) {
    struct isal_zstream stream;
    isal_deflate_init(&stream);
    stream.gzip_flag = IGZIP_GZIP;
    stream.end_of_stream = 1;
    stream.next_in = (uint8_t *)text;
    stream.avail_in = (uint32_t)size;
    stream.next_out = (uint8_t *)out;
    stream.avail_out = (uint32_t)room;
    assert_int_equal(isal_deflate(&stream), COMP_OK);
    return room - stream.avail_out;
}

static void gzip_may_have_several_members_and_may_be_cut(void **state) {
    (void)state;
    size_t size;
    char *text = slurp(CASES "64-too-big-for-memory.json", &size), packed[8192];
    struct outcome whole = read_text(text, size, plain);
    size_t first = gzip(text, 300, packed, sizeof(packed));
    size_t both = first + gzip(text + 300, size - 300, packed + first, sizeof(packed) - first);
    struct outcome got = read_text(packed, both, plain);
    assert_int_equal(got.code, 0);
    assert_true(got.digest == whole.digest && got.summary.events == 5);
    assert_int_equal(got.notes[FP_NOTE_PACKING_CUT] + got.notes[FP_NOTE_PACKING_TRAILING], 0);

    got = read_text(packed, both - 20, plain);
    assert_int_equal(got.code, 0);
    assert_int_equal(got.notes[FP_NOTE_PACKING_CUT], 1);

    packed[both] = 'x';
    got = read_text(packed, both + 1, plain);
    assert_true(got.digest == whole.digest && got.notes[FP_NOTE_PACKING_TRAILING] == 1);

    packed[both - 6] ^= 0x55; // in the checksum
    got = read_text(packed, both, plain);
    assert_int_equal(got.notes[FP_NOTE_PACKING_DAMAGED], 1);
    free(text);
}

static void zstd_may_have_several_frames_and_may_be_cut(void **state) {
    (void)state;
    size_t size;
    char *text = slurp(CASES "64-too-big-for-memory.json", &size), packed[8192];
    struct outcome whole = read_text(text, size, plain);
    size_t first = ZSTD_compress(packed, sizeof(packed), text, 300, 1);
    size_t both = first + ZSTD_compress(packed + first, sizeof(packed) - first, text + 300, size - 300, 1);
    struct outcome got = read_text(packed, both, plain);
    assert_true(got.code == 0 && got.digest == whole.digest);
    got = read_text(packed, both - 20, plain);
    assert_int_equal(got.code, 0);
    assert_int_equal(got.notes[FP_NOTE_PACKING_CUT], 1);
    free(text);
}

static void what_cannot_be_opened_is_named_in_a_sentence(void **state) {
    (void)state;
    struct outcome got = read_path(FIXTURES, plain);
    assert_int_equal(got.code, -EISDIR);
    assert_non_null(strstr(got.err.text, "is a directory"));
    got = read_path(FIXTURES "/nothing.json", plain);
    assert_int_equal(got.code, -ENOENT);
    assert_non_null(strstr(got.err.text, "nothing.json"));
}

static void wide_registers_and_plain_words_find_the_same(void **state) {
    (void)state;
    enum { SIZE = 64 * 64 };
    static char text[SIZE + 64];
    static uint32_t index[2][SIZE + 8], special[2][SIZE];
    static const char alphabet[] = "{}[]:,\"\\\"\\ \n\t\rab01-.\x01\x0c\x1a\x7f\xc3\xa9\xe2\x82\xac\xff\x80";
    uint64_t seed = 12345;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < SIZE; i++) {
            seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
            text[i] = alphabet[(seed >> 33) % (sizeof(alphabet) - 1)];
        }
        struct fp_scan scan[2] = { 0 };
        struct fp_scan_result result[2] = { { .index = index[0], .special = special[0] },
                                            { .index = index[1], .special = special[1] } };
        fp_scan_run(&scan[0], text, 0, SIZE / 2, &result[0]);
        fp_scan_run(&scan[0], text, SIZE / 2, SIZE, &result[0]);
        fp_scan_run_portable(&scan[1], text, 0, SIZE, &result[1]);
        assert_int_equal(result[0].special_count, result[1].special_count);
        assert_memory_equal(special[0], special[1], result[0].special_count * sizeof(uint32_t));
        assert_int_equal(result[0].newlines, result[1].newlines);
        assert_int_equal(result[0].bad_utf8, result[1].bad_utf8);
        // The wide form lets two control bytes pass for operators; nothing else may differ.
        size_t j = 0;
        for (size_t i = 0; i < result[0].index_count; i++) {
            while (j < result[1].index_count && index[1][j] < index[0][i])
                j++;
            char c = text[index[0][i]];
            bool same = j < result[1].index_count && index[1][j] == index[0][i];
            assert_true(same || c == 0x0c || c == 0x1a ||
                        (index[0][i] && strchr("\x0c\x1a", text[index[0][i] - 1])));
        }
    }
}

// Every control byte, at a place where a blank might stand, in files whose first events are sound.
static void only_jsons_blanks_are_blanks(void **state) {
    (void)state;
    const char event[] = "{\"ph\":\"X\",\"ts\":1,\"dur\":2}";
    for (int byte = 0; byte < 0x20; byte++) {
        char text[512];
        int size = snprintf(text, sizeof(text), "[%s,%s,%s,@%s]", event, event, event, event);
        *strchr(text, '@') = (char)byte;
        bool blank = byte == '\t' || byte == '\n' || byte == '\r';
        for (size_t block = 64; block <= 4096; block *= 8) {
            struct outcome got = read_text(text, (size_t)size,
                                           (struct fp_reader_options){ .threads = 1, .block_bytes = block });
            if (got.code != (blank ? 0 : -EBADMSG) || got.summary.events != (blank ? 4 : 3))
                fail_msg("byte 0x%02x in blocks of %zu: code %d, %" PRIu64 " events", byte, block, got.code,
                         got.summary.events);
        }
    }
}

// Beside the list too, and where the next block begins before anything else was read.
static void a_bare_control_byte_in_a_header_is_a_fault_in_blocks_of_every_size(void **state) {
    (void)state;
    for (int width = 1; width < 200; width += 7) {
        char text[512];
        int size = snprintf(text, sizeof(text),
                            "{\"a\":\"x\x01y\",\"%0*d\":1,\"traceEvents\":[{\"ph\":\"X\"}]}", width, 7);
        for (size_t block = 64; block <= 4096; block *= 2) {
            struct outcome got = read_text(text, (size_t)size,
                                           (struct fp_reader_options){ .threads = 1, .block_bytes = block });
            if (got.code != -EBADMSG)
                fail_msg("a key of %d bytes in blocks of %zu: code %d", width, block, got.code);
        }
    }
}

// What is learnt from an event whose first time was overruled must not hide the time of those that have one. Events
// before it fill the first block, from which nothing is learnt.
static void a_key_that_stands_twice_hides_it_in_no_later_event(void **state) {
    (void)state;
    enum { BEFORE = 40, FIRST = 10, END = 60 };
    char text[4096];
    int size = snprintf(text, sizeof(text), "[");
    for (int i = 0; i < BEFORE; i++)
        size += snprintf(text + size, sizeof(text) - (size_t)size, "{\"ph\":\"M\"},");
    size += snprintf(text + size, sizeof(text) - (size_t)size,
                     "{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"ts\":%d,\"dur\":%d}", FIRST, FIRST + 10);
    for (int i = FIRST + 1; i < END; i++)
        size += snprintf(text + size, sizeof(text) - (size_t)size, ",{\"ph\":\"X\",\"ts\":%d,\"dur\":%d}", i,
                         i + 10);
    size += snprintf(text + size, sizeof(text) - (size_t)size, "]");
    for (size_t block = 64; block <= 8192; block *= 2) {
        struct fp_reader_options options = { .size = sizeof(options), .threads = 1, .block_bytes = block };
        struct fp_source *source;
        struct fp_reader *reader;
        const struct fp_trace_event *event;
        int64_t us = FIRST - BEFORE;
        assert_int_equal(fp_source_open_memory("memory", text, (size_t)size, &source, NULL), 0);
        assert_int_equal(fp_reader_open_source(source, &options, &reader, NULL), 0);
        for (; fp_reader_next(reader, &event, NULL) == 1; us++)
            if (us >= FIRST && (event->ts_ns != us * 1000 || event->dur_ns != (us + 10) * 1000))
                fail_msg("blocks of %zu: at %" PRId64 " us for %" PRId64 " us", block, event->ts_ns / 1000,
                         event->dur_ns / 1000);
        assert_int_equal(us, END);
        fp_reader_close(reader);
    }
}

static void keys_of_args_have_numbers(void **state) {
    (void)state;
    const char text[] =
        "[{\"ph\":\"X\",\"args\":{\"stream\":7,\"External id\":0,\"correlation\":0,\"est. achieved "
        "occupancy %\":12,\"stream\":8,\"x\":{\"y\":[1,{\"z\":\"}\"}]}}}]";
    struct fp_source *source;
    struct fp_reader *reader;
    const struct fp_trace_event *event;
    assert_int_equal(fp_source_open_memory("memory", text, sizeof(text) - 1, &source, NULL), 0);
    assert_int_equal(fp_reader_open_source(source, NULL, &reader, NULL), 0);
    assert_int_equal(fp_reader_next(reader, &event, NULL), 1);
    uint64_t value = 99;
    assert_true(fp_event_external_id(event, &value)); // 0 is an owner like any other
    assert_int_equal(value, 0);
    assert_false(fp_event_correlation(event, &value)); // but no correlation
    assert_true(fp_field_u64(fp_event_arg(event, FP_ARG_STREAM), &value));
    assert_int_equal(value, 8); // the last of two
    assert_non_null(fp_event_arg(event, FP_ARG_OCCUPANCY));
    assert_null(fp_event_arg(event, FP_ARG_DEVICE));
    struct fp_trace_field y, element;
    assert_true(fp_json_find(fp_field_text(fp_event_arg_named(event, "x")), "y", &y));
    struct fp_json_walk walk = fp_json_walk_begin(fp_field_text(&y));
    assert_true(fp_json_walk_next(&walk, &element));
    assert_true(element.type == '0' && element.key_size == 0);
    assert_true(fp_json_walk_next(&walk, &element));
    assert_true(fp_text_equals(fp_field_text(&element), "{\"z\":\"}\"}"));
    assert_false(fp_json_walk_next(&walk, &element));
    assert_int_equal(fp_reader_next(reader, &event, NULL), 0);
    fp_reader_close(reader);
}

static void the_header_is_kept_from_both_sides_of_the_list(void **state) {
    (void)state;
    struct fp_reader *reader;
    const struct fp_trace_event *event;
    int64_t base = 0;
    assert_int_equal(fp_reader_open(CASES "23-metadata-after-events.json", NULL, &reader, NULL), 0);
    assert_int_equal(fp_reader_next(reader, &event, NULL), 1);
    assert_int_equal(event->ts_ns, 1001); // microseconds, whatever displayTimeUnit says
    assert_int_equal(event->dur_ns, 250);
    assert_int_equal(fp_reader_next(reader, &event, NULL), 0);
    assert_true(fp_reader_base_time(reader, &base));
    assert_true(base == 1743521598000000000);
    assert_true(fp_reader_header_named(reader, "displayTimeUnit")->after_events);
    fp_reader_close(reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_read_or_refused_as_it_should),
        cmocka_unit_test(salvage_says_how_much_was_lost),
        cmocka_unit_test(a_counter_without_a_value_is_counted_and_the_rest_kept),
        cmocka_unit_test(what_is_said_of_a_fault_holds_no_raw_byte),
        cmocka_unit_test(threads_of_64_bits_stay_two),
        cmocka_unit_test(an_event_read_ahead_gives_the_same_answers),
        cmocka_unit_test(the_size_of_the_blocks_changes_nothing),
        cmocka_unit_test(a_file_cut_anywhere_is_read_up_to_the_cut),
        cmocka_unit_test(depth_and_length_of_names_have_no_limit),
        cmocka_unit_test(an_event_beyond_the_limit_is_refused_with_its_place),
        cmocka_unit_test(gzip_may_have_several_members_and_may_be_cut),
        cmocka_unit_test(zstd_may_have_several_frames_and_may_be_cut),
        cmocka_unit_test(what_cannot_be_opened_is_named_in_a_sentence),
        cmocka_unit_test(wide_registers_and_plain_words_find_the_same),
        cmocka_unit_test(only_jsons_blanks_are_blanks),
        cmocka_unit_test(a_bare_control_byte_in_a_header_is_a_fault_in_blocks_of_every_size),
        cmocka_unit_test(a_key_that_stands_twice_hides_it_in_no_later_event),
        cmocka_unit_test(keys_of_args_have_numbers),
        cmocka_unit_test(the_header_is_kept_from_both_sides_of_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
