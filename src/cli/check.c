// check.c - `flagprof check FILE ...`: is this trace true and complete?
//
// In:  traces.
// Out: a verdict, and each rule that found something, with its count, its places and numbers. The rules
//      live in analysis/check_rules.c, what the reader noticed of the text itself in trace/note.c; here
//      both become one list.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/check.h"
#include "cli/feed.h"
#include "cli/options.h"
#include "cli/verbs.h"

#define EXPLAIN_WIDTH 100

struct check_options {
    struct fp_options shared;
    bool strict;
    const char *explain;
    const char *rule_set_name;
    enum fp_rule_set rule_set;
};

// A rule's row or a reader's note, in one form.
struct line {
    enum fp_severity severity;
    const char *name, *sentence, *detail;
    uint64_t count;
    unsigned place_count;
    const struct fp_place *places;
};

struct lines {
    struct line list[FP_NOTE_KINDS + FP_RULE_COUNT];
    size_t count;
    uint64_t by_severity[FP_SEVERITY_ERROR + 1]; // kinds of findings
};

static const char *const severity_names[] = {
    [FP_SEVERITY_NOTE] = "note", [FP_SEVERITY_WARNING] = "warning", [FP_SEVERITY_ERROR] = "error"
};

static void collect(const struct fp_feed *feed, const struct fp_check *check, struct lines *lines) {
    *lines = (struct lines){ 0 };
    for (int severity = FP_SEVERITY_ERROR; severity >= FP_SEVERITY_NOTE; severity--) {
        for (int kind = 0; kind < FP_NOTE_KINDS; kind++) {
            const struct fp_note *note = fp_reader_note(feed->reader, kind);
            if (note->count && (int)fp_note_severity(kind) == severity)
                lines->list[lines->count++] =
                    (struct line){ severity,    fp_note_name(kind), fp_note_sentence(kind),
                                   "",          note->count,        note->place_count,
                                   note->places };
        }
        for (int rule = 0; rule < FP_RULE_COUNT; rule++) {
            const struct fp_finding *finding = fp_check_finding(check, rule);
            if (finding->count && (int)fp_check_rule_severity(rule) == severity)
                lines->list[lines->count++] =
                    (struct line){ severity,        fp_check_rule_name(rule), fp_check_rule_sentence(rule),
                                   finding->detail, finding->count,           finding->place_count,
                                   finding->places };
        }
    }
    for (size_t i = 0; i < lines->count; i++)
        lines->by_severity[lines->list[i].severity]++;
}

// "line 3, column 9 (byte 120)" or "event 12", as far as it is known.
static void place_text(const struct fp_place *place, char *text, size_t room) {
    int used = 0;
    text[0] = '\0';
    if (place->line)
        used = snprintf(text, room, "line %llu, column %llu (byte %llu)", (unsigned long long)place->line,
                        (unsigned long long)place->column, (unsigned long long)place->byte);
    else if (place->event != UINT64_MAX && place->byte)
        used = snprintf(text, room, "event %llu (byte %llu)", (unsigned long long)place->event,
                        (unsigned long long)place->byte);
    else if (place->event != UINT64_MAX)
        used = snprintf(text, room, "event %llu", (unsigned long long)place->event);
    if (place->text[0] && used >= 0 && (size_t)used < room)
        snprintf(text + used, room - (size_t)used, "%s%s", used ? ": " : "", place->text);
}

static void put_sentences(struct fp_report *report, const struct lines *lines) {
    for (size_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->list[i];
        char place[256] = "", count[32] = "";
        if (line->place_count)
            place_text(&line->places[0], place, sizeof(place));
        if (line->count > 1)
            snprintf(count, sizeof(count), " x %llu", (unsigned long long)line->count);
        fp_report_note(report, "%s %s%s: %s%s%s%s%s", severity_names[line->severity], line->name, count,
                       line->sentence, line->detail[0] ? ". " : "", line->detail, place[0] ? ". First: " : "",
                       place);
    }
}

static const struct fp_column finding_columns[] = {
    { "severity", "severity", FP_CELL_TEXT }, { "rule", "rule", FP_CELL_TEXT },
    { "count", "count", FP_CELL_COUNT },      { "what", "what", FP_CELL_TEXT },
    { "detail", "detail", FP_CELL_TEXT },
};

static const struct fp_column place_columns[] = {
    { "rule", "rule", FP_CELL_TEXT },      { "line", "line", FP_CELL_COUNT },
    { "column", "column", FP_CELL_COUNT }, { "byte", "byte", FP_CELL_COUNT },
    { "event", "event", FP_CELL_COUNT },   { "text", "text", FP_CELL_TEXT },
};

static void put_known(struct fp_report *report, uint64_t value, bool known) {
    if (known)
        fp_report_count(report, value);
    else
        fp_report_none(report);
}

static void put_tables(struct fp_report *report, const struct lines *lines) {
    fp_report_table(report, "findings", "findings", finding_columns, 5, NULL);
    for (size_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->list[i];
        fp_report_text(report, fp_text_of(severity_names[line->severity]));
        fp_report_text(report, fp_text_of(line->name));
        fp_report_count(report, line->count);
        fp_report_text(report, fp_text_of(line->sentence));
        fp_report_text(report, fp_text_of(line->detail));
    }
    fp_report_table(report, "places", "first places", place_columns, 6, NULL);
    for (size_t i = 0; i < lines->count; i++)
        for (unsigned j = 0; j < lines->list[i].place_count; j++) {
            const struct fp_place *place = &lines->list[i].places[j];
            fp_report_text(report, fp_text_of(lines->list[i].name));
            put_known(report, place->line, place->line != 0);
            put_known(report, place->column, place->line != 0);
            put_known(report, place->byte, place->line || place->byte);
            put_known(report, place->event, place->event != UINT64_MAX);
            fp_report_text(report, fp_text_of(place->text));
        }
}

// What is known of the events that are not there. Only what is lost is called missing.
static const char *wholeness(const struct fp_feed *feed) {
    struct fp_reader_summary summary;
    fp_reader_summarise(feed->reader, &summary);
    if (summary.faults)
        return "NO: some could not be read (events-lost)";
    if (fp_reader_note(feed->reader, FP_NOTE_EVENT_CUT)->count)
        return "NO: the last event is cut, and what followed is unknown";
    if (!fp_feed_nothing_lost(feed))
        return "NO: the packed file ends early";
    return summary.events_complete ? "every event was read"
                                   : "every event in the file was read; its list is not closed";
}

// ": no errors", ", 2 kinds of warnings".
static int put_kinds(char *text, size_t room, int severity, uint64_t kinds) {
    const char *before = severity == FP_SEVERITY_ERROR ? ": " : ", ";
    if (!kinds)
        return snprintf(text, room, "%sno %ss", before, severity_names[severity]);
    return snprintf(text, room, "%s%llu kind%s of %ss", before, (unsigned long long)kinds,
                    kinds == 1 ? "" : "s", severity_names[severity]);
}

static void put_verdict(struct fp_report *report, const struct fp_feed *feed, const struct fp_check *check,
                        const struct lines *lines, const char *path) {
    struct fp_check_counts counts;
    char text[160];
    fp_check_count(check, &counts);
    fp_report_fact_text(report, "file", "file", strcmp(path, "-") == 0 ? "standard input" : path);
    int used = snprintf(text, sizeof(text), "%s",
                        lines->by_severity[FP_SEVERITY_ERROR]     ? "errors found"
                        : lines->by_severity[FP_SEVERITY_WARNING] ? "usable, with care"
                                                                  : "believable");
    for (int severity = FP_SEVERITY_ERROR; severity >= FP_SEVERITY_NOTE; severity--)
        used += put_kinds(text + used, sizeof(text) - (size_t)used, severity, lines->by_severity[severity]);
    fp_report_fact_text(report, "verdict", "verdict", text);
    struct fp_producer producer;
    fp_producer_read(feed->reader, &producer);
    fp_feed_producer(&producer, report);
    fp_report_fact_text(report, "whole", "whole", wholeness(feed));
    fp_report_fact_text(report, "rule_set", "rules",
                        fp_check_rule_set(check) == FP_RULE_SET_TORCH ? "torch" : "any");
    fp_report_fact_count(report, "events", "events", counts.events);
    fp_report_fact_count(report, "slices", "slices with a duration", counts.slices);
    fp_report_fact_count(report, "work", "pieces of device work", counts.work);
    fp_report_fact_count(report, "launches", "kernel launches", counts.launches);
    fp_report_fact_count(report, "flow_pairs", "arrows with both ends", counts.flow_pairs);
}

static int add_event(void *user, const struct fp_trace_event *event) {
    return fp_check_add(user, event);
}

static bool is_part(const struct fp_select_options *select) {
    return select->from || select->to || select->pid || select->device || select->step || select->include ||
           select->exclude;
}

// Reads the file strictly, with a second thread where it pays; where its grammar is broken, once more with
// salvage.
static struct fp_check *read_file(const struct check_options *options, const char *path,
                                  struct fp_feed *feed) {
    bool once = strcmp(path, "-") == 0 || options->shared.salvage;
    for (bool salvage = once;; salvage = true) {
        struct fp_check *check = fp_check_new(options->rule_set);
        if (!check) {
            fp_error_set(&feed->err, "%s: not enough memory", path);
            feed->code = -ENOMEM;
            return NULL;
        }
        if (is_part(&options->shared.select))
            fp_check_of_part(check);
        fp_feed_read(feed, path, &options->shared, salvage, add_event, check);
        if (feed->code == 0 && fp_check_finish(check, feed->reader) != 0) {
            fp_error_set(&feed->err, "%s: not enough memory to judge it", path);
            feed->code = -ENOMEM;
        }
        if (feed->code == 0)
            return check;
        fp_check_free(check);
        if (feed->code != -EBADMSG || salvage)
            return NULL;
        fp_reader_close(feed->reader);
        feed->reader = NULL;
    }
}

// One file. The exit status.
static int check_file(const struct check_options *options, const char *path, struct fp_feed_output *out) {
    struct fp_feed feed = { 0 };
    struct lines lines;
    struct fp_check *check = read_file(options, path, &feed);
    int status = FP_EXIT_CANNOT;
    struct fp_report *report = check ? fp_report_new("flagprof-check-1") : NULL;
    if (!check) {
        fp_say("check", "%s", feed.err.text);
    } else if (!report) {
        fp_say("check", "%s: not enough memory for the report", path);
    } else {
        collect(&feed, check, &lines);
        put_verdict(report, &feed, check, &lines, path);
        if (is_part(&options->shared.select))
            fp_feed_part(&feed, "Only a part was checked, and nothing asked about what is missing", report);
        if (options->shared.format == FP_FORMAT_TABLE)
            put_sentences(report, &lines);
        else
            put_tables(report, &lines);
        uint64_t bad = lines.by_severity[FP_SEVERITY_ERROR];
        if (options->strict)
            bad += lines.by_severity[FP_SEVERITY_WARNING];
        status = bad ? FP_EXIT_FOUND : FP_EXIT_OK;
        if (options->shared.path_count > 1)
            fp_report_csv_file(report, path);
        fp_feed_output_next(out);
        if (fp_report_write(report, out->output, options->shared.format, options->shared.unit) == -ENOMEM) {
            fp_say("check", "%s: not enough memory for the report", path);
            out->failed = true;
            status = FP_EXIT_CANNOT;
        }
    }
    fp_report_free(report);
    fp_check_free(check);
    fp_reader_close(feed.reader);
    return status;
}

// The explanations are one paragraph each, broken where their rows in the source are: here at the page's width.
static void print_paragraph(const char *text) {
    size_t used = 0;
    while (*(text += strspn(text, " \n"))) {
        size_t word = strcspn(text, " \n");
        if (used && used + 1 + word > EXPLAIN_WIDTH) {
            printf("\n");
            used = 0;
        }
        used += (size_t)printf("%s%.*s", used ? " " : "", (int)word, text);
        text += word;
    }
    printf("\n");
}

static int explain(const char *name) {
    for (int rule = 0; rule < FP_RULE_COUNT; rule++)
        if (strcmp(name, fp_check_rule_name(rule)) == 0) {
            printf("%s (%s)\n%s.\n\n", name, severity_names[fp_check_rule_severity(rule)],
                   fp_check_rule_sentence(rule));
            print_paragraph(fp_check_rule_explanation(rule));
            return FP_EXIT_OK;
        }
    for (int kind = 0; kind < FP_NOTE_KINDS; kind++)
        if (strcmp(name, fp_note_name(kind)) == 0) {
            printf("%s (%s)\n%s.\n\nThe reader found this in the text itself.\n", name,
                   severity_names[fp_note_severity(kind)], fp_note_sentence(kind));
            return FP_EXIT_OK;
        }
    bool list = strcmp(name, "list") == 0;
    if (!list)
        fp_say("check", "there is no rule '%s'; `flagprof check --explain list` names them", name);
    for (int rule = 0; list && rule < FP_RULE_COUNT; rule++)
        printf("%-22s %-8s %s\n", fp_check_rule_name(rule), severity_names[fp_check_rule_severity(rule)],
               fp_check_rule_sentence(rule));
    for (int kind = 0; list && kind < FP_NOTE_KINDS; kind++)
        printf("%-22s %-8s %s\n", fp_note_name(kind), severity_names[fp_note_severity(kind)],
               fp_note_sentence(kind));
    return list ? FP_EXIT_OK : FP_EXIT_CANNOT;
}

static bool read_rule_set(struct check_options *options) {
    static const char *const names[] = { "auto", "torch", "any" };
    if (!options->rule_set_name)
        return true;
    for (int i = 0; i < 3; i++)
        if (strcmp(options->rule_set_name, names[i]) == 0) {
            options->rule_set = (enum fp_rule_set)i;
            return true;
        }
    fp_say("check", "--rule-set cannot be '%s'; it is auto, torch or any", options->rule_set_name);
    return false;
}

int fp_check_main(int argc, char **argv) {
    struct check_options options = { 0 };
    const struct fp_option own[] = {
        { .name = "strict", .help = "Warnings fail the check too (exit status 1).", .flag = &options.strict },
        { .name = "explain",
          .value = "RULE",
          .help = "What a rule means, when it is harmless and what to do. \"list\" names all rules.",
          .text = &options.explain },
        { .name = "rule-set",
          .value = "torch|any",
          .help = "Rules that fit torch's files, or only those that fit any trace. Default: by the look of "
                  "the file.",
          .text = &options.rule_set_name },
        { 0 },
    };
    const struct fp_usage usage = {
        .verb = "check",
        .summary = "is this trace true and complete?",
        .synopsis = "[options] FILE ...",
        .text = "Reads a trace wholly, validates its JSON, and asks: is every launch's kernel there, every "
                "kernel's\n"
                "launch? Do the clocks agree? Does work overlap where it cannot? Is something missing at an "
                "edge, cut\n"
                "off, negative, secret? Each finding is an error (the file says what is not so), a warning "
                "(something\n"
                "is missing or odd) or a note (harmless, worth knowing).\n",
        .examples = "  flagprof check trace.json.gz                     can I believe this file?\n"
                    "  flagprof check --strict out/*.json || exit 1     in CI: warnings fail too\n"
                    "  flagprof check --explain edge-loss               what a rule means and what to do\n"
                    "  flagprof check --format json trace.json          every finding with its places\n"
                    "  flagprof check --rule-set any chrome.json        not one of torch's\n",
        .exit_status = "0 no errors (with --strict: no warnings either), 1 errors found, 2 it cannot be read",
        .groups = FP_GROUP_FORMAT | FP_GROUP_OUTPUT | FP_GROUP_SELECT | FP_GROUP_READ,
        .own = own,
        .least_paths = 0,
    };
    int status = fp_options_parse(argc, argv, &usage, &options.shared);
    if (status >= 0)
        return status;
    if (options.explain)
        return explain(options.explain);
    if (!read_rule_set(&options))
        return FP_EXIT_CANNOT;
    if (!options.shared.path_count)
        return fp_say_usage(&usage, "which file?");
    struct fp_feed_output out;
    if (!fp_feed_output_begin(&out, &options.shared, "check"))
        return FP_EXIT_CANNOT;
    int worst = FP_EXIT_OK;
    for (size_t i = 0; i < options.shared.path_count; i++) {
        int one = check_file(&options, options.shared.paths[i], &out);
        worst = one > worst ? one : worst;
    }
    return fp_feed_output_end(&out) ? worst : FP_EXIT_CANNOT;
}
