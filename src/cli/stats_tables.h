// stats_tables.h - the tables that `flagprof stats` prints, one row of fp_stats_sections each.
#ifndef FP_CLI_STATS_TABLES_H
#define FP_CLI_STATS_TABLES_H

#include "analysis/producer.h"
#include "analysis/stats.h"
#include "cli/options.h"

#define TITLE_SIZE 128

struct fp_stats_options {
    struct fp_options shared;
    const char *by; // names of sections, NULL: all
    int64_t top;    // rows a table; 0: all
    bool exact;     // not as torch counts
};

struct fp_stats_page {
    const struct fp_stats_options *options;
    struct fp_stats *stats;
    struct fp_reader *reader;
    struct fp_producer producer;
    struct fp_report *report;
    size_t top;                  // rows a table
    char titles[11][TITLE_SIZE]; // of tables that do not show all: the report keeps pointers
};

struct fp_stats_section {
    const char *name; // as --by takes it
    void (*put)(struct fp_stats_page *context);
};

extern const struct fp_stats_section fp_stats_sections[];
extern const size_t fp_stats_section_count;

double fp_percent(int64_t part, int64_t whole); // 0 where there is no whole

#endif
