// table.c - typed cells to a table for a person, to CSV or to JSON.
//
// In:  facts, sentences, rows.
// Out: text. Cells are kept until the end, since a column's width and unit depend on all of them; a
//      report is what a person reads, so it is small.

#include "cli/table.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shorten.h"
#include "trace/text.h"

#define PAGE_WIDTH 100
#define LEAST_TEXT 12 // columns that a text keeps when it gives way

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
    bool one_unit; // of all its time columns
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

void fp_report_one_unit(struct fp_report *report) {
    if (report && !report->failed && report->item_count)
        report->items[report->item_count - 1].one_unit = true;
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

// Units of time.

static const struct {
    const char *name;
    double ns;
    unsigned decimals;
} units[] = {
    [FP_UNIT_NS] = { "ns", 1, 0 },
    [FP_UNIT_US] = { "us", 1e3, 3 },
    [FP_UNIT_MS] = { "ms", 1e6, 3 },
    [FP_UNIT_S] = { "s", 1e9, 3 },
};

static enum fp_unit fitting_unit(uint64_t largest_ns) {
    return largest_ns >= 1000000000 ? FP_UNIT_S
           : largest_ns >= 1000000  ? FP_UNIT_MS
           : largest_ns >= 1000     ? FP_UNIT_US
                                    : FP_UNIT_NS;
}

static uint64_t absolute(int64_t value) {
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static bool is_time(enum fp_cell_kind kind) {
    return kind == FP_CELL_TIME || kind == FP_CELL_SIGNED_TIME;
}

static enum fp_unit column_unit(const struct fp_report *report, const struct item *item, size_t column,
                                enum fp_unit asked) {
    if (asked != FP_UNIT_AUTO)
        return asked;
    uint64_t largest = 0;
    for (size_t i = 0; i < item->cell_count; i++) {
        const struct cell *cell = &report->cells[item->first_cell + i];
        size_t at = i % item->column_count;
        bool counts = item->one_unit ? is_time(item->columns[at].kind) : at == column;
        if (counts && !cell->none && absolute(cell->whole) > largest)
            largest = absolute(cell->whole);
    }
    return fitting_unit(largest);
}

// 1234567 as 1,234,567.
static int grouped(char *out, size_t room, uint64_t value) {
    char digits[24];
    int size = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value), used = 0;
    for (int i = 0; i < size && used + 2 < (int)room; i++) {
        if (i && (size - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = 0;
    return used;
}

static void show_time(char *out, size_t room, int64_t ns, enum fp_unit unit, bool sign) {
    uint64_t scale = (uint64_t)units[unit].ns, size = absolute(ns);
    const char *minus = ns < 0 ? "-" : sign && ns > 0 ? "+" : "";
    int used = snprintf(out, room, "%s", minus);
    if (units[unit].decimals) { // rounded to three decimals in whole numbers: no digit is invented
        uint64_t step = scale / 1000, thousandths = size / step + (size % step >= (step + 1) / 2 && step > 1);
        used += grouped(out + used, room - (size_t)used, thousandths / 1000);
        snprintf(out + used, room - (size_t)used, ".%03u", (unsigned)(thousandths % 1000));
    } else {
        grouped(out + used, room - (size_t)used, size);
    }
}

static void show_bytes(char *out, size_t room, int64_t bytes) {
    static const char *names[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
    double value = (double)bytes;
    size_t name = 0;
    while (fabs(value) >= 1000 && name + 1 < sizeof(names) / sizeof(*names)) {
        value /= 1000;
        name++;
    }
    snprintf(out, room, name ? "%.2f %s" : "%.0f %s", value, names[name]);
}

// A cell other than text, for a person.
static void show_cell(char *out, size_t room, const struct cell *cell, enum fp_cell_kind kind,
                      enum fp_unit unit) {
    if (cell->none) {
        snprintf(out, room, "-");
        return;
    }
    switch (kind) {
    case FP_CELL_COUNT:
        grouped(out, room, (uint64_t)cell->whole);
        break;
    case FP_CELL_TIME:
    case FP_CELL_SIGNED_TIME:
        show_time(out, room, cell->whole, unit, kind == FP_CELL_SIGNED_TIME);
        break;
    case FP_CELL_BYTES:
        show_bytes(out, room, cell->whole);
        break;
    case FP_CELL_PERCENT:
        snprintf(out, room, "%.1f %%", cell->number);
        break;
    default:
        snprintf(out, room, "%.3f", cell->number);
        break;
    }
}

static void pad(struct fp_output *output, size_t count) {
    while (count--)
        fp_output_write(output, " ", 1);
}

// A text made safe for a terminal, in `width` columns, its middle left out where it is longer.
static void put_text(struct fp_output *output, struct fp_text text, size_t width, bool last) {
    size_t room = text.size * 4 + 1;
    char small[512], *shown = room <= sizeof(small) ? small : malloc(room);
    if (!shown) {
        pad(output, width);
        return;
    }
    fp_text_show(text, shown, room);
    size_t size = strlen(shown), wide = fp_text_width(shown, size);
    if (wide > width) {
        size_t tail = (width - 2) / 3, head = width - 2 - tail;
        size_t from = fp_text_offset(shown, size, wide - tail);
        fp_output_write(output, shown, fp_text_offset(shown, size, head));
        fp_output_text(output, "..");
        fp_output_text(output, shown + from);
    } else {
        fp_output_text(output, shown);
        if (!last)
            pad(output, width - wide);
    }
    if (shown != small)
        free(shown);
}

// The columns that a person sees: those that only scripts get stand at the end.
static size_t visible(const struct item *item) {
    size_t count = item->column_count;
    while (count && !item->columns[count - 1].title)
        count--;
    return count;
}

struct report_part {
    const struct fp_report *report;
    const struct item *item;
};

struct layout {
    size_t width;
    char **texts; // of a text's column, as they are shown; NULL where they are as they come
    enum fp_unit unit;
    char title[80];
};

// The columns that a text takes once it is safe for a terminal.
static size_t shown_width(struct fp_text text) {
    size_t room = text.size * 4 + 1, width = 0;
    char small[512], *shown = room <= sizeof(small) ? small : malloc(room);
    if (shown) {
        fp_text_show(text, shown, room);
        width = fp_text_width(shown, strlen(shown));
    }
    if (shown != small)
        free(shown);
    return width;
}

static size_t cell_width(const struct fp_report *report, const struct cell *cell, enum fp_cell_kind kind,
                         enum fp_unit unit) {
    char shown[64];
    if (kind == FP_CELL_TEXT && !cell->none)
        return shown_width((struct fp_text){ report->texts + cell->text, cell->text_size });
    show_cell(shown, sizeof(shown), cell, kind, unit);
    return strlen(shown);
}

static void lay_out(const struct fp_report *report, const struct item *item, enum fp_unit asked,
                    struct layout *layout) {
    for (size_t c = 0; c < visible(item); c++) {
        const struct fp_column *column = &item->columns[c];
        layout[c].unit = is_time(column->kind) ? column_unit(report, item, c, asked) : FP_UNIT_AUTO;
        snprintf(layout[c].title, sizeof(layout[c].title), is_time(column->kind) ? "%s %s" : "%s",
                 column->title, is_time(column->kind) ? units[layout[c].unit].name : "");
        layout[c].width = fp_text_width(layout[c].title, strlen(layout[c].title));
        for (size_t i = c; i < item->cell_count; i += item->column_count) {
            size_t width =
                cell_width(report, &report->cells[item->first_cell + i], column->kind, layout[c].unit);
            if (width > layout[c].width)
                layout[c].width = width;
        }
    }
}

// The widest text gives way until the line fits.
static void squeeze(const struct item *item, struct layout *layout) {
    const size_t columns = visible(item);
    for (;;) {
        size_t total = 0, widest = columns;
        for (size_t c = 0; c < columns; c++) {
            total += layout[c].width + (c ? 2 : 0);
            if (item->columns[c].kind == FP_CELL_TEXT && layout[c].width > LEAST_TEXT &&
                (widest == columns || layout[c].width > layout[widest].width))
                widest = c;
        }
        if (total <= PAGE_WIDTH || widest == columns)
            return;
        size_t over = total - PAGE_WIDTH, spare = layout[widest].width - LEAST_TEXT, second = LEAST_TEXT;
        for (size_t c = 0; c < columns; c++)
            if (c != widest && item->columns[c].kind == FP_CELL_TEXT && layout[c].width > second)
                second = layout[c].width;
        size_t step = layout[widest].width > second ? layout[widest].width - second : 1;
        step = step < over ? step : over;
        layout[widest].width -= step < spare ? step : spare;
    }
}

// The texts of a column that was squeezed, shortened together so that they stay apart. NULL when memory is out.
static char **shorten_column(const struct report_part *part, size_t column, size_t width) {
    const struct item *item = part->item;
    size_t rows = item->cell_count / item->column_count;
    char **texts = calloc(rows ? rows : 1, sizeof(*texts));
    for (size_t row = 0; texts && row < rows; row++) {
        const struct cell *cell = &part->report->cells[item->first_cell + row * item->column_count + column];
        struct fp_text text = { part->report->texts + cell->text, cell->none ? 0 : cell->text_size };
        texts[row] = malloc(text.size * 4 + 1);
        if (!texts[row]) {
            while (row--)
                free(texts[row]);
            free(texts);
            return NULL;
        }
        fp_text_show(text, texts[row], text.size * 4 + 1);
    }
    if (texts)
        fp_shorten(texts, rows, width);
    return texts;
}

static void free_layout(const struct item *item, struct layout *layout) {
    size_t rows = item->cell_count / item->column_count;
    for (size_t c = 0; layout && c < item->column_count; c++) {
        for (size_t row = 0; layout[c].texts && row < rows; row++)
            free(layout[c].texts[row]);
        free(layout[c].texts);
    }
    free(layout);
}

static void shorten_columns(const struct fp_report *report, const struct item *item, struct layout *layout) {
    const struct report_part part = { report, item };
    for (size_t c = 0; c < visible(item); c++)
        if (item->columns[c].kind == FP_CELL_TEXT && layout[c].width >= LEAST_TEXT)
            layout[c].texts = shorten_column(&part, c, layout[c].width);
}

static void put_table(const struct fp_report *report, struct fp_output *output, const struct item *item,
                      enum fp_unit unit) {
    if (!item->cell_count) {
        if (item->empty)
            fp_output_format(output, "\n%s\n", item->empty);
        return;
    }
    struct layout *layout = calloc(item->column_count, sizeof(*layout));
    if (!layout)
        return;
    lay_out(report, item, unit, layout);
    squeeze(item, layout);
    shorten_columns(report, item, layout);
    const size_t columns = visible(item);
    fp_output_format(output, "\n%s\n", item->label);
    for (size_t c = 0; c < columns; c++) {
        bool text = item->columns[c].kind == FP_CELL_TEXT, last = c + 1 == columns;
        size_t wide = fp_text_width(layout[c].title, strlen(layout[c].title));
        if (c)
            pad(output, 2);
        if (text) {
            put_text(output, fp_text_of(layout[c].title), layout[c].width, last);
        } else {
            pad(output, layout[c].width > wide ? layout[c].width - wide : 0);
            fp_output_text(output, layout[c].title);
        }
    }
    fp_output_text(output, "\n");
    for (size_t i = 0; i < item->cell_count; i++) {
        size_t c = i % item->column_count;
        const struct cell *cell = &report->cells[item->first_cell + i];
        bool last = c + 1 == columns;
        char shown[64];
        if (c >= columns)
            continue;
        if (c)
            pad(output, 2);
        if (item->columns[c].kind == FP_CELL_TEXT && !cell->none) {
            const char *shortened = layout[c].texts ? layout[c].texts[i / item->column_count] : NULL;
            put_text(output,
                     shortened ? fp_text_of(shortened)
                               : (struct fp_text){ report->texts + cell->text, cell->text_size },
                     layout[c].width, last);
        } else {
            show_cell(shown, sizeof(shown), cell, item->columns[c].kind, layout[c].unit);
            bool left = item->columns[c].kind == FP_CELL_TEXT;
            size_t room = layout[c].width - strlen(shown);
            pad(output, left ? 0 : room);
            fp_output_text(output, shown);
            pad(output, left && !last ? room : 0);
        }
        if (last)
            fp_output_text(output, "\n");
    }
    free_layout(item, layout);
}

// Breaks a sentence at spaces so that it fits the page.
static void put_sentence(struct fp_output *output, struct fp_text text) {
    char shown[4200];
    fp_text_show(text, shown, sizeof(shown));
    const char *at = shown;
    while (fp_text_width(at, strlen(at)) > PAGE_WIDTH) {
        size_t end = fp_text_offset(at, strlen(at), PAGE_WIDTH);
        size_t cut = end;
        while (cut && at[cut] != ' ')
            cut--;
        if (!cut)
            cut = end;
        fp_output_write(output, at, cut);
        fp_output_text(output, "\n");
        at += cut + (at[cut] == ' ');
    }
    fp_output_format(output, "%s\n", at);
}

static size_t label_width(const struct fp_report *report) {
    size_t width = 0;
    for (size_t i = 0; i < report->item_count; i++)
        if (report->items[i].kind == ITEM_FACT && strlen(report->items[i].label) > width)
            width = strlen(report->items[i].label);
    return width;
}

static void put_fact(const struct fp_report *report, struct fp_output *output, const struct item *item,
                     size_t labels, enum fp_unit unit) {
    const struct cell *cell = &report->cells[item->first_cell];
    char shown[64];
    fp_output_text(output, item->label);
    pad(output, labels - strlen(item->label) + 2);
    if (item->cell_kind == FP_CELL_TEXT) {
        put_text(output, (struct fp_text){ report->texts + cell->text, cell->text_size },
                 PAGE_WIDTH - labels - 2, true);
    } else {
        unit = unit == FP_UNIT_AUTO ? fitting_unit(absolute(cell->whole)) : unit;
        show_cell(shown, sizeof(shown), cell, item->cell_kind, unit);
        fp_output_format(output, "%s%s%s", shown, is_time(item->cell_kind) ? " " : "",
                         is_time(item->cell_kind) ? units[unit].name : "");
    }
    fp_output_text(output, "\n");
}

static void write_tables(const struct fp_report *report, struct fp_output *output, enum fp_unit unit) {
    size_t labels = label_width(report);
    for (size_t i = 0; i < report->item_count; i++) {
        const struct item *item = &report->items[i];
        const struct cell *cell = item->cell_count ? &report->cells[item->first_cell] : NULL;
        if (item->kind == ITEM_TABLE)
            put_table(report, output, item, unit);
        else if (item->kind == ITEM_FACT && cell)
            put_fact(report, output, item, labels, unit);
        else if (cell)
            put_sentence(output, (struct fp_text){ report->texts + cell->text, cell->text_size });
    }
}

// A cell as JSON and CSV hold it, text aside.
static void put_plain(struct fp_output *output, const struct cell *cell, enum fp_cell_kind kind,
                      const char *none) {
    if (cell->none)
        fp_output_text(output, none);
    else if (kind == FP_CELL_PERCENT || kind == FP_CELL_NUMBER)
        fp_output_format(output, "%.10g", cell->number);
    else if (is_time(kind))
        fp_output_format(output, "%lld", (long long)cell->whole);
    else
        fp_output_format(output, "%llu", (unsigned long long)cell->whole);
}

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
        fp_output_write(output, text.at + i, 1);
        if (text.at[i] == '"')
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
        write_tables(report, output, unit);
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
