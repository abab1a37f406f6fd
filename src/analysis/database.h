// database.h - traces as an SQLite database, with views that answer the usual questions.
//
// In:  events of one file after the other.
// Out: a database under a temporary name that is renamed when all was written. The tables and views stand
//      in docs/sqlite.md. Integers of more than 63 bits are kept as text.
#ifndef FLAGPROF_ANALYSIS_DATABASE_H
#define FLAGPROF_ANALYSIS_DATABASE_H

#include "trace/reader.h"

struct fp_database;

// `path` is where the database will be; `salvaged` as in emit.h. 0 or a negative errno with a sentence.
int fp_database_open(const char *path, bool salvaged, struct fp_database **database, struct fp_error *err);

// Begins a trace; its events follow, then fp_database_end_trace with the reader that they came from.
int fp_database_begin_trace(struct fp_database *database, const char *name, struct fp_error *err);
int fp_database_add(struct fp_database *database, const struct fp_trace_event *event, struct fp_error *err);
int fp_database_end_trace(struct fp_database *database, const struct fp_reader *reader, struct fp_error *err);

// Makes indices and views, closes and renames. Frees the database whatever happens.
int fp_database_commit(struct fp_database *database, struct fp_error *err);
void fp_database_abort(struct fp_database *database); // NULL is allowed

#endif
