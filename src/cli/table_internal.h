// table_internal.h - what a report holds: shared by table.c, which fills it, and page.c, which lays it out.
#ifndef FP_CLI_TABLE_INTERNAL_H
#define FP_CLI_TABLE_INTERNAL_H

#include "cli/table.h"

struct cell {
    bool none;
    int64_t whole; // count, bytes, time
    double number;
    size_t text, text_size; // in report->texts
};

enum item_kind { ITEM_FACT, ITEM_NOTE, ITEM_TABLE };

struct item {
    enum item_kind kind;
    const char *key, *label;
    enum fp_cell_kind cell_kind; // of a fact
    const char *empty;
    const struct fp_column *columns;
    size_t column_count;
    size_t first_cell, cell_count;
    bool row_units; // the times of a row are to be compared: they get one unit
};

struct fp_report {
    const char *schema;
    const char *csv_file; // NULL: CSV names no file
    bool failed;
    struct item *items;
    size_t item_count, item_room;
    struct cell *cells;
    size_t cell_count, cell_room;
    char *texts;
    size_t text_count, text_room;
};

static inline bool fp_cell_is_time(enum fp_cell_kind kind) {
    return kind == FP_CELL_TIME || kind == FP_CELL_SIGNED_TIME;
}

// The report as a person reads it.
void fp_page_write(const struct fp_report *report, struct fp_output *output, enum fp_unit unit);

#endif
