# test_verbs_convert.py - `flagprof convert`: every form holds the same events, to the last digit and the last key.

import csv
import gzip
import io
import json
import shutil
import sqlite3
import subprocess
from decimal import Decimal

import pytest

# Files of tests/fixtures/cases that a strict JSON parser takes, and whose list is a list of objects.
READABLE = [
    "19-only-metadata", "20-empty-forms-a-empty-list", "21-args-is-array", "23-metadata-after-events",
    "24-secret-in-metadata", "25-ts-as-string-epoch", "27-base-time-two-schemes-rank0-absolute", "29-negative-duration",
    "30-dur-minus-one", "34-tid-64-bit", "35-pid-over-32-bit", "37-lone-flow-ends-on-queries",
    "40-two-producers-one-id-space", "44-no-correlation-only-external-id", "57-mangled-names",
    "59-merge-id-collisions-no-header", "62-duplicated-metadata", "64-too-big-for-memory",
]
FIXTURES = [f"cases/{name}.json" for name in READABLE] + [
    f"traces/h200_{name}.json.gz"
    for name in ("cuda_graph", "ddp_rank1", "train_stack_memory_shapes", "two_gpus_one_process")
]


def strict(text):
    return json.loads(text, parse_float=Decimal, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def load(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return strict(file.read())


def events_of(trace):
    return trace if isinstance(trace, list) else trace["traceEvents"]


@pytest.mark.parametrize("name", FIXTURES)
@pytest.mark.parametrize("how", [(), ("--pretty",), ("--compact",)], ids=["as it is", "pretty", "compact"])
def test_json_reads_back_equal_with_its_keys_in_order(run_cli, fixtures_dir, tmp_path, name, how):
    target = tmp_path / "x.json"
    run_cli("convert", fixtures_dir / name, *how, "-o", target).ok()
    whole, back = load(fixtures_dir / name), load(target)
    assert back == whole
    if isinstance(whole, dict):
        assert list(back) == list(whole)


def test_pretty_has_a_member_a_line_and_compact_has_no_blank(run_cli, fixtures_dir):
    source = fixtures_dir / "cases" / "24-secret-in-metadata.json"
    pretty = run_cli("convert", source, "--pretty", "-o", "-").ok().stdout
    assert pretty == json.dumps(json.loads(source.read_text()), indent=2) + "\n"
    compact = run_cli("convert", source, "--compact", "-o", "-").ok().stdout
    assert compact == json.dumps(json.loads(source.read_text()), separators=(",", ":")) + "\n"


def test_every_public_trace_that_can_be_read_reads_back_equal(run_cli, shared, tmp_path):
    public = shared / "traces" / "public"
    if not public.is_dir():
        pytest.skip("no public traces here")
    checked = 0
    for source in sorted(p for p in public.rglob("*") if p.suffix in (".json", ".gz")):
        if source.stat().st_size > 700_000:
            continue  # the large ones only repeat
        try:
            whole = load(source)
        except ValueError:
            continue
        run_cli("convert", source, "-o", tmp_path / "x.json").ok()
        assert load(tmp_path / "x.json") == whole, source
        checked += 1
    assert checked > 40


def test_packed_forms_hold_the_same_text(run_cli, fixtures_dir, tmp_path):
    source = fixtures_dir / "traces" / "h200_train.json.gz"
    run_cli("convert", source, "-o", tmp_path / "x.json").ok()
    text = (tmp_path / "x.json").read_bytes()
    run_cli("convert", source, "-o", tmp_path / "x.json.gz").ok()
    assert gzip.decompress((tmp_path / "x.json.gz").read_bytes()) == text
    run_cli("convert", tmp_path / "x.json.gz", "-o", tmp_path / "x.json.zst").ok()
    assert (tmp_path / "x.json.zst").stat().st_size < len(text) / 5
    run_cli("convert", tmp_path / "x.json.zst", "--as", "json", "-o", tmp_path / "y").ok()
    assert (tmp_path / "y").read_bytes() == text
    if shutil.which("zstd"):
        assert subprocess.run(["zstd", "-dc", tmp_path / "x.json.zst"], capture_output=True).stdout == text


def nanoseconds(value):
    scaled = Decimal(str(value)) * 1000
    whole = scaled.to_integral_value(rounding="ROUND_HALF_UP")
    return int(whole)


def known_times(event):
    times = {}
    for key in ("ts", "dur"):
        try:
            times[key] = nanoseconds(event[key]) if not isinstance(event.get(key), bool) else None
        except (KeyError, ArithmeticError, TypeError):
            times[key] = None
    return times["ts"], times["dur"]


@pytest.mark.parametrize("name", FIXTURES)
def test_csv_holds_every_event(run_cli, fixtures_dir, tmp_path, name):
    target = tmp_path / "x.csv"
    run_cli("convert", fixtures_dir / name, "-o", target).ok()
    rows = list(csv.DictReader(io.StringIO(target.read_bytes().decode(), newline="")))
    events = events_of(load(fixtures_dir / name))
    assert len(rows) == len(events)
    for number, (row, event) in enumerate(zip(rows, events)):
        ts, dur = known_times(event)
        assert row["number"] == str(number)
        assert row["name"] == str(event.get("name", ""))
        assert (row["ts_ns"], row["dur_ns"]) == tuple("" if t is None else str(t) for t in (ts, dur))
        assert row["pid"] == str(event.get("pid", ""))
        assert (strict(row["args"]) if row["args"] else None) == event.get("args")
        known = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args"}
        assert (strict(row["other"]) if row["other"] else {}) == {k: v for k, v in event.items() if k not in known}


def test_a_line_of_csv_is_a_row_whatever_breaks_the_text(run_cli, tmp_path):
    source, target = tmp_path / "a.json", tmp_path / "a.csv"
    slices = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at, "dur": 1,
               "args": {"stream": 7, "note": "one\ntwo", "list": [1, 2]}, "sf\n": 4}
              for at, name in enumerate(("a\nb", "a\r\nb", 'say "so"\n', "plain"))]  # fmt: skip
    source.write_text(json.dumps({"traceEvents": slices}, indent=4))
    run_cli("convert", source, "-o", target).ok()
    sheets = {target.read_bytes().decode(): 4, run_cli("stats", source, "--format", "csv", "--by", "kernel").ok().stdout: 4}
    for text, count in sheets.items():
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert len(rows) == count and len(text.splitlines()) == count + 1
        assert sorted(row["name"] for row in rows) == ["a\\nb", "a\\r\\nb", "plain", 'say "so"\\n']
    rows = list(csv.DictReader(io.StringIO(target.read_bytes().decode(), newline="")))
    assert all(strict(row["args"]) == slices[0]["args"] and strict(row["other"]) == {"sf\n": 4} for row in rows)


def id_value(value):
    if isinstance(value, str) and value.isdigit() and int(value) < 2**64:
        value = int(value)
    if isinstance(value, int) and value >= 2**63:
        return str(value)
    return value


@pytest.mark.parametrize("name", FIXTURES)
def test_sqlite_holds_every_event(run_cli, fixtures_dir, tmp_path, name):
    target = tmp_path / "x.sqlite"
    run_cli("convert", fixtures_dir / name, "-o", target).ok()
    database = sqlite3.connect(target)
    trace = load(fixtures_dir / name)
    rows = database.execute("SELECT phase, category, name, pid, tid, ts_ns, dur_ns, arrow, args, other, correlation "
                            "FROM events ORDER BY number").fetchall()
    assert len(rows) == len(events_of(trace))
    for row, event in zip(rows, events_of(trace)):
        ts, dur = known_times(event)
        phase, category, text, pid, tid, ts_ns, dur_ns, arrow, args, other, correlation = row
        assert (phase, category, text) == (event.get("ph", ""), event.get("cat", ""), str(event.get("name", "")))
        assert (pid, tid, arrow) == tuple(id_value(event.get(key)) for key in ("pid", "tid", "id"))
        assert ts_ns == ts and (dur_ns == dur or event["ph"] == "B")
        assert (strict(args) if args else None) == event.get("args")
        known = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args"}
        assert (strict(other) if other else {}) == {k: v for k, v in event.items() if k not in known}
        if isinstance(event.get("args"), dict):
            assert correlation == id_value(event["args"].get("correlation"))
    if isinstance(trace, dict):
        headers = database.execute("SELECT key, value FROM header ORDER BY rowid").fetchall()
        assert {key: strict(value) for key, value in headers} == {k: v for k, v in trace.items() if k != "traceEvents"}
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.fixture(scope="module")
def database(run_cli, fixtures_dir, tmp_path_factory):
    target = tmp_path_factory.mktemp("sqlite") / "run.sqlite"
    files = [fixtures_dir / "traces" / f"h200_ddp_rank{rank}.json.gz" for rank in (0, 1)]
    run_cli("convert", *files, "-o", target).ok()
    return sqlite3.connect(target), [load(file) for file in files]


def test_several_files_are_traces_of_one_database(database):
    connection, traces = database
    rows = connection.execute("SELECT id, events, base_time_ns, complete FROM trace").fetchall()
    assert rows == [(i + 1, len(t["traceEvents"]), t["baseTimeNanoseconds"], 1) for i, t in enumerate(traces)]


def test_ready_views_agree_with_a_plain_count(database):
    connection, traces = database
    work = {}
    for number, trace in enumerate(traces, 1):
        for event in trace["traceEvents"]:
            if event["ph"] == "X" and event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
                calls, total = work.get((number, event["name"]), (0, 0))
                work[number, event["name"]] = calls + 1, total + nanoseconds(event["dur"])
    rows = connection.execute("SELECT trace, name, calls, total_ns FROM work_summary").fetchall()
    assert {(trace, name): (calls, total) for trace, name, calls, total in rows} == work
    launched = connection.execute("SELECT count(*), count(call_event), min(lag_ns) FROM launches").fetchone()
    assert launched[0] == sum(calls for calls, _ in work.values())
    assert launched[1] > launched[0] * 0.9
    pairs = connection.execute("SELECT count(*) FROM arrows WHERE category = 'ac2g'").fetchone()[0]
    assert pairs == launched[1]
    owned = connection.execute("SELECT sum(pieces) FROM operator_device_time WHERE operator IS NOT NULL").fetchone()[0]
    assert 0 < owned <= launched[0]
    for view in ("events", "slices", "device_work", "host_summary", "steps", "counters"):
        connection.execute(f"SELECT * FROM {view} LIMIT 5").fetchall()
    epoch = connection.execute("SELECT epoch_ns FROM slices WHERE trace = 1 ORDER BY number LIMIT 1").fetchone()[0]
    first = next(e for e in traces[0]["traceEvents"] if e["ph"] == "X")
    assert epoch == traces[0]["baseTimeNanoseconds"] + nanoseconds(first["ts"])


def test_pairs_get_their_length_and_lanes_their_names(run_cli, tmp_path):
    def half(phase, name, ts):
        return {"ph": phase, "name": name, "pid": 7, "tid": 1, "ts": ts}

    (tmp_path / "a.json").write_text(json.dumps([
        half("B", "outer", 1), half("B", "inner", 2), half("E", "inner", 3), half("E", "outer", 5), half("B", "open", 6),
        {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "me\u00e9"}},
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 1, "args": {"name": "main"}}]))
    run_cli("convert", tmp_path / "a.json", "-o", tmp_path / "a.db").ok()
    rows = sqlite3.connect(tmp_path / "a.db").execute("SELECT name, dur_ns, process, thread FROM slices").fetchall()
    assert rows == [("outer", 4000, "me\u00e9", "main"), ("inner", 1000, "me\u00e9", "main"),
                    ("open", None, "me\u00e9", "main")]


def test_bad_utf8_becomes_valid_and_is_counted(run_cli, fixtures_dir, tmp_path):
    source = fixtures_dir / "cases" / "05-invalid-utf8-name.json"
    done = run_cli("convert", source, "-o", tmp_path / "x.json", "--format", "json")
    assert done.json()["files"][0]["bad_utf8"] > 0
    assert any("\ufffd" in event["name"] for event in events_of(load(tmp_path / "x.json")))
    run_cli("convert", source, "-o", tmp_path / "x.csv").ok()
    assert "\ufffd" in (tmp_path / "x.csv").read_text(encoding="utf-8")
    run_cli("convert", source, "-o", tmp_path / "x.db").ok()
    names = sqlite3.connect(tmp_path / "x.db").execute("SELECT name FROM events").fetchall()
    assert any("\ufffd" in name for name, in names)


@pytest.mark.parametrize("name", ["10-array-not-closed", "11-object-cut-at-event-boundary", "12-cut-mid-event"])
def test_a_file_cut_short_is_written_closed_and_that_is_said(run_cli, fixtures_dir, tmp_path, name):
    done = run_cli("convert", fixtures_dir / "cases" / f"{name}.json", "-o", tmp_path / "x.json").ok()
    assert len(events_of(load(tmp_path / "x.json"))) > 0
    assert "not closed" in done.stderr or "ends" in done.stderr


@pytest.mark.parametrize("name", ["01-unescaped-quote-in-name", "02-unescaped-backslash", "04-control-char-0x01",
                                  "07-nan-counter", "08-handwritten-missing-quote"])
@pytest.mark.parametrize("form", ["json", "csv", "sqlite"])
def test_broken_text_is_refused_whole_and_salvaged_strictly(run_cli, fixtures_dir, tmp_path, name, form):
    source, target = fixtures_dir / "cases" / f"{name}.json", tmp_path / f"x.{form}"
    done = run_cli("convert", source, "-o", target)
    assert done.returncode == 2 and "line" in done.stderr
    assert list(tmp_path.iterdir()) == []
    run_cli("convert", source, "--salvage", "-o", target).ok()
    if form == "json":
        assert load(target) is not None
    elif form == "csv":
        rows = list(csv.DictReader(io.StringIO(target.read_bytes().decode(), newline="")))
        assert all(strict(row["args"] or "null") is None or row["args"] for row in rows)
    else:
        rows = sqlite3.connect(target).execute("SELECT args, name FROM events WHERE args IS NOT NULL").fetchall()
        assert all(strict(args) is not None for args, _ in rows)


def test_a_part_in_any_form(run_cli, fixtures_dir, tmp_path):
    source = fixtures_dir / "traces" / "h200_schedule.json.gz"
    run_cli("cut", source, "--step", "3", "-o", tmp_path / "cut.json").ok()
    run_cli("convert", source, "--step", "3", "-o", tmp_path / "part.json").ok()
    assert events_of(load(tmp_path / "part.json")) == events_of(load(tmp_path / "cut.json"))
    run_cli("convert", source, "--step", "3", "-o", tmp_path / "part.db").ok()
    count = sqlite3.connect(tmp_path / "part.db").execute("SELECT count(*) FROM event").fetchone()[0]
    assert count == len(events_of(load(tmp_path / "cut.json")))


@pytest.mark.parametrize("form", ["json", "json.gz", "csv"])
def test_a_full_disk_is_said(run_cli, fixtures_dir, form):
    source = fixtures_dir / "traces" / "h200_train.json.gz"
    done = run_cli("convert", source, "--as", form, "-o", "/dev/full")
    assert done.returncode == 2 and "No space left" in done.stderr


@pytest.mark.parametrize("form", ["json", "csv", "sqlite"])
def test_a_size_limit_leaves_the_old_file_and_no_half_one(tree, fixtures_dir, tmp_path, form):
    target = tmp_path / f"x.{form}"
    target.write_text("old")
    source = fixtures_dir / "traces" / "h200_train.json.gz"
    done = subprocess.run(["bash", "-c", 'ulimit -f 200; "$0" convert "$1" -o "$2"', tree.cli, source, target],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and str(target) in done.stderr and "cannot write" in done.stderr
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == [target.name]


def test_over_itself(run_cli, fixtures_dir, tmp_path):
    path = tmp_path / "x.json"
    shutil.copy(fixtures_dir / "cases" / "24-secret-in-metadata.json", path)
    before = load(path)
    run_cli("convert", path, "--compact", "-o", path).ok()
    assert load(path) == before and ", " not in path.read_text()


@pytest.mark.parametrize("arguments, word", [
    (["--as", "xml"], "no form"),
    (["--pretty", "--compact"], "exclude"),
    (["-o", "-", "--as", "sqlite"], "a file of its own"),
    (["-o", "/tmp/flagprof-no-such-folder/x.xlsx"], ".json.zst, .csv"), (["-o", "/tmp/flagprof-no-such-folder/x"], "--as json"),
])
def test_what_makes_no_sense_is_said(run_cli, fixtures_dir, arguments, word):
    done = run_cli("convert", fixtures_dir / "cases" / "52-crossing-slices.json", *arguments)
    assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1


def test_the_document_names_every_table_column_and_view(run_cli, fixtures_dir, tmp_path, tree):
    run_cli("convert", fixtures_dir / "cases" / "52-crossing-slices.json", "-o", tmp_path / "x.db").ok()
    text = (tree.root / "docs" / "sqlite.md").read_text()
    connection = sqlite3.connect(tmp_path / "x.db")
    for kind, name in connection.execute("SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view')"):
        [line] = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
        if kind == "table":
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
            assert all(column in line for column in columns), (name, columns)
