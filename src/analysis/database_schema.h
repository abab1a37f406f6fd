// database_schema.h - the tables and views of a converted trace. docs/sqlite.md explains them; a test
// compares the two.
#ifndef FLAGPROF_ANALYSIS_DATABASE_SCHEMA_H
#define FLAGPROF_ANALYSIS_DATABASE_SCHEMA_H

static const char database_tables[] =
    "CREATE TABLE flagprof (key TEXT PRIMARY KEY, value TEXT);\n"
    "INSERT INTO flagprof VALUES ('schema', 'flagprof-sqlite-1'), ('version', '" FLAGPROF_VERSION "');\n"
    "CREATE TABLE trace (id INTEGER PRIMARY KEY, path TEXT, events INTEGER, base_time_ns INTEGER,\n"
    "  array_form INTEGER, complete INTEGER);\n"
    "CREATE TABLE header (trace INTEGER REFERENCES trace, key TEXT, value TEXT, after_events INTEGER);\n"
    "CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL);\n"
    "CREATE TABLE lane (id INTEGER PRIMARY KEY, trace INTEGER REFERENCES trace, pid, tid, process TEXT, "
    "thread TEXT);\n"
    "CREATE TABLE event (id INTEGER PRIMARY KEY, trace INTEGER REFERENCES trace, number INTEGER, phase "
    "TEXT,\n"
    "  category INTEGER REFERENCES name, name INTEGER REFERENCES name, lane INTEGER REFERENCES lane,\n"
    "  ts_ns INTEGER, dur_ns INTEGER, end_ns INTEGER, arrow, device, stream, correlation, external_id, "
    "bytes,\n"
    "  kind TEXT, args TEXT, other TEXT);\n";

static const char database_views[] =
    "CREATE INDEX name_text ON name (text);\n"
    "CREATE INDEX event_lane ON event (lane, ts_ns);\n"
    "CREATE INDEX event_name ON event (name);\n"
    "CREATE INDEX event_correlation ON event (trace, correlation) WHERE correlation IS NOT NULL;\n"
    "CREATE INDEX event_external_id ON event (trace, external_id) WHERE external_id IS NOT NULL;\n"
    "CREATE INDEX event_arrow ON event (trace, category, arrow) WHERE phase IN ('s', 't', 'f');\n"
    // Everything readable, times absolute where the file says from when.
    "CREATE VIEW events AS SELECT event.id, event.trace, event.number, event.phase, c.text AS category, "
    "n.text AS name,\n"
    "  lane.pid, lane.tid, lane.process, lane.thread, event.ts_ns, event.dur_ns, event.end_ns,\n"
    "  event.ts_ns + trace.base_time_ns AS epoch_ns, event.kind, event.arrow, event.device, event.stream,\n"
    "  event.correlation, event.external_id, event.bytes, event.args, event.other\n"
    "  FROM event JOIN name n ON n.id = event.name JOIN name c ON c.id = event.category\n"
    "  JOIN lane ON lane.id = event.lane JOIN trace ON trace.id = event.trace;\n"
    "CREATE VIEW slices AS SELECT * FROM events WHERE phase IN ('X', 'B');\n"
    "CREATE VIEW device_work AS SELECT * FROM events WHERE kind IN ('kernel', 'copy', 'fill');\n"
    "CREATE VIEW arrows AS SELECT s.trace, s.arrow, c.text AS category, s.id AS from_event, f.id AS "
    "to_event,\n"
    "  s.ts_ns AS from_ns, f.ts_ns AS to_ns, f.ts_ns - s.ts_ns AS lag_ns\n"
    "  FROM event s JOIN event f ON f.trace = s.trace AND f.category = s.category AND f.arrow = s.arrow\n"
    "  AND f.phase = 'f' JOIN name c ON c.id = s.category WHERE s.phase = 's';\n"
    // One row for each piece of device work and the call that launched it; a graph's launch has many.
    "CREATE VIEW launches AS SELECT w.trace, w.correlation, h.id AS call_event, hn.text AS call, w.id AS "
    "work_event,\n"
    "  wn.text AS work, w.kind, h.ts_ns AS call_ns, w.ts_ns AS work_ns, w.ts_ns - h.ts_ns AS lag_ns, "
    "w.dur_ns\n"
    "  FROM event w JOIN name wn ON wn.id = w.name LEFT JOIN event h ON h.trace = w.trace\n"
    "  AND h.correlation = w.correlation AND h.kind = 'call' LEFT JOIN name hn ON hn.id = h.name\n"
    "  WHERE w.kind IN ('kernel', 'copy', 'fill');\n"
    "CREATE VIEW work_summary AS SELECT trace, kind, name, count(*) AS calls, sum(max(dur_ns, 0)) AS "
    "total_ns,\n"
    "  avg(max(dur_ns, 0)) AS mean_ns, min(dur_ns) AS least_ns, max(dur_ns) AS most_ns, sum(bytes) AS bytes\n"
    "  FROM device_work GROUP BY trace, kind, name ORDER BY total_ns DESC;\n"
    "CREATE VIEW host_summary AS SELECT trace, kind, category, name, count(*) AS calls,\n"
    "  sum(max(dur_ns, 0)) AS total_ns, avg(max(dur_ns, 0)) AS mean_ns, min(dur_ns) AS least_ns,\n"
    "  max(dur_ns) AS most_ns FROM slices WHERE kind IN ('operator', 'call', 'annotation', 'python', "
    "'other')\n"
    "  GROUP BY trace, kind, category, name ORDER BY total_ns DESC;\n"
    // Device time by the operator that carries its External id; NULL: nobody owns it.
    "CREATE VIEW operator_device_time AS SELECT w.trace, n.text AS operator, count(*) AS pieces,\n"
    "  sum(max(w.dur_ns, 0)) AS device_ns FROM event w LEFT JOIN event o ON o.trace = w.trace\n"
    "  AND o.external_id = w.external_id AND o.kind = 'operator' LEFT JOIN name n ON n.id = o.name\n"
    "  WHERE w.kind IN ('kernel', 'copy', 'fill') GROUP BY w.trace, n.text ORDER BY device_ns DESC;\n"
    "CREATE VIEW steps AS SELECT trace, id AS event, CAST(substr(name, 14) AS INTEGER) AS step, ts_ns, "
    "end_ns, dur_ns\n"
    "  FROM slices WHERE name GLOB 'ProfilerStep#[0-9]*' AND kind NOT IN ('device annotation')\n"
    "  ORDER BY trace, ts_ns;\n"
    "CREATE VIEW counters AS SELECT trace, name, pid, ts_ns, args FROM events WHERE phase = 'C';\n";

#endif
