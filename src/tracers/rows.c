// rows.c - the rows of a process (rows.h).

#include "tracers/rows.h"

#include "tracers/plugins.h"
#include "tracers/unavailable.h"

static struct fp_row rows[FP_ROWS_MAX];
static size_t row_count;

static void add_table(bool available) {
    for (const struct fp_accelerator_row *row = fp_accelerator_rows; row->accelerator; row++)
        if ((row->ops != &fp_unavailable_ops) == available && row_count < FP_ROWS_MAX)
            rows[row_count++].is = *row;
}

struct fp_row *fp_rows(size_t *count) {
    if (row_count == 0) {
        row_count = fp_plugins_named(rows, FP_ROWS_MAX / 4);
        add_table(true);
        row_count += fp_plugins_in_folder(rows + row_count, FP_ROWS_MAX / 4);
        add_table(false);
    }
    *count = row_count;
    return rows;
}
