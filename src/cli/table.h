// table.h - what a verb found, printed as tables for a person, as CSV or as JSON.
//
// In:  facts, sentences and rows of typed cells.
// Out: one text in the asked format. Tables are as wide as COLUMNS or the terminal says, else 100 columns:
//      the longest text gives way, in its middle. A time carries its unit, or its column's title does where
//      a unit was asked for; CSV and JSON hold whole nanoseconds, under keys that end in _ns, and CSV has
//      one line a row.
#ifndef FP_CLI_TABLE_H
#define FP_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flagprof/error.h"
#include "trace/writer.h"

enum fp_format { FP_FORMAT_TABLE, FP_FORMAT_CSV, FP_FORMAT_JSON };

enum fp_unit { FP_UNIT_AUTO, FP_UNIT_NS, FP_UNIT_US, FP_UNIT_MS, FP_UNIT_S };

enum fp_cell_kind {
    FP_CELL_TEXT,
    FP_CELL_COUNT,       // whole number
    FP_CELL_TIME,        // nanoseconds
    FP_CELL_BYTES,       // whole number, shown with a unit
    FP_CELL_PERCENT,     // double, 12.3 for 12.3 %
    FP_CELL_NUMBER,      // double
    FP_CELL_SIGNED_TIME, // nanoseconds, shown with a + or -
};

struct fp_column {
    const char *title; // for people, without the unit of a time; NULL: for CSV and JSON only, at the end
    const char *key;   // for CSV and JSON; a time's ends in _ns
    enum fp_cell_kind kind;
};

struct fp_report;

// `schema` names the JSON's schema ("flagprof-cut-1", docs/schema) and is its first member. NULL when memory
// is out. Every call below is a no-op then, and after any failure; fp_report_write says so.
struct fp_report *fp_report_new(const char *schema);
void fp_report_free(struct fp_report *report); // NULL is allowed

// One value with a label: "events  1,234". Facts, tables and sentences print in the order of the calls.
void fp_report_fact_text(struct fp_report *report, const char *key, const char *label, const char *text);
void fp_report_fact_count(struct fp_report *report, const char *key, const char *label, uint64_t value);
void fp_report_fact_time(struct fp_report *report, const char *key, const char *label, int64_t ns);

// A sentence. In JSON all of them are the list "notes"; CSV leaves them out.
void fp_report_note(struct fp_report *report, const char *format, ...) FP_PRINTF(2, 3);

// Begins a table; cells then follow row by row, each of the kind of its column. `columns` must outlive the
// report. An empty table prints `empty` in its place, or nothing where that is NULL.
void fp_report_table(struct fp_report *report, const char *key, const char *title,
                     const struct fp_column *columns, size_t count, const char *empty);

// CSV's rows begin with this file's name: for reports on several files. The text must outlive the report.
void fp_report_csv_file(struct fp_report *report, const char *file);

// The times of a row are to be compared with one another: all get one unit.
void fp_report_row_units(struct fp_report *report);

void fp_report_text(struct fp_report *report, struct fp_text text);
void fp_report_count(struct fp_report *report, uint64_t value);
void fp_report_time(struct fp_report *report, int64_t ns);
void fp_report_number(struct fp_report *report, double value);
void fp_report_none(struct fp_report *report); // nothing known: "-", an empty field, null

// Writes all of it. `unit` is that of times in tables; AUTO takes for each time what suits it.
// Returns the output's state or -ENOMEM.
int fp_report_write(const struct fp_report *report, struct fp_output *output, enum fp_format format,
                    enum fp_unit unit);

#endif
