// csv.c - a trace as a sheet: one line an event.
//
// In:  events.
// Out: a fixed row of columns; what has none of its own stands in "other" as JSON, so nothing is lost.

#include "analysis/csv.h"

#include <stdlib.h>
#include <string.h>

static const char *const known[] = { "ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args" };

// A line of the file is a row. In a text a line break is written as \n, a carriage return as \r; between
// JSON's members, where alone a raw one can stand, it is a blank like any other.
static size_t put_break(struct fp_output *output, struct fp_text text, size_t at, bool json) {
    if (!json) {
        fp_output_text(output, text.at[at] == '\n' ? "\\n" : "\\r");
        return at + 1;
    }
    fp_output_text(output, " ");
    while (at < text.size && strchr(" \t\r\n", text.at[at]) && text.at[at])
        at++;
    return at;
}

static void put_quoted(struct fp_output *output, struct fp_text text, bool json) {
    size_t plain = 0;
    fp_output_write(output, "\"", 1);
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.at[i];
        unsigned length = c < 0x80 ? 1 : fp_utf8_length(text.at + i, text.size - i);
        if (c == '"' || !length) {
            fp_output_write(output, text.at + plain, i - plain);
            fp_output_text(output, length ? "\"\"" : "\xEF\xBF\xBD");
            plain = i + 1;
        } else if (c == '\n' || c == '\r') {
            fp_output_write(output, text.at + plain, i - plain);
            plain = put_break(output, text, i, json);
            i = plain - 1;
        }
        i += length > 1 ? length - 1 : 0;
    }
    fp_output_write(output, text.at + plain, text.size - plain);
    fp_output_write(output, "\"", 1);
}

static void put_cell(struct fp_output *output, struct fp_text text, bool json) {
    bool plain = true;
    for (size_t i = 0; i < text.size && plain; i++)
        plain = text.at[i] != '"' && text.at[i] != ',' && (unsigned char)text.at[i] >= ' ' && text.at[i] > 0;
    if (plain)
        fp_output_write(output, text.at, text.size);
    else
        put_quoted(output, text, json);
}

static void put_text(struct fp_output *output, struct fp_text text) {
    put_cell(output, text, false);
}

static void put_comma(struct fp_output *output) {
    fp_output_write(output, ",", 1);
}

// As 2^64 - 1 at most, or the text that the file has.
static void put_time(struct fp_output *output, uint8_t state, int64_t ns, struct fp_text text) {
    if (state == FP_NUMBER_OK)
        fp_output_format(output, "%lld", (long long)ns);
    else if (state == FP_NUMBER_BAD)
        put_text(output, text);
}

static void put_arg(struct fp_output *output, const struct fp_trace_event *event, enum fp_arg_id id) {
    put_comma(output);
    put_text(output, fp_field_text(fp_event_arg(event, id)));
}

static bool is_known(const struct fp_trace_field *field) {
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (field->key_size == strlen(known[i]) && memcmp(field->key, known[i], field->key_size) == 0)
            return true;
    return false;
}

static void append(char *to, size_t *used, const char *at, size_t size) {
    memcpy(to + *used, at, size);
    *used += size;
}

// Members without a column, as a JSON object; nothing where there are none.
static void put_other(struct fp_output *output, const struct fp_trace_event *event,
                      struct fp_mender *mender) {
    char *json = NULL;
    size_t used = 0;
    for (uint32_t i = 0; i < event->field_count; i++) {
        const struct fp_trace_field *field = &event->fields[i];
        if (is_known(field))
            continue;
        if (!json && !(json = malloc(event->raw.size + (size_t)event->field_count * 4 + 4)))
            return;
        bool quoted = field->type == '"';
        append(json, &used, used ? ", \"" : "{\"", used ? 3 : 2);
        append(json, &used, field->key, field->key_size);
        append(json, &used, "\": ", 3);
        append(json, &used, field->value - quoted, field->value_size + 2u * quoted);
    }
    if (json) {
        append(json, &used, "}", 1);
        put_cell(output, fp_mend_json(mender, (struct fp_text){ json, used }), true);
    }
    free(json);
}

void fp_csv_header(struct fp_output *output) {
    fp_output_text(output,
                   "number,phase,category,name,pid,tid,ts_ns,dur_ns,id,device,stream,correlation,external_id,"
                   "bytes,args,other\r\n");
}

void fp_csv_event(struct fp_output *output, const struct fp_trace_event *event, struct fp_mender *mender) {
    const struct fp_trace_field *framework = fp_event_arg(event, FP_ARG_EXTERNAL_ID);
    fp_output_format(output, "%llu,", (unsigned long long)event->number);
    put_text(output, fp_field_text(fp_event_field(event, "ph")));
    put_comma(output);
    put_text(output, event->cat);
    put_comma(output);
    put_text(output, event->name);
    put_comma(output);
    put_text(output, event->pid.text);
    put_comma(output);
    put_text(output, event->tid.text);
    put_comma(output);
    put_time(output, event->ts_state, event->ts_ns, fp_field_text(fp_event_field(event, "ts")));
    put_comma(output);
    put_time(output, event->dur_state, event->dur_ns, fp_field_text(fp_event_field(event, "dur")));
    put_comma(output);
    put_text(output, event->id.text);
    put_arg(output, event, FP_ARG_DEVICE);
    put_arg(output, event, FP_ARG_STREAM);
    put_arg(output, event, FP_ARG_CORRELATION);
    put_comma(output);
    put_text(output, fp_field_text(framework ? framework : fp_event_arg(event, FP_ARG_EXTERNAL_ID_OLD)));
    put_arg(output, event, FP_ARG_BYTES);
    put_comma(output);
    const struct fp_trace_field *args = fp_event_field(event, "args");
    if (args) {
        bool quoted = args->type == '"';
        put_cell(
            output,
            fp_mend_json(mender, (struct fp_text){ args->value - quoted, args->value_size + 2u * quoted }),
            true);
    }
    put_comma(output);
    put_other(output, event, mender);
    fp_output_write(output, "\r\n", 2);
}
