# test_verbs_fix.py - `flagprof fix`: what comes out is strict JSON, and no slice of it crosses another.

import gzip
import json
import random
import subprocess
from collections import Counter
from decimal import Decimal

import pytest


def strict(text):
    return json.loads(text, parse_float=Decimal, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def load(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return strict(file.read())


def events_of(trace):
    return trace if isinstance(trace, list) else trace["traceEvents"]


def crossings(events):
    """Pairs of slices of one lane that overlap and do not hold one another, by a plain sweep."""
    lanes = {}
    for number, event in enumerate(events):
        if event.get("ph") == "X" and event.get("dur") is not None:
            start = Decimal(str(event["ts"]))
            lanes.setdefault((str(event.get("pid")), str(event.get("tid"))), []).append(
                (start, start + Decimal(str(event["dur"])), number))
    found = []
    for slices in lanes.values():
        stack = []
        for start, end, number in sorted(slices, key=lambda s: (s[0], -s[1], s[2])):
            while stack and stack[-1][1] <= start:
                stack.pop()
            if stack and end > stack[-1][1]:
                found.append((stack[-1][2], number))
            else:
                stack.append((start, end, number))
    return found


@pytest.fixture
def fix(run_cli, tmp_path):
    def call(source, *arguments):
        target = tmp_path / "good.json"
        done = run_cli("fix", source, *arguments, "-o", target, "--format", "json")
        report = done.json()
        return load(target), {row["change"]: row["count"] for row in report["changes"]}, report

    return call


@pytest.fixture
def write(tmp_path):
    def call(events):
        path = tmp_path / "bad.json"
        path.write_text(events if isinstance(events, str) else json.dumps(events))
        return path

    return call


def slice_(name, ts, dur, pid=1, tid=1, **more):
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, **more}


def case(fixtures_dir, number):
    [path] = (fixtures_dir / "cases").glob(f"{number}-*.json")
    return path


def by_name(trace):
    return {event["name"]: event for event in events_of(trace)}


def test_case_52_a_crossing_slice_moves_to_a_lane_of_its_own(fix, fixtures_dir):
    good, changes, _ = fix(case(fixtures_dir, 52))
    events = by_name(good)
    assert events["child"]["tid"] not in (1,) and events["child"]["dur"] == 80
    assert events["parent"]["tid"] == events["later"]["tid"] == 1
    assert events["thread_name"]["tid"] == events["child"]["tid"]
    assert "overlap" in events["thread_name"]["args"]["name"]
    assert changes == {"moved": 1, "lanes": 1}
    assert crossings(events_of(good)) == []


def test_case_54_kernels_that_overlap_in_a_stream_are_both_shown(fix, fixtures_dir):
    good, changes, _ = fix(case(fixtures_dir, 54))
    tids = [e["tid"] for e in events_of(good) if e["ph"] == "X"]
    assert len(set(tids)) == 4 and tids[0] == 7 and tids[2:] == [8, 9]
    assert changes == {"moved": 1, "lanes": 1}
    assert all(e["args"]["stream"] in (7, 8, 9) for e in events_of(good) if e["ph"] == "X")


def test_case_29_and_30_open_slices_are_ended(fix, fixtures_dir):
    good, changes, _ = fix(case(fixtures_dir, 29))
    assert events_of(good)[0]["dur"] == 150 and changes == {"open_slice": 1}
    good, changes, _ = fix(case(fixtures_dir, 30))
    assert [e["dur"] for e in events_of(good)] == [25, 0, 4] and changes == {"open_slice": 1}


def test_case_32_rounding_is_clipped(fix, fixtures_dir):
    good, changes, _ = fix(case(fixtures_dir, 32))
    assert [e["dur"] for e in events_of(good)] == [100, 90, 88] and changes == {"clipped": 1}


def test_case_62_metadata_is_written_once(fix, fixtures_dir):
    good, changes, _ = fix(case(fixtures_dir, 62))
    assert len(events_of(good)) == 3 and changes == {"metadata": 78}


def test_case_25_times_become_numbers_without_losing_a_digit(fix, fixtures_dir):
    whole = events_of(load(case(fixtures_dir, 25)))
    good, changes, _ = fix(case(fixtures_dir, 25))
    written = [e for e in events_of(good) if "ts" in e]
    assert [e["ts"] for e in written] == [Decimal(e["ts"]) for e in whole if "ts" in e]
    assert changes["time_text"] == sum(isinstance(e.get(key), str) for e in whole for key in ("ts", "dur"))


@pytest.mark.parametrize("number, change", [
    ("01", "lost"), ("02", "escapes"), ("04", "controls"), ("05", "utf8"), ("07", "counters"), ("08", "lost"),
    ("10", "closed_file"), ("11", "closed_file"), ("12", "event_cut"), ("14", "trailer"), ("17", "nested_list")])
def test_broken_text_becomes_strict_json_and_the_kind_is_listed(fix, fixtures_dir, number, change):
    good, changes, report = fix(case(fixtures_dir, number))
    assert changes.get(change), changes
    assert report["events_written"] == len(events_of(good)) > 0


@pytest.mark.parametrize("name", ["15-utf16-and-bom-utf16le", "15-utf16-and-bom-bom8"])
def test_other_encodings_become_plain_utf8(fix, fixtures_dir, name):
    good, changes, _ = fix(fixtures_dir / "cases" / f"{name}.json")
    assert len(events_of(good)) > 0 and changes["encoding"] == 1


def test_a_trailing_comma_goes_and_nothing_else(fix, write):
    good, changes, _ = fix(write('[{"ph": "X", "name": "a, ]", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {"l": [1, 2 , ], }, }, ]'))
    assert events_of(good) == [slice_("a, ]", 1, 2, args={"l": [1, 2]})]
    assert changes["commas"] == 3


def test_an_unescaped_backslash_keeps_the_path(fix, fixtures_dir):
    good, _, _ = fix(case(fixtures_dir, "02"))
    assert events_of(good)[0]["name"] == "torch\\cuda\\__init__.py(219): _lazy_init"


def test_case_24_secrets_go_on_request_only(run_cli, fix, fixtures_dir, tmp_path):
    source = case(fixtures_dir, 24)
    assert fix(source)[1] == {}
    good, changes, _ = fix(source, "--drop-secrets")
    assert changes == {"secrets": 1} and good["metadata"]["system"]["env"]["HUB_TOKEN"] == "[removed]"


def test_secrets_in_events_and_texts_go_too(fix, write):
    path = write({"traceEvents": [slice_("a", 1, 1, args={"env": ["PATH=/bin", "API_KEY=abc"], "deep": {"my_password": "x"}}),
                                  {"ph": "M", "name": "n", "pid": 1, "args": {"AWS_SECRET_ACCESS_KEY": "y", "n": 1}}],
                  "GITHUB_TOKEN": "z", "eos_token": "</s>", "sort_key": "kept", "api_key": ""})
    good, changes, _ = fix(path, "--drop-secrets")
    assert changes == {"secrets": 4}
    assert events_of(good)[0]["args"] == {"env": ["PATH=/bin", "API_KEY=[removed]"], "deep": {"my_password": "[removed]"}}
    assert events_of(good)[1]["args"] == {"AWS_SECRET_ACCESS_KEY": "[removed]", "n": 1}
    assert {k: v for k, v in good.items() if k != "traceEvents"} == {
        "GITHUB_TOKEN": "[removed]", "eos_token": "</s>", "sort_key": "kept", "api_key": ""}


def test_begins_and_ends_become_pairs(fix, write):
    def half(phase, name, ts, **more):
        return {"ph": phase, "name": name, "pid": 1, "tid": 1, "ts": ts, **more}

    good, changes, _ = fix(write([half("E", "lone", 1), half("B", "outer", 2, cat="c"), half("B", "inner", 3),
                                  half("B", "done", 4), half("E", "done", 5), slice_("last", 9, 11, tid=2)]))
    events = events_of(good)
    assert changes == {"lone_end": 1, "open_begin": 2}
    assert (events[0]["ph"], events[0]["s"]) == ("i", "t")
    assert [(e["ph"], e["name"], e["ts"]) for e in events[-2:]] == [("E", "inner", 20), ("E", "outer", 20)]
    assert events[-1]["cat"] == "c" and events[-1]["tid"] == 1


def test_a_pair_that_crosses_moves_with_both_halves(fix, write):
    def half(phase, name, ts):
        return {"ph": phase, "name": name, "pid": 1, "tid": 1, "ts": ts}

    good, changes, _ = fix(write([slice_("x", 0, 100), half("B", "b", 60), half("E", "b", 140)]))
    assert changes == {"moved": 1, "lanes": 1}
    moved = [e for e in events_of(good) if e["name"] == "b"]
    assert len({e["tid"] for e in moved}) == 1 and moved[0]["tid"] != 1


def test_what_a_moved_slice_holds_and_its_arrows_go_with_it(fix, write):
    good, changes, _ = fix(write([
        slice_("parent", 0, 100), slice_("child", 60, 80), slice_("grandchild", 70, 10),
        {"ph": "s", "id": 1, "cat": "c", "name": "a", "pid": 1, "tid": 1, "ts": 60},
        {"ph": "f", "id": 1, "cat": "c", "name": "a", "pid": 1, "tid": 1, "ts": 5, "bp": "e"},
        {"ph": "s", "id": 2, "cat": "c", "name": "a", "pid": 1, "tid": 1, "ts": 75}]))
    tids = [e["tid"] for e in events_of(good)]
    assert tids[1] == tids[2] == tids[3] == tids[5] != 1 and tids[0] == tids[4] == 1
    assert changes == {"moved": 2, "lanes": 1, "arrows_moved": 2}


def test_the_profilers_window_ends_what_is_open(fix, write):
    good, _, _ = fix(write([slice_("PyTorch Profiler (0)", 0, 50, pid="Spans", cat="Trace"),
                            slice_("open", 10, -1), slice_("late", 60, 10)]))
    assert by_name(good)["open"]["dur"] == 40


def test_an_open_slice_ends_with_what_holds_it(fix, write):
    good, changes, _ = fix(write([slice_("holder", 0, 100), slice_("open", 10, -1), slice_("end", 900, 100)]))
    assert by_name(good)["open"]["dur"] == 90 and changes == {"open_slice": 1}


def test_random_heaps_of_slices_come_out_without_a_crossing(fix, write):
    dice = random.Random(7)
    for _ in range(12):
        events = [slice_(f"s{i}", dice.randrange(200), dice.randrange(-1, 40), tid=dice.randrange(2)) for i in range(150)]
        good, changes, _ = fix(write(events))
        assert crossings(events_of(good)) == []
        slices = [e for e in events_of(good) if e["ph"] == "X"]
        assert [(e["name"], e["ts"]) for e in slices] == [(e["name"], e["ts"]) for e in events]
        unchanged = sum(a["dur"] == b["dur"] for a, b in zip(slices, events))
        assert unchanged >= len(events) - changes.get("clipped", 0) - changes.get("open_slice", 0)
        again, more, _ = fix(write(events_of(good)))
        assert more == {} and events_of(again) == events_of(good)


def test_ours_and_others_traces_come_out_whole(run_cli, fixtures_dir, shared, tmp_path):
    sources = sorted((fixtures_dir / "traces").glob("*.gz"))
    public = shared / "traces" / "public"
    sources += [p for p in sorted(public.rglob("*")) if p.suffix in (".json", ".gz") and p.stat().st_size < 300_000]
    for source in sources:
        target = tmp_path / "good.json"
        done = run_cli("fix", source, "-o", target, "--format", "json")
        good = events_of(load(target))
        assert crossings(good) == [], source
        try:
            whole = events_of(load(source))
        except ValueError:
            continue
        changes = {row["change"]: row["count"] for row in done.json()["changes"]}
        gone = sum(changes.get(kind, 0) for kind in ("metadata", "no_event", "timeless"))
        added = changes.get("open_begin", 0) + changes.get("lanes", 0)
        assert len(good) == len(whole) - gone + added, (source, changes)
        if not changes:
            assert good == whole
        before = Counter((e.get("ph"), e.get("name")) for e in whole if e.get("ph") == "X")
        assert Counter((e.get("ph"), e.get("name")) for e in good if e.get("ph") == "X") == before, source


def test_a_healthy_file_comes_out_equal(fix, fixtures_dir):
    source = fixtures_dir / "traces" / "h200_cuda_graph.json.gz"
    good, changes, _ = fix(source)
    assert {k: v for k, v in changes.items() if k != "metadata"} == {}
    whole = load(source)
    assert [e for e in events_of(good) if e["ph"] != "M"] == [e for e in events_of(whole) if e["ph"] != "M"]


@pytest.mark.parametrize("number, word", [("20", "empty"), ])
def test_what_is_no_trace_is_refused(run_cli, fixtures_dir, tmp_path, number, word):
    done = run_cli("fix", fixtures_dir / "cases" / "20-empty-forms-c-zero-bytes.json", "-o", tmp_path / "x.json")
    assert done.returncode == 2 and word in done.stderr and list(tmp_path.iterdir()) == []


def test_a_size_limit_leaves_nothing(tree, fixtures_dir, tmp_path):
    done = subprocess.run(["bash", "-c", 'ulimit -f 100; "$0" fix "$1" -o "$2"', tree.cli,
                           fixtures_dir / "traces" / "h200_train.json.gz", tmp_path / "x.json"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "cannot write" in done.stderr and list(tmp_path.iterdir()) == []


def test_standard_input_to_standard_output(run_cli, fixtures_dir):
    done = run_cli("fix", "-", "-o", "-", input=case(fixtures_dir, 32).read_bytes()).ok()
    assert [e["dur"] for e in events_of(strict(done.stdout))] == [100, 90, 88]
