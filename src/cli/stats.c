// stats.c - `flagprof stats FILE ...`: where does the time go?
//
// In:  traces.
// Out: facts, notes, and the tables of stats_tables.c: devices, kernels, operators, API calls, copies,
//      streams, steps, collectives, Python frames. The numbers come from analysis/stats.c.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/feed.h"
#include "cli/stats_tables.h"
#include "cli/verbs.h"

#define DEFAULT_TOP 10

static bool asked_for(const char *by, const char *section) {
    if (!by)
        return true;
    size_t size = strlen(section);
    for (const char *at = by; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, section, size) == 0 && (at[size] == ',' || !at[size]))
            return true;
    return false;
}

static bool is_whole(const struct fp_feed *feed) {
    struct fp_reader_summary summary;
    fp_reader_summarise(feed->reader, &summary);
    return feed->code == 0 && summary.faults == 0 && fp_reader_events_complete(feed->reader);
}

static void put_facts(struct fp_stats_page *context, const struct fp_feed *feed, const char *path) {
    struct fp_stats *stats = context->stats;
    struct fp_report *report = context->report;
    char text[200];
    fp_report_fact_text(report, "file", "file", strcmp(path, "-") == 0 ? "standard input" : path);
    snprintf(text, sizeof(text), "%s",
             is_whole(feed)               ? "read to its end"
             : fp_feed_nothing_lost(feed) ? "every event was read; the file is not closed"
                                          : "NOT WHOLE, see the notes below");
    fp_report_fact_text(report, "state", "state", text);
    fp_feed_producer(&context->producer, report);
    fp_report_fact_count(report, "events", "events", stats->events);
    fp_report_fact_count(report, "slices_with_duration", "slices with a duration", stats->slices);
    if (stats->any_time)
        fp_report_fact_time(report, "span_ns", "from first to last", stats->last_ns - stats->first_ns);
    if (stats->device_total_ns) {
        fp_report_fact_time(report, "device_total_ns", "device work, summed", stats->device_total_ns);
        fp_report_fact_time(report, "unowned_ns", "of it, no operator owns",
                            stats->device_total_ns - stats->owned_ns);
    }
}

static void put_stats_notes(struct fp_stats_page *context, bool part) {
    struct fp_stats *stats = context->stats;
    struct fp_report *report = context->report;
    if (context->producer.not_recorded[0])
        fp_report_note(report, "The device was not recorded: %s", context->producer.not_recorded);
    if (!stats->slices)
        fp_report_note(report, "no events with a duration");
    else if (!stats->device_total_ns && !context->producer.not_recorded[0])
        fp_report_note(report,
                       "no device work is in %s, or none that is known as such: the times are the "
                       "host's, and slices of unknown kind stand last",
                       part ? "that part" : "the file");
    if (stats->odd_durations)
        fp_report_note(report,
                       "%llu slices have no duration of 0 or more (open or broken); they count in no sum",
                       (unsigned long long)stats->odd_durations);
    if (stats->open_begins || stats->lone_ends)
        fp_report_note(report, "%llu begins have no end and %llu ends no begin; they count in no sum",
                       (unsigned long long)stats->open_begins, (unsigned long long)stats->lone_ends);
    if (stats->device_total_ns && stats->device_total_ns > stats->owned_ns)
        fp_report_note(
            report,
            "%.1f %% of the device time is outside the operator table: no operator's External id is on it",
            fp_percent(stats->device_total_ns - stats->owned_ns, stats->device_total_ns));
    if (stats->twice_ns)
        fp_report_note(
            report,
            "torch's key_averages counts %.3f us of device time twice in operators' totals (it mistakes "
            "ids of calls for operators'), and so does this table; --exact does not",
            (double)stats->twice_ns / 1e3);
    if (stats->by_call && stats->owned_ns)
        fp_report_note(
            report,
            "no work carries an External id: it was given to operators through its launch's correlation");
    for (uint32_t i = 0; i < stats->group_count; i++)
        if (fp_distribution_sketched(&stats->groups[i].times)) {
            fp_report_note(report, "medians and p95 of groups above %u slices are within %.1f %%",
                           FP_DISTRIBUTION_EXACT, FP_DISTRIBUTION_ERROR * 100);
            break;
        }
}

static int add_event(void *user, const struct fp_trace_event *event) {
    return fp_stats_add(user, event);
}

// Reads one file and writes its report. False after a sentence was printed.
static bool report_file(const struct fp_stats_options *options, const char *path,
                        struct fp_feed_output *out) {
    struct fp_feed feed = { 0 };
    struct fp_stats_page context = { .options = options };
    context.top = options->top >= 0                           ? (size_t)options->top
                  : options->shared.format == FP_FORMAT_TABLE ? DEFAULT_TOP
                                                              : 0;
    context.stats = fp_stats_new();
    if (!context.stats) {
        fp_say("stats", "%s: not enough memory", path);
        return false;
    }
    context.stats->like_torch = !options->exact;
    fp_feed_read(&feed, path, &options->shared, options->shared.salvage, add_event, context.stats);
    // A broken trailer costs nothing that stats needs but the base time.
    bool done =
        feed.code == 0 || (feed.code == -EBADMSG && feed.reader && fp_reader_events_complete(feed.reader));
    if (done) // while the reader still has the names
        fp_producer_read(feed.reader, &context.producer);
    if (!done) {
        fp_say("stats", "%s", feed.err.text);
    } else if (fp_stats_finish(context.stats, feed.reader) != 0 ||
               !(context.report = fp_report_new("flagprof-stats-1"))) {
        fp_say("stats", "%s: not enough memory for the report", path);
        done = false;
    } else {
        context.reader = feed.reader;
        put_facts(&context, &feed, path);
        // CSV has no place for it, and nothing is summed of half a file without saying so.
        if (options->shared.format == FP_FORMAT_CSV && !fp_feed_nothing_lost(&feed))
            fp_say("stats", "%s: NOT WHOLE: the figures are of what could be read", path);
        fp_feed_notes(&feed, context.report);
        fp_feed_part(&feed, "Only a part was counted", context.report);
        put_stats_notes(&context, feed.part);
        for (size_t i = 0; i < fp_stats_section_count; i++)
            if (asked_for(options->by, fp_stats_sections[i].name))
                fp_stats_sections[i].put(&context);
        if (options->shared.path_count > 1)
            fp_report_csv_file(context.report, path);
        fp_feed_output_next(out);
        if (fp_report_write(context.report, out->output, options->shared.format, options->shared.unit) ==
            -ENOMEM) {
            fp_say("stats", "%s: not enough memory for the report", path);
            out->failed = true;
            done = false;
        }
    }
    fp_report_free(context.report);
    fp_reader_close(feed.reader);
    fp_stats_free(context.stats);
    return done;
}

static bool check_by(const char *by) {
    for (const char *at = by; at && *at; at += strcspn(at, ","), at += *at == ',') {
        size_t size = strcspn(at, ",");
        bool known = false;
        for (size_t i = 0; i < fp_stats_section_count; i++)
            known |= strlen(fp_stats_sections[i].name) == size &&
                     strncmp(at, fp_stats_sections[i].name, size) == 0;
        if (!known) {
            fp_say("stats",
                   "--by has no '%.*s'; it takes device, kernel, operator, call, copy, stream, step, "
                   "collective, "
                   "python, other",
                   (int)size, at);
            return false;
        }
    }
    return true;
}

int fp_stats_main(int argc, char **argv) {
    struct fp_stats_options options = { .top = -1 };
    const struct fp_option own[] = {
        { .name = "by",
          .value = "LIST",
          .help = "Only these tables: device, kernel, operator, call, copy, stream, step, collective, "
                  "python, other.",
          .text = &options.by },
        { .name = "top",
          .value = "N",
          .help = "Rows a table; 0 shows all. Default: 10 in tables, all in CSV and JSON.",
          .number = &options.top },
        { .name = "exact",
          .help = "Operators' device totals without what torch's key_averages counts twice.",
          .flag = &options.exact },
        { 0 },
    };
    const struct fp_usage usage = {
        .verb = "stats",
        .summary = "where does the time go?",
        .synopsis = "[options] FILE ...",
        .text = "Reads traces of torch.profiler on any accelerator, and any other Chrome trace (.json, .gz, "
                ".zst, \"-\"\n"
                "for standard input), and says what took the time: on the devices, in kernels, per operator, "
                "in API\n"
                "calls, copies, streams, steps, collectives and Python frames.\n\n"
                "Busy time is a union: two kernels at once are one busy moment. An operator's self time is "
                "without the\n"
                "operators within it, as in torch's key_averages, to the nanosecond. Idle time is split by "
                "what the next\n"
                "piece of work waited for: the host (it was not launched yet) or its stream (it was).\n"
                "A median is a value that occurred; half of the slices are not longer.\n",
        .examples = "  flagprof stats trace.json.gz                         the whole picture\n"
                    "  flagprof stats trace.json --by kernel --top 30       the thirty costliest kernels\n"
                    "  flagprof stats trace.json --step 12 --by operator    operators of one step\n"
                    "  flagprof stats trace.json --exclude nccl --unit us   without communication\n"
                    "  flagprof stats rank*.json --format json -o all.json  every number, in nanoseconds\n",
        .exit_status = "0 it was read, 2 it cannot be read",
        .groups = FP_GROUP_FORMAT | FP_GROUP_OUTPUT | FP_GROUP_SELECT | FP_GROUP_READ,
        .own = own,
        .least_paths = 1,
    };
    int status = fp_options_parse(argc, argv, &usage, &options.shared);
    if (status >= 0)
        return status;
    if (!check_by(options.by))
        return FP_EXIT_CANNOT;
    struct fp_feed_output out;
    if (!fp_feed_output_begin(&out, &options.shared, "stats"))
        return FP_EXIT_CANNOT;
    bool all = true;
    for (size_t i = 0; i < options.shared.path_count; i++) {
        all &= report_file(&options, options.shared.paths[i], &out);
    }
    return fp_feed_output_end(&out) && all ? FP_EXIT_OK : FP_EXIT_CANNOT;
}
