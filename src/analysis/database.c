// database.c - traces as an SQLite database.
//
// In:  events.
// Out: rows, one insert each in a single transaction; begin/end pairs get their length when the end
//      comes. The database is written without a journal, since it is thrown away whole when anything
//      fails.

#include "analysis/database.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/database_schema.h"
#include "analysis/idmap.h"
#include "analysis/kinds.h"
#include "analysis/mend.h"
#include "trace/temporary.h"

struct open_begin {
    sqlite3_int64 row;
    int64_t ts_ns;
    size_t below; // plus one
};

struct lane_row {
    sqlite3_int64 row; // 0: none yet
    size_t top;        // of its stack of begins, plus one
};

struct fp_database {
    char *path, *temporary;
    bool made; // the temporary file
    struct fp_mender mender;
    sqlite3 *handle;
    sqlite3_stmt *event, *name, *lane, *end, *process, *thread;
    sqlite3_int64 trace, last_lane;
    char *trace_name;
    uint64_t events;
    struct fp_intern *names; // of all traces; row number is the id plus one
    uint32_t names_written;
    struct lane_row *lanes; // by the reader's lane
    size_t lane_room;
    struct open_begin *begins;
    size_t begin_count, begin_room, free_begin;
};

static int fail(struct fp_database *database, struct fp_error *err) {
    int code = sqlite3_errcode(database->handle), system = sqlite3_system_errno(database->handle);
    const char *why = code == SQLITE_FULL ? "the disk or the size limit is full"
                      : system            ? strerror(system)
                                          : sqlite3_errmsg(database->handle);
    fp_error_set(err, "cannot write %s: %s. Nothing was left behind, and a file that was there is as it was",
                 database->path, why);
    return code == SQLITE_NOMEM ? -ENOMEM : code == SQLITE_FULL ? -ENOSPC : -EIO;
}

static int no_memory(const struct fp_database *database, struct fp_error *err) {
    fp_error_set(err, "%s: not enough memory to write it", database->path);
    return -ENOMEM;
}

static int run(struct fp_database *database, const char *sql, struct fp_error *err) {
    return sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(database, err);
}

static int prepare(struct fp_database *database, struct fp_error *err) {
    const struct {
        sqlite3_stmt **statement;
        const char *sql;
    } rows[] = {
        { &database->event,
          "INSERT INTO event VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
        { &database->name, "INSERT INTO name VALUES (?, ?)" },
        { &database->lane, "INSERT INTO lane (id, trace, pid, tid) VALUES (?, ?, ?, ?)" },
        { &database->end, "UPDATE event SET dur_ns = ?2, end_ns = ?3 WHERE id = ?1" },
        { &database->process, "UPDATE lane SET process = ?3 WHERE trace = ?1 AND pid IS ?2" },
        { &database->thread, "UPDATE lane SET thread = ?2 WHERE id = ?1" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (sqlite3_prepare_v2(database->handle, rows[i].sql, -1, rows[i].statement, NULL) != SQLITE_OK)
            return fail(database, err);
    return 0;
}

static int open_file(struct fp_database *database, const char *path, struct fp_error *err) {
    struct stat found;
    if (strcmp(path, "-") == 0 || (stat(path, &found) == 0 && !S_ISREG(found.st_mode))) {
        fp_error_set(err, "%s: an SQLite database needs a file of its own", path);
        return -EINVAL;
    }
    size_t room = strlen(path) + 40;
    database->path = strdup(path);
    database->temporary = malloc(room);
    database->names = fp_intern_new();
    if (!database->path || !database->temporary || !database->names) {
        fp_error_set(err, "%s: not enough memory to write it", path);
        return -ENOMEM;
    }
    snprintf(database->temporary, room, "%s.%ld.part", path, (long)getpid());
    unlink(database->temporary);
    database->made = true;
    fp_temporary_keep(database->temporary);
    if (sqlite3_open_v2(database->temporary, &database->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                        NULL) != SQLITE_OK) {
        if (!database->handle)
            return no_memory(database, err);
        return fail(database, err);
    }
    return 0;
}

int fp_database_open(const char *path, bool salvaged, struct fp_database **out, struct fp_error *err) {
    struct fp_database *database = *out = calloc(1, sizeof(*database));
    if (!database) {
        fp_error_set(err, "%s: not enough memory to write it", path);
        return -ENOMEM;
    }
    database->mender.salvaged = salvaged;
    int code = open_file(database, path, err);
    if (!code)
        code = run(database,
                   "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                   "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536; BEGIN;",
                   err);
    if (!code)
        code = run(database, database_tables, err);
    if (!code)
        code = prepare(database, err);
    if (code) {
        fp_database_abort(database);
        *out = NULL;
    }
    return code;
}

// A statement whose values are bound: runs it.
static int step(struct fp_database *database, sqlite3_stmt *statement, struct fp_error *err) {
    int code = sqlite3_step(statement) == SQLITE_DONE ? 0 : fail(database, err);
    sqlite3_reset(statement);
    return code;
}

static void bind_span(sqlite3_stmt *statement, int place, struct fp_text text, bool copied) {
    sqlite3_bind_text64(statement, place, text.at ? text.at : "", text.size,
                        copied ? SQLITE_TRANSIENT : SQLITE_STATIC, SQLITE_UTF8);
}

static void bind_text(sqlite3_stmt *statement, int place, struct fp_text text) {
    struct fp_mender mender = { 0 };
    struct fp_text whole = fp_mend_text(&mender, text);
    bind_span(statement, place, whole, whole.at != text.at);
    fp_mender_free(&mender);
}

static void bind_json(struct fp_database *database, sqlite3_stmt *statement, int place, struct fp_text text) {
    struct fp_text whole = fp_mend_json(&database->mender, text);
    bind_span(statement, place, whole, whole.at != text.at);
}

static void bind_u64(sqlite3_stmt *statement, int place, uint64_t value, struct fp_text text) {
    if (value > INT64_MAX)
        bind_text(statement, place, text);
    else
        sqlite3_bind_int64(statement, place, (sqlite3_int64)value);
}

static void bind_id(sqlite3_stmt *statement, int place, const struct fp_trace_id *id) {
    if (id->kind == FP_ID_ABSENT)
        sqlite3_bind_null(statement, place);
    else if (id->kind == FP_ID_NUMBER)
        bind_u64(statement, place, id->number, id->text);
    else if (id->kind == FP_ID_NEGATIVE)
        sqlite3_bind_int64(statement, place, (sqlite3_int64)id->number);
    else
        bind_text(statement, place, id->text);
}

static void bind_field(sqlite3_stmt *statement, int place, const struct fp_trace_field *field) {
    struct fp_trace_id id = fp_field_id(field);
    bind_id(statement, place, &id);
}

static void bind_time(sqlite3_stmt *statement, int place, bool known, int64_t ns) {
    if (known)
        sqlite3_bind_int64(statement, place, ns);
    else
        sqlite3_bind_null(statement, place);
}

// The row of a text in `name`, written at its first use.
static int name_row(struct fp_database *database, struct fp_text text, sqlite3_int64 *row,
                    struct fp_error *err) {
    uint32_t id = fp_intern_add(database->names, text);
    if (id == FP_NO_ID)
        return no_memory(database, err);
    *row = (sqlite3_int64)id + 1;
    if (id < database->names_written)
        return 0;
    database->names_written = id + 1;
    sqlite3_bind_int64(database->name, 1, *row);
    bind_text(database->name, 2, text);
    return step(database, database->name, err);
}

static int lane_row(struct fp_database *database, const struct fp_trace_event *event, struct lane_row **lane,
                    struct fp_error *err) {
    if (event->lane >= database->lane_room) {
        size_t room = (size_t)event->lane * 2 + 64;
        struct lane_row *grown = realloc(database->lanes, room * sizeof(*grown));
        if (!grown)
            return no_memory(database, err);
        memset(grown + database->lane_room, 0, (room - database->lane_room) * sizeof(*grown));
        database->lanes = grown;
        database->lane_room = room;
    }
    *lane = &database->lanes[event->lane];
    if ((*lane)->row)
        return 0;
    (*lane)->row = ++database->last_lane;
    sqlite3_bind_int64(database->lane, 1, (*lane)->row);
    sqlite3_bind_int64(database->lane, 2, database->trace);
    bind_id(database->lane, 3, &event->pid);
    bind_id(database->lane, 4, &event->tid);
    return step(database, database->lane, err);
}

static const char *kind_of(const struct fp_trace_event *event) {
    switch (event->category) {
    case FP_CAT_CPU_OP:
        return "operator";
    case FP_CAT_USER_ANNOTATION:
    case FP_CAT_TRACE:
        return "annotation";
    case FP_CAT_PYTHON:
        return "python";
    case FP_CAT_RUNTIME:
    case FP_CAT_DRIVER:
        return "call";
    case FP_CAT_KERNEL:
        return "kernel";
    case FP_CAT_MEMCPY:
        return "copy";
    case FP_CAT_MEMSET:
        return "fill";
    case FP_CAT_GPU_ANNOTATION:
        return "device annotation";
    case FP_CAT_SYNC:
        return "synchronisation";
    case FP_CAT_OVERHEAD:
        return "overhead";
    case FP_CAT_AC2G:
    case FP_CAT_FWDBWD:
        return "arrow";
    default:
        return fp_event_is_flow(event) ? "arrow" : fp_event_is_work(event) ? "kernel" : "other";
    }
}

// Members that have no column; the bad ones among the known too.
static bool goes_to_other(const struct fp_trace_event *event, const struct fp_trace_field *field) {
    static const char *known[] = { "ph", "cat", "name", "pid", "tid", "args", "ts", "dur", "id" };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (field->key_size == strlen(known[i]) && memcmp(field->key, known[i], field->key_size) == 0)
            return (i == 6 && event->ts_state == FP_NUMBER_BAD) ||
                   (i == 7 && event->dur_state == FP_NUMBER_BAD);
    return true;
}

static struct fp_text whole_value(const struct fp_trace_field *field) {
    bool quoted = field->type == '"';
    return (struct fp_text){ field->value - quoted, field->value_size + 2u * quoted };
}

static int bind_other(struct fp_database *database, int place, const struct fp_trace_event *event,
                      struct fp_error *err) {
    char *json = NULL, *to = NULL;
    sqlite3_bind_null(database->event, place);
    for (uint32_t i = 0; i < event->field_count; i++) {
        const struct fp_trace_field *field = &event->fields[i];
        if (!goes_to_other(event, field))
            continue;
        bool first = !json;
        if (first && !(to = json = malloc(event->raw.size + (size_t)event->field_count * 4 + 4)))
            return no_memory(database, err);
        struct fp_text value = whole_value(field);
        to = stpcpy(to, first ? "{\"" : ", \"");
        to = mempcpy(to, field->key, field->key_size);
        to = stpcpy(to, "\": ");
        to = mempcpy(to, value.at, value.size);
    }
    if (json) {
        *to++ = '}';
        struct fp_text whole = fp_mend_json(&database->mender, (struct fp_text){ json, (size_t)(to - json) });
        bind_span(database->event, place, whole, true);
        free(json);
    }
    return 0;
}

static int push_begin(struct fp_database *database, struct lane_row *lane, sqlite3_int64 row, int64_t ts_ns,
                      struct fp_error *err) {
    size_t place = database->free_begin;
    if (place) {
        database->free_begin = database->begins[place - 1].below;
    } else {
        if (database->begin_count == database->begin_room) {
            size_t room = database->begin_room * 2 + 64;
            struct open_begin *grown = realloc(database->begins, room * sizeof(*grown));
            if (!grown)
                return no_memory(database, err);
            database->begins = grown;
            database->begin_room = room;
        }
        place = ++database->begin_count;
    }
    database->begins[place - 1] = (struct open_begin){ row, ts_ns, lane->top };
    lane->top = place;
    return 0;
}

static int pop_begin(struct fp_database *database, struct lane_row *lane, int64_t end_ns,
                     struct fp_error *err) {
    if (!lane->top)
        return 0;
    struct open_begin *begin = &database->begins[lane->top - 1];
    size_t place = lane->top;
    int64_t dur;
    lane->top = begin->below;
    begin->below = database->free_begin;
    database->free_begin = place;
    if (__builtin_sub_overflow(end_ns, begin->ts_ns, &dur))
        return 0;
    sqlite3_bind_int64(database->end, 1, begin->row);
    sqlite3_bind_int64(database->end, 2, dur);
    sqlite3_bind_int64(database->end, 3, end_ns);
    return step(database, database->end, err);
}

// The names that metadata gives to processes and lanes.
static int note_metadata(struct fp_database *database, const struct fp_trace_event *event,
                         const struct lane_row *lane, struct fp_error *err) {
    const struct fp_trace_field *name = fp_event_arg(event, FP_ARG_NAME);
    if (!name || name->type != '"')
        return 0;
    char *text = malloc(name->value_size + 1u);
    if (!text)
        return no_memory(database, err);
    size_t size = fp_text_unescape(fp_field_text(name), text);
    int code = 0;
    if (fp_text_equals(event->name, "process_name")) {
        // Lanes of the process that come later are named at the end, from the events.
        sqlite3_bind_int64(database->process, 1, database->trace);
        bind_id(database->process, 2, &event->pid);
        bind_text(database->process, 3, (struct fp_text){ text, size });
        code = step(database, database->process, err);
        sqlite3_clear_bindings(database->process);
    } else if (fp_text_equals(event->name, "thread_name")) {
        sqlite3_bind_int64(database->thread, 1, lane->row);
        bind_text(database->thread, 2, (struct fp_text){ text, size });
        code = step(database, database->thread, err);
        sqlite3_clear_bindings(database->thread);
    }
    free(text);
    return code;
}

int fp_database_begin_trace(struct fp_database *database, const char *name, struct fp_error *err) {
    database->trace++;
    database->events = 0;
    database->begin_count = database->free_begin = 0;
    if (database->lanes)
        memset(database->lanes, 0, database->lane_room * sizeof(*database->lanes));
    free(database->trace_name);
    database->trace_name = strdup(name);
    return database->trace_name ? 0 : no_memory(database, err);
}

int fp_database_add(struct fp_database *database, const struct fp_trace_event *event, struct fp_error *err) {
    sqlite3_stmt *to = database->event;
    const struct fp_trace_field *phase = fp_event_field(event, "ph"), *args = fp_event_field(event, "args");
    const struct fp_trace_field *framework = fp_event_arg(event, FP_ARG_EXTERNAL_ID);
    sqlite3_int64 name, category;
    struct lane_row *lane;
    int64_t end_ns = 0;
    int code = name_row(database, event->name, &name, err);
    if (!code)
        code = name_row(database, event->cat, &category, err);
    if (!code)
        code = lane_row(database, event, &lane, err);
    if (code)
        return code;
    bool timed = event->ts_state == FP_NUMBER_OK, long_enough = timed && event->dur_state == FP_NUMBER_OK;
    bool ended =
        long_enough && event->dur_ns >= 0 && !__builtin_add_overflow(event->ts_ns, event->dur_ns, &end_ns);
    sqlite3_bind_int64(to, 1, database->trace);
    sqlite3_bind_int64(to, 2, (sqlite3_int64)event->number);
    bind_text(to, 3, fp_field_text(phase));
    sqlite3_bind_int64(to, 4, category);
    sqlite3_bind_int64(to, 5, name);
    sqlite3_bind_int64(to, 6, lane->row);
    bind_time(to, 7, timed, event->ts_ns);
    bind_time(to, 8, event->dur_state == FP_NUMBER_OK, event->dur_ns);
    bind_time(to, 9, ended, end_ns);
    bind_id(to, 10, &event->id);
    bind_field(to, 11, fp_event_arg(event, FP_ARG_DEVICE));
    bind_field(to, 12, fp_event_arg(event, FP_ARG_STREAM));
    bind_field(to, 13, fp_event_arg(event, FP_ARG_CORRELATION));
    bind_field(to, 14, framework ? framework : fp_event_arg(event, FP_ARG_EXTERNAL_ID_OLD));
    bind_field(to, 15, fp_event_arg(event, FP_ARG_BYTES));
    bind_text(to, 16, fp_text_of(kind_of(event)));
    if (args)
        bind_json(database, to, 17, whole_value(args));
    else
        sqlite3_bind_null(to, 17);
    code = bind_other(database, 18, event, err);
    if (!code)
        code = step(database, to, err);
    sqlite3_clear_bindings(to);
    database->events++;
    if (!code && timed && event->phase == 'B')
        code = push_begin(database, lane, sqlite3_last_insert_rowid(database->handle), event->ts_ns, err);
    else if (!code && timed && event->phase == 'E')
        code = pop_begin(database, lane, event->ts_ns, err);
    else if (!code && event->phase == 'M')
        code = note_metadata(database, event, lane, err);
    return code;
}

static int add_headers(struct fp_database *database, const struct fp_reader *reader, struct fp_error *err) {
    sqlite3_stmt *insert;
    int code = 0;
    if (sqlite3_prepare_v2(database->handle, "INSERT INTO header VALUES (?, ?, ?, ?)", -1, &insert, NULL) !=
        SQLITE_OK)
        return fail(database, err);
    for (size_t i = 0; i < fp_reader_header_count(reader) && !code; i++) {
        const struct fp_trace_header *header = fp_reader_header(reader, i);
        sqlite3_bind_int64(insert, 1, database->trace);
        bind_text(insert, 2, header->key);
        bind_json(database, insert, 3, header->value);
        sqlite3_bind_int(insert, 4, header->after_events);
        code = step(database, insert, err);
    }
    sqlite3_finalize(insert);
    return code;
}

int fp_database_end_trace(struct fp_database *database, const struct fp_reader *reader,
                          struct fp_error *err) {
    struct fp_reader_summary summary;
    sqlite3_stmt *insert;
    int64_t base = 0;
    fp_reader_summarise(reader, &summary);
    fp_reader_base_time(reader, &base);
    int code = add_headers(database, reader, err);
    if (code)
        return code;
    if (sqlite3_prepare_v2(database->handle, "INSERT INTO trace VALUES (?, ?, ?, ?, ?, ?)", -1, &insert,
                           NULL) != SQLITE_OK)
        return fail(database, err);
    sqlite3_bind_int64(insert, 1, database->trace);
    bind_text(insert, 2, fp_text_of(database->trace_name));
    sqlite3_bind_int64(insert, 3, (sqlite3_int64)database->events);
    sqlite3_bind_int64(insert, 4, base);
    sqlite3_bind_int(insert, 5, summary.array_form);
    sqlite3_bind_int(insert, 6, fp_reader_events_complete(reader));
    code = step(database, insert, err);
    sqlite3_finalize(insert);
    // Lanes that were met after their process was named.
    if (!code)
        code = run(database,
                   "UPDATE lane SET process = (SELECT max(other.process) FROM lane other WHERE other.trace = "
                   "lane.trace "
                   "AND other.pid IS lane.pid) WHERE process IS NULL",
                   err);
    return code;
}

static void close_handle(struct fp_database *database) {
    sqlite3_finalize(database->event);
    sqlite3_finalize(database->name);
    sqlite3_finalize(database->lane);
    sqlite3_finalize(database->end);
    sqlite3_finalize(database->process);
    sqlite3_finalize(database->thread);
    database->event = database->name = database->lane = database->end = database->process = database->thread =
        NULL;
}

int fp_database_commit(struct fp_database *database, struct fp_error *err) {
    int code = run(database, database_views, err);
    if (!code)
        code = run(database, "COMMIT", err);
    close_handle(database);
    if (!code && sqlite3_close(database->handle) != SQLITE_OK)
        code = fail(database, err);
    else if (!code)
        database->handle = NULL;
    if (!code && rename(database->temporary, database->path) != 0) {
        code = -errno;
        fp_error_set(err, "cannot write %s: %s. Nothing was left behind", database->path, strerror(-code));
    } else if (!code) {
        fp_temporary_forget(database->temporary);
        free(database->temporary);
        database->temporary = NULL;
    }
    fp_database_abort(database);
    return code;
}

void fp_database_abort(struct fp_database *database) {
    if (!database)
        return;
    close_handle(database);
    sqlite3_close(database->handle);
    if (database->temporary && database->made)
        unlink(database->temporary);
    fp_temporary_forget(database->temporary);
    fp_intern_free(database->names);
    fp_mender_free(&database->mender);
    free(database->trace_name);
    free(database->lanes);
    free(database->begins);
    free(database->temporary);
    free(database->path);
    free(database);
}
