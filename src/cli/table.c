// table.c - typed cells to a table for a person, to CSV or to JSON.
//
// In:  facts, sentences, rows.
// Out: text. Cells are kept until the end, since a column's width depends on all of them; a report is what
//      a person reads, so it is small. CSV and JSON are written here, the page for people in page.c.

#include "cli/table_internal.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/text.h"

struct fp_report *fp_report_new(const char *schema) {
    struct fp_report *report = calloc(1, sizeof(*report));
    if (report)
        report->schema = schema;
    return report;
}

void fp_report_free(struct fp_report *report) {
    if (!report)
        return;
    free(report->items);
    free(report->cells);
    free(report->texts);
    free(report);
}

// Room for `more` elements behind `count`; false when memory is out.
static bool reserve(void **array, size_t *room, size_t count, size_t more, size_t size) {
    if (count + more <= *room)
        return true;
    size_t grown = (count + more) * 2;
    void *moved = realloc(*array, grown * size);
    if (!moved)
        return false;
    *array = moved;
    *room = grown;
    return true;
}

static struct item *add_item(struct fp_report *report, enum item_kind kind, const char *key,
                             const char *label) {
    if (!report || report->failed)
        return NULL;
    if (!reserve((void **)&report->items, &report->item_room, report->item_count, 1,
                 sizeof(*report->items))) {
        report->failed = true;
        return NULL;
    }
    struct item *item = &report->items[report->item_count++];
    *item = (struct item){ .kind = kind, .key = key, .label = label, .first_cell = report->cell_count };
    return item;
}

static struct cell *add_cell(struct fp_report *report) {
    if (!report || report->failed || !report->item_count)
        return NULL;
    if (!reserve((void **)&report->cells, &report->cell_room, report->cell_count, 1,
                 sizeof(*report->cells))) {
        report->failed = true;
        return NULL;
    }
    report->items[report->item_count - 1].cell_count++;
    struct cell *cell = &report->cells[report->cell_count++];
    *cell = (struct cell){ 0 };
    return cell;
}

void fp_report_text(struct fp_report *report, struct fp_text text) {
    struct cell *cell = add_cell(report);
    if (!cell)
        return;
    if (!reserve((void **)&report->texts, &report->text_room, report->text_count, text.size + 1, 1)) {
        report->failed = true;
        return;
    }
    cell->text = report->text_count;
    cell->text_size = text.size;
    if (text.size)
        memcpy(report->texts + report->text_count, text.at, text.size);
    report->text_count += text.size;
}

void fp_report_count(struct fp_report *report, uint64_t value) {
    struct cell *cell = add_cell(report);
    if (cell)
        cell->whole = (int64_t)value;
}

void fp_report_time(struct fp_report *report, int64_t ns) {
    struct cell *cell = add_cell(report);
    if (cell)
        cell->whole = ns;
}

void fp_report_number(struct fp_report *report, double value) {
    struct cell *cell = add_cell(report);
    if (cell) {
        cell->number = value;
        cell->none = !isfinite(value);
    }
}

void fp_report_none(struct fp_report *report) {
    struct cell *cell = add_cell(report);
    if (cell)
        cell->none = true;
}

void fp_report_fact_text(struct fp_report *report, const char *key, const char *label, const char *text) {
    struct item *item = add_item(report, ITEM_FACT, key, label);
    if (item) {
        item->cell_kind = FP_CELL_TEXT;
        fp_report_text(report, fp_text_of(text));
    }
}

void fp_report_fact_count(struct fp_report *report, const char *key, const char *label, uint64_t value) {
    struct item *item = add_item(report, ITEM_FACT, key, label);
    if (item) {
        item->cell_kind = FP_CELL_COUNT;
        fp_report_count(report, value);
    }
}

void fp_report_fact_time(struct fp_report *report, const char *key, const char *label, int64_t ns) {
    struct item *item = add_item(report, ITEM_FACT, key, label);
    if (item) {
        item->cell_kind = FP_CELL_TIME;
        fp_report_time(report, ns);
    }
}

void fp_report_note(struct fp_report *report, const char *format, ...) {
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    if (add_item(report, ITEM_NOTE, NULL, NULL))
        fp_report_text(report, fp_text_of(sentence));
}

void fp_report_csv_file(struct fp_report *report, const char *file) {
    if (report)
        report->csv_file = file;
}

void fp_report_row_units(struct fp_report *report) {
    if (report && !report->failed && report->item_count)
        report->items[report->item_count - 1].row_units = true;
}

void fp_report_table(struct fp_report *report, const char *key, const char *title,
                     const struct fp_column *columns, size_t count, const char *empty) {
    struct item *item = add_item(report, ITEM_TABLE, key, title);
    if (item) {
        item->columns = columns;
        item->column_count = count;
        item->empty = empty;
    }
}

// A cell as JSON and CSV hold it, text aside.
static void put_plain(struct fp_output *output, const struct cell *cell, enum fp_cell_kind kind,
                      const char *none) {
    if (cell->none)
        fp_output_text(output, none);
    else if (kind == FP_CELL_PERCENT || kind == FP_CELL_NUMBER)
        fp_output_format(output, "%.10g", cell->number);
    else if (fp_cell_is_time(kind))
        fp_output_format(output, "%lld", (long long)cell->whole);
    else
        fp_output_format(output, "%llu", (unsigned long long)cell->whole);
}

// A line of the file is a row: a line break within a text is written as \n, a carriage return as \r.
static void put_csv_text(struct fp_output *output, struct fp_text text) {
    bool quote = false;
    for (size_t i = 0; i < text.size; i++)
        quote = quote || strchr("\",\r\n", text.at[i]) || text.at[i] == 0;
    if (!quote) {
        fp_output_write(output, text.at, text.size);
        return;
    }
    fp_output_text(output, "\"");
    for (size_t i = 0; i < text.size; i++) {
        char c = text.at[i];
        if (c == '\n' || c == '\r')
            fp_output_text(output, c == '\n' ? "\\n" : "\\r");
        else
            fp_output_write(output, &c, 1);
        if (c == '"')
            fp_output_text(output, "\"");
    }
    fp_output_text(output, "\"");
}

// Tables one behind the other, an empty line between them; facts and sentences belong to people and to JSON.
static void write_csv(const struct fp_report *report, struct fp_output *output) {
    bool first = true;
    for (size_t i = 0; i < report->item_count; i++) {
        const struct item *item = &report->items[i];
        if (item->kind != ITEM_TABLE || !item->column_count)
            continue;
        if (!first)
            fp_output_text(output, "\n");
        first = false;
        for (size_t c = 0; c < item->column_count; c++)
            fp_output_format(output, "%s%s", c ? "," : report->csv_file ? "file," : "", item->columns[c].key);
        fp_output_text(output, "\n");
        for (size_t k = 0; k < item->cell_count; k++) {
            const struct cell *cell = &report->cells[item->first_cell + k];
            size_t c = k % item->column_count;
            if (c == 0 && report->csv_file)
                put_csv_text(output, fp_text_of(report->csv_file));
            if (c || report->csv_file)
                fp_output_text(output, ",");
            if (item->columns[c].kind == FP_CELL_TEXT && !cell->none)
                put_csv_text(output, (struct fp_text){ report->texts + cell->text, cell->text_size });
            else
                put_plain(output, cell, item->columns[c].kind, "");
            if (c + 1 == item->column_count)
                fp_output_text(output, "\n");
        }
    }
}

static void put_json_cell(const struct fp_report *report, struct fp_output *output, const struct cell *cell,
                          enum fp_cell_kind kind) {
    if (kind == FP_CELL_TEXT && !cell->none)
        fp_output_json_text(output, (struct fp_text){ report->texts + cell->text, cell->text_size });
    else
        put_plain(output, cell, kind, "null");
}

static void put_json_table(const struct fp_report *report, struct fp_output *output,
                           const struct item *item) {
    fp_output_text(output, "[");
    for (size_t k = 0; k < item->cell_count; k++) {
        size_t c = k % item->column_count;
        fp_output_text(output, c ? ", " : k ? ",\n    {" : "\n    {");
        fp_output_format(output, "\"%s\": ", item->columns[c].key);
        put_json_cell(report, output, &report->cells[item->first_cell + k], item->columns[c].kind);
        if (c + 1 == item->column_count)
            fp_output_text(output, "}");
    }
    fp_output_text(output, item->cell_count ? "\n  ]" : "]");
}

static void write_json(const struct fp_report *report, struct fp_output *output) {
    bool first = true;
    fp_output_text(output, "{\n  \"schema\": ");
    fp_output_json_text(output, fp_text_of(report->schema));
    for (size_t i = 0; i < report->item_count; i++) {
        const struct item *item = &report->items[i];
        if (item->kind == ITEM_NOTE)
            continue;
        fp_output_format(output, ",\n  \"%s\": ", item->key);
        if (item->kind == ITEM_TABLE)
            put_json_table(report, output, item);
        else if (item->cell_count)
            put_json_cell(report, output, &report->cells[item->first_cell], item->cell_kind);
    }
    fp_output_text(output, ",\n  \"notes\": [");
    for (size_t i = 0; i < report->item_count; i++) {
        const struct item *item = &report->items[i];
        if (item->kind != ITEM_NOTE || !item->cell_count)
            continue;
        fp_output_text(output, first ? "\n    " : ",\n    ");
        first = false;
        put_json_cell(report, output, &report->cells[item->first_cell], FP_CELL_TEXT);
    }
    fp_output_text(output, first ? "]\n}\n" : "\n  ]\n}\n");
}

int fp_report_write(const struct fp_report *report, struct fp_output *output, enum fp_format format,
                    enum fp_unit unit) {
    if (!report || report->failed)
        return -ENOMEM;
    switch (format) {
    case FP_FORMAT_TABLE:
        fp_page_write(report, output, unit);
        break;
    case FP_FORMAT_CSV:
        write_csv(report, output);
        break;
    case FP_FORMAT_JSON:
        write_json(report, output);
        break;
    }
    return fp_output_state(output);
}
