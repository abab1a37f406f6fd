// page.c - a report as a person reads it: facts, sentences, and tables as wide as the page.
//
// In:  what table.c gathered; the width of the terminal.
// Out: text. Every time carries a unit of its own with three digits, so that no row is all zeros beside a
//      large one; where a unit was asked for, the column has it in its title. Names get the room that the
//      numbers leave.

#include "cli/table_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/env.h"
#include "cli/shorten.h"
#include "trace/text.h"

#define PAGE_WIDTH 100 // where nobody says how wide it is
#define LEAST_PAGE 40
#define MOST_PAGE 1000
#define LEAST_TEXT 12 // columns that a text keeps when it gives way

// Texts give way to these widths first, and to LEAST_TEXT only where that is not enough.
#define GOOD_NAME 24
#define GOOD_TEXT 20

struct page {
    const struct fp_report *report;
    struct fp_output *output;
    size_t width;
    enum fp_unit unit; // AUTO: each time its own
};

// COLUMNS, as every shell's user can set it; else the terminal's; else what fits anywhere.
static size_t page_width(void) {
    const char *columns = fp_env_text("COLUMNS");
    struct winsize window;
    long width = columns ? strtol(columns, NULL, 10) : 0;
    if (!columns && isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0)
        width = window.ws_col;
    return width >= LEAST_PAGE && width <= MOST_PAGE ? (size_t)width : PAGE_WIDTH;
}

// Units of time.

static const struct {
    const char *name;
    double ns;
    unsigned decimals;
} units[] = {
    [FP_UNIT_AUTO] = { "", 1, 0 },   [FP_UNIT_NS] = { "ns", 1, 0 }, [FP_UNIT_US] = { "us", 1e3, 3 },
    [FP_UNIT_MS] = { "ms", 1e6, 3 }, [FP_UNIT_S] = { "s", 1e9, 3 },
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

// Three digits and a unit: 5.35 ms. A zero needs neither.
static void show_short(char *out, size_t room, int64_t ns, bool sign) {
    uint64_t size = absolute(ns);
    const char *mark = ns < 0 ? "-" : sign && ns > 0 ? "+" : "";
    if (size < 1000) {
        snprintf(out, room, "%s%llu%s", mark, (unsigned long long)size, size ? " ns" : "");
        return;
    }
    for (enum fp_unit unit = FP_UNIT_US; unit <= FP_UNIT_S; unit++) {
        uint64_t step = (uint64_t)units[unit].ns / 100;
        for (unsigned decimals = 2; decimals <= 2; decimals--, step *= 10) {
            uint64_t digits = size / step + (size % step >= step / 2);
            static const unsigned powers[] = { 1, 10, 100 };
            unsigned power = powers[decimals];
            if (digits >= 1000)
                continue;
            if (decimals)
                snprintf(out, room, "%s%u.%0*u %s", mark, (unsigned)(digits / power), (int)decimals,
                         (unsigned)(digits % power), units[unit].name);
            else
                snprintf(out, room, "%s%u %s", mark, (unsigned)digits, units[unit].name);
            return;
        }
    }
    int used = snprintf(out, room, "%s", mark);
    used += grouped(out + used, room - (size_t)used, size / 1000000000);
    snprintf(out + used, room - (size_t)used, " s");
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

// The unit in which the times of a row can be compared.
static enum fp_unit row_unit(const struct fp_report *report, const struct item *item, size_t row) {
    uint64_t largest = 0;
    for (size_t c = 0; c < item->column_count; c++) {
        const struct cell *cell = &report->cells[item->first_cell + row * item->column_count + c];
        if (fp_cell_is_time(item->columns[c].kind) && !cell->none && absolute(cell->whole) > largest)
            largest = absolute(cell->whole);
    }
    return fitting_unit(largest);
}

// A cell other than text. `unit` AUTO: the time's own.
static void show_cell(char *out, size_t room, const struct cell *cell, enum fp_cell_kind kind,
                      enum fp_unit unit) {
    if (cell->none) {
        snprintf(out, room, "-");
        return;
    }
    bool sign = kind == FP_CELL_SIGNED_TIME;
    switch (kind) {
    case FP_CELL_COUNT:
        grouped(out, room, (uint64_t)cell->whole);
        break;
    case FP_CELL_TIME:
    case FP_CELL_SIGNED_TIME:
        if (unit == FP_UNIT_AUTO)
            show_short(out, room, cell->whole, sign);
        else
            show_time(out, room, cell->whole, unit, sign);
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

// The cell of a table at `place`, as it stands in its column.
static void show_placed(const struct page *page, const struct item *item, size_t place, char *out,
                        size_t room) {
    const struct cell *cell = &page->report->cells[item->first_cell + place];
    enum fp_cell_kind kind = item->columns[place % item->column_count].kind;
    bool in_row =
        item->row_units && page->unit == FP_UNIT_AUTO && fp_cell_is_time(kind) && !cell->none && cell->whole;
    enum fp_unit unit = in_row ? row_unit(page->report, item, place / item->column_count) : page->unit;
    show_cell(out, room, cell, kind, unit);
    size_t used = strlen(out);
    if (in_row)
        snprintf(out + used, room - used, " %s", units[unit].name);
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

static size_t cell_width(const struct page *page, const struct item *item, size_t place) {
    const struct cell *cell = &page->report->cells[item->first_cell + place];
    char shown[64];
    if (item->columns[place % item->column_count].kind == FP_CELL_TEXT && !cell->none)
        return shown_width((struct fp_text){ page->report->texts + cell->text, cell->text_size });
    show_placed(page, item, place, shown, sizeof(shown));
    return strlen(shown);
}

static void lay_out(const struct page *page, const struct item *item, struct layout *layout) {
    for (size_t c = 0; c < visible(item); c++) {
        const struct fp_column *column = &item->columns[c];
        bool named = fp_cell_is_time(column->kind) && page->unit != FP_UNIT_AUTO;
        snprintf(layout[c].title, sizeof(layout[c].title), named ? "%s %s" : "%s", column->title,
                 units[page->unit].name);
        layout[c].width = fp_text_width(layout[c].title, strlen(layout[c].title));
        for (size_t i = c; i < item->cell_count; i += item->column_count) {
            size_t width = cell_width(page, item, i);
            if (width > layout[c].width)
                layout[c].width = width;
        }
    }
}

// The widest text gives way, by a column at a time, until the line fits or none is wider than its floor.
static bool squeeze_to(const struct item *item, struct layout *layout, size_t page, size_t name_floor,
                       size_t text_floor) {
    const size_t columns = visible(item);
    for (;;) {
        size_t total = 0, widest = columns, most_over = 0;
        bool first = true;
        for (size_t c = 0; c < columns; c++) {
            total += layout[c].width + (c ? 2 : 0);
            if (item->columns[c].kind != FP_CELL_TEXT)
                continue;
            size_t floor = first ? name_floor : text_floor;
            first = false;
            if (layout[c].width > floor && layout[c].width > most_over) {
                widest = c;
                most_over = layout[c].width;
            }
        }
        if (total <= page)
            return true;
        if (widest == columns)
            return false;
        layout[widest].width--;
    }
}

static void squeeze(const struct item *item, struct layout *layout, size_t page) {
    if (!squeeze_to(item, layout, page, GOOD_NAME, GOOD_TEXT))
        squeeze_to(item, layout, page, LEAST_TEXT, LEAST_TEXT);
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

static void put_titles(const struct page *page, const struct item *item, const struct layout *layout) {
    const size_t columns = visible(item);
    for (size_t c = 0; c < columns; c++) {
        size_t wide = fp_text_width(layout[c].title, strlen(layout[c].title));
        if (c)
            pad(page->output, 2);
        if (item->columns[c].kind == FP_CELL_TEXT) {
            put_text(page->output, fp_text_of(layout[c].title), layout[c].width, c + 1 == columns);
        } else {
            pad(page->output, layout[c].width > wide ? layout[c].width - wide : 0);
            fp_output_text(page->output, layout[c].title);
        }
    }
    fp_output_text(page->output, "\n");
}

static void put_row_cell(const struct page *page, const struct item *item, size_t place,
                         const struct layout *layout, bool last) {
    const struct cell *cell = &page->report->cells[item->first_cell + place];
    bool text = item->columns[place % item->column_count].kind == FP_CELL_TEXT;
    if (text && !cell->none) {
        const char *shortened = layout->texts ? layout->texts[place / item->column_count] : NULL;
        put_text(page->output,
                 shortened ? fp_text_of(shortened)
                           : (struct fp_text){ page->report->texts + cell->text, cell->text_size },
                 layout->width, last);
        return;
    }
    char shown[64];
    show_placed(page, item, place, shown, sizeof(shown));
    size_t room = layout->width - strlen(shown);
    pad(page->output, text ? 0 : room);
    fp_output_text(page->output, shown);
    pad(page->output, text && !last ? room : 0);
}

static void put_table(const struct page *page, const struct item *item) {
    if (!item->cell_count) {
        if (item->empty)
            fp_output_format(page->output, "\n%s\n", item->empty);
        return;
    }
    struct layout *layout = calloc(item->column_count, sizeof(*layout));
    if (!layout)
        return;
    const size_t columns = visible(item);
    lay_out(page, item, layout);
    squeeze(item, layout, page->width);
    shorten_columns(page->report, item, layout);
    fp_output_format(page->output, "\n%s\n", item->label);
    put_titles(page, item, layout);
    for (size_t i = 0; i < item->cell_count; i++) {
        size_t c = i % item->column_count;
        if (c >= columns)
            continue;
        if (c)
            pad(page->output, 2);
        put_row_cell(page, item, i, &layout[c], c + 1 == columns);
        if (c + 1 == columns)
            fp_output_text(page->output, "\n");
    }
    free_layout(item, layout);
}

// Breaks a sentence at spaces so that it fits the page.
static void put_sentence(const struct page *page, struct fp_text text) {
    char shown[4200];
    fp_text_show(text, shown, sizeof(shown));
    const char *at = shown;
    while (fp_text_width(at, strlen(at)) > page->width) {
        size_t end = fp_text_offset(at, strlen(at), page->width);
        size_t cut = end;
        while (cut && at[cut] != ' ')
            cut--;
        if (!cut)
            cut = end;
        fp_output_write(page->output, at, cut);
        fp_output_text(page->output, "\n");
        at += cut + (at[cut] == ' ');
    }
    fp_output_format(page->output, "%s\n", at);
}

static size_t label_width(const struct fp_report *report) {
    size_t width = 0;
    for (size_t i = 0; i < report->item_count; i++)
        if (report->items[i].kind == ITEM_FACT && strlen(report->items[i].label) > width)
            width = strlen(report->items[i].label);
    return width;
}

static void put_fact(const struct page *page, const struct item *item, size_t labels) {
    const struct cell *cell = &page->report->cells[item->first_cell];
    fp_output_text(page->output, item->label);
    pad(page->output, labels - strlen(item->label) + 2);
    if (item->cell_kind == FP_CELL_TEXT) {
        put_text(page->output, (struct fp_text){ page->report->texts + cell->text, cell->text_size },
                 page->width - labels - 2, true);
    } else {
        char shown[64];
        enum fp_unit unit = page->unit == FP_UNIT_AUTO ? fitting_unit(absolute(cell->whole)) : page->unit;
        bool time = fp_cell_is_time(item->cell_kind);
        show_cell(shown, sizeof(shown), cell, item->cell_kind, unit);
        fp_output_format(page->output, "%s%s%s", shown, time ? " " : "", time ? units[unit].name : "");
    }
    fp_output_text(page->output, "\n");
}

void fp_page_write(const struct fp_report *report, struct fp_output *output, enum fp_unit unit) {
    const struct page page = { report, output, page_width(), unit };
    size_t labels = label_width(report);
    for (size_t i = 0; i < report->item_count; i++) {
        const struct item *item = &report->items[i];
        const struct cell *cell = item->cell_count ? &report->cells[item->first_cell] : NULL;
        if (item->kind == ITEM_TABLE)
            put_table(&page, item);
        else if (item->kind == ITEM_FACT && cell)
            put_fact(&page, item, labels);
        else if (cell)
            put_sentence(&page, (struct fp_text){ report->texts + cell->text, cell->text_size });
    }
}
