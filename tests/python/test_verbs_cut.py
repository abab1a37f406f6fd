# test_verbs_cut.py - `flagprof cut`: what is kept is what was asked for, and the part is a true trace.

import gzip
import json
import subprocess
from decimal import Decimal

import pytest

ALL_TIME = ("--from", "@-999999999")


def load(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=Decimal, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def events_of(trace):
    return trace if isinstance(trace, list) else trace["traceEvents"]


@pytest.fixture
def cut(run_cli, tmp_path):
    def call(source, *conditions):
        target = tmp_path / "part.json"
        done = run_cli("cut", source, *conditions, "-o", target, "--format", "json")
        return load(target), done.json()

    return call


@pytest.fixture
def write(tmp_path):
    def call(events, **header):
        path = tmp_path / "whole.json"
        path.write_text(json.dumps({**header, "traceEvents": events} if header else events))
        return path

    return call


def slice_(name, ts, dur, pid=1, tid=1, **more):
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, **more}


def names(trace, phases="XBEibCP"):
    return [event.get("name") for event in events_of(trace) if event["ph"] in phases]


def work(event):
    return event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")


def call_of(event):
    return event.get("cat") in ("cuda_runtime", "cuda_driver")


def device_of(event):
    return event["args"].get("device", event["pid"])  # copies between devices name only their lane


def correlation(event):
    return event.get("args", {}).get("correlation")


def test_time_keeps_whole_what_touches_it(cut, write):
    path = write([slice_("before", 0, 10), slice_("into", 5, 20), slice_("inside", 12, 1), slice_("point", 10, 0),
                  slice_("out", 19, 50), slice_("after", 20, 1), slice_("ends-at-start", 1, 9)])
    part, said = cut(path, "--from", "10us", "--to", "20us")
    assert names(part) == ["into", "inside", "point", "out"]
    assert said["files"][0]["kept"] == 4
    part, _ = cut(path, "--from", "@10", "--to", "@20")
    assert names(part) == ["into", "inside", "point", "out"]


def test_relative_time_counts_from_the_first_event_that_has_one(cut, write):
    epoch = 1743521598000000
    path = write([slice_("no time", 0, 0), {"ph": "M", "name": "process_name", "pid": 1, "ts": 0, "args": {"name": "p"}},
                  slice_("b", epoch + 100, 5), slice_("a", epoch, 5)])
    part, _ = cut(path, "--from", "100us", "--to", "1ms")
    assert names(part) == ["b"]


def test_a_pair_that_spans_the_time_keeps_both_halves(cut, write):
    def half(phase, name, ts, **more):
        return {"ph": phase, "name": name, "pid": 1, "tid": 1, "ts": ts, **more}

    path = write([half("B", "outer", 0), half("B", "early", 1), half("E", "early", 2), half("B", "inner", 12),
                  half("E", "inner", 30), half("E", "outer", 40), half("B", "late", 50), half("E", "late", 60),
                  half("b", "async", 3, id="0x1", cat="c"), half("e", "async", 99, id="0x1", cat="c"),
                  half("b", "done", 3, id="0x2", cat="c"), half("e", "done", 4, id="0x2", cat="c"),
                  half("B", "never ends", 15)])
    part, _ = cut(path, "--from", "@10", "--to", "@20")
    assert [(e["ph"], e["name"]) for e in events_of(part)] == [
        ("B", "outer"), ("B", "inner"), ("E", "inner"), ("E", "outer"), ("b", "async"), ("e", "async"),
        ("B", "never ends")]


def arrows(trace):
    ends = {}
    for event in events_of(trace):
        if event["ph"] in "sf":
            ends.setdefault((event.get("cat"), event["id"]), set()).add(event["ph"])
    return ends


def test_no_arrow_of_a_pair_loses_an_end(cut, fixtures_dir):
    source = fixtures_dir / "traces" / "h200_train.json.gz"
    whole = load(source)
    paired = {key for key, ends in arrows(whole).items() if ends == {"s", "f"}}
    part, said = cut(source, "--from", "3ms", "--to", "9ms")
    kept = arrows(part)
    assert any(ends == {"s", "f"} for ends in kept.values())
    assert [key for key, ends in kept.items() if key in paired and ends != {"s", "f"}] == []
    starts = {(e["pid"], e["tid"], e["ts"]) for e in events_of(part) if e["ph"] == "X"}
    assert all((e["pid"], e["tid"], e["ts"]) in starts for e in events_of(part) if e["ph"] in "sf")
    assert said["files"][0]["kept"] == len(events_of(part))


def test_a_step_is_kept_with_the_work_that_it_launched(cut, fixtures_dir):
    source = fixtures_dir / "traces" / "h200_schedule.json.gz"
    whole = events_of(load(source))
    [step] = [e for e in whole if e["name"] == "ProfilerStep#3" and e["cat"] == "user_annotation"]
    inside = [e for e in whole if e["ph"] == "X" and e["pid"] == step["pid"] and not work(e)
              and e["cat"] not in ("gpu_user_annotation", "cuda_sync")
              and e["ts"] < step["ts"] + step["dur"] and (e["ts"] + e["dur"] > step["ts"] or e["ts"] >= step["ts"])]
    launched = {correlation(e) for e in inside if call_of(e)}
    kernels = [e for e in whole if work(e) and correlation(e) in launched]
    part, _ = cut(source, "--step", "3")
    kept = events_of(part)
    assert sorted(e["ts"] for e in kept if work(e)) == sorted(e["ts"] for e in kernels)
    assert len([e for e in kept if call_of(e)]) == len([e for e in inside if call_of(e)])
    assert [e["name"] for e in kept if e["name"].startswith("ProfilerStep")].count("ProfilerStep#3") >= 1
    assert not any(e["name"] in ("ProfilerStep#2", "ProfilerStep#4") for e in kept)


def test_the_slowest_step_and_its_neighbours(cut, write):
    steps = [slice_(f"ProfilerStep#{n}", n * 100, dur, cat="user_annotation")
             for n, dur in [(1, 50), (2, 40), (3, 90), (4, 60), (5, 50)]]
    path = write(steps)
    assert names(cut(path, "--around-slowest", "0")[0]) == ["ProfilerStep#3"]
    part, said = cut(path, "--around-slowest", "1")
    assert names(part) == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]
    assert any("slowest step is 3" in note for note in said["notes"])
    assert names(cut(path, "--every", "2")[0]) == ["ProfilerStep#1", "ProfilerStep#3", "ProfilerStep#5"]


def test_every_nth_slice_where_there_are_no_steps(cut, write):
    path = write([slice_(f"a{i}", i, 1) for i in range(7)] + [slice_(f"b{i}", i, 1, tid=2) for i in range(4)])
    part, said = cut(path, "--every", "3")
    assert names(part) == ["a0", "a3", "a6", "b0", "b3"]
    assert any("no steps" in note for note in said["notes"])


def test_a_kernel_comes_with_its_launch_and_its_operator(cut, fixtures_dir):
    source = fixtures_dir / "traces" / "h200_train.json.gz"
    part, _ = cut(source, "--kernel", "gemm|nvjet")
    kept = [e for e in events_of(part) if e["ph"] == "X"]
    kernels = [e for e in kept if work(e)]
    whole = [e for e in events_of(load(source)) if e["ph"] == "X"]
    assert len(kernels) == len([e for e in whole if work(e) and ("gemm" in e["name"] or "nvjet" in e["name"])])
    assert {correlation(e) for e in kept if call_of(e)} == {correlation(e) for e in kernels}
    owners = {e["args"]["External id"] for e in kernels}
    assert {e["args"]["External id"] for e in kept if e["cat"] == "cpu_op"} == owners
    assert len([k for k, ends in arrows(part).items() if ends == {"s", "f"}]) == len(kernels)


def test_a_device_keeps_the_host_but_not_the_launches_of_others(cut, fixtures_dir):
    source = fixtures_dir / "traces" / "h200_two_gpus_one_process.json.gz"
    whole = [e for e in events_of(load(source)) if e["ph"] == "X"]
    part, _ = cut(source, "--device", "1")
    kept = [e for e in events_of(part) if e["ph"] == "X"]
    assert {device_of(e) for e in kept if work(e)} == {1}
    assert len([e for e in kept if work(e)]) == len([e for e in whole if work(e) and device_of(e) == 1])
    others = {correlation(e) for e in whole if work(e) and device_of(e) == 0}
    assert not [e for e in kept if call_of(e) and correlation(e) in others]
    assert len([e for e in kept if e["cat"] == "cpu_op"]) == len([e for e in whole if e["cat"] == "cpu_op"])


def test_category_pid_include_and_exclude(cut, write):
    path = write([slice_("aa", 1, 1, cat="x"), slice_("ab", 2, 1, cat="y"), slice_("b", 3, 1, cat="x"),
                  slice_("a far one", 4, 1, cat="x", pid="far")])
    assert names(cut(path, "--category", "x")[0]) == ["aa", "b", "a far one"]
    assert names(cut(path, "--include", "^a", "--exclude", "b$")[0]) == ["aa", "a far one"]
    assert names(cut(path, "--pid", "far,7")[0]) == ["a far one"]


def test_case_62_repeated_metadata_is_written_once(cut, fixtures_dir):
    part, said = cut(fixtures_dir / "cases" / "62-duplicated-metadata.json", *ALL_TIME)
    metadata = [e for e in events_of(part) if e["ph"] == "M"]
    assert [e["name"] for e in metadata] == ["process_name", "process_sort_index"]
    assert said["files"][0]["metadata_collapsed"] == 78


def test_metadata_of_lanes_that_are_gone_goes_too(cut, write):
    def named(name, pid, tid, text):
        return {"ph": "M", "name": name, "pid": pid, "tid": tid, "args": {"name": text}}

    path = write([named("process_name", 1, 0, "kept"), named("thread_name", 1, 1, "kept"),
                  named("thread_name", 1, 2, "gone"), named("process_name", 2, 0, "gone"),
                  slice_("a", 0, 1, tid=1), slice_("b", 9, 1, tid=2), slice_("c", 9, 1, pid=2)])
    part, _ = cut(path, "--to", "@5")
    assert [e["args"]["name"] for e in events_of(part) if e["ph"] == "M"] == ["kept", "kept"]


def test_unknown_phases_and_keys_survive(cut, write):
    odd = {"ph": "?", "name": "odd", "pid": 1, "tid": 1, "ts": 5, "zap": {"deep": [1, {"x": None}]}, "big": 2**70}
    path = write([odd, slice_("a", 5, 1, custom="kept")], myKey={"kept": True}, baseTimeNanoseconds=2**60)
    part, _ = cut(path, "--from", "@0", "--to", "@9")
    assert events_of(part) == [odd, slice_("a", 5, 1, custom="kept")]
    assert part["myKey"] == {"kept": True} and part["baseTimeNanoseconds"] == 2**60


def test_exact_texts_survive(run_cli, tmp_path):
    path = tmp_path / "whole.json"
    event = '{"ph":"X","name":"a\\u00e9\\/","pid":"0x7","tid":140589156634432,"ts":"1743521598000100.0010","dur":5.0}'
    path.write_text("[" + event + "]")
    run_cli("cut", path, "--include", "a", "-o", tmp_path / "part.json").ok()
    assert event in (tmp_path / "part.json").read_text()


def test_case_24_secrets_are_dropped_on_request_and_never_printed(run_cli, fixtures_dir, tmp_path):
    source = fixtures_dir / "cases" / "24-secret-in-metadata.json"
    target = tmp_path / "part.json"
    run_cli("cut", source, *ALL_TIME, "-o", target).ok()
    assert "not-a-real-token" in target.read_text()
    done = run_cli("cut", source, "--drop-secrets", "-o", target).ok()
    assert "not-a-real-token" not in target.read_text() + done.stdout + done.stderr
    env = load(target)["metadata"]["system"]["env"]
    assert env == {"HOME": "/root", "HUB_TOKEN": "[removed]"}
    run_cli("cut", source, "--drop-metadata", "-o", target).ok()
    assert "metadata" not in load(target) and load(target)["schemaVersion"] == 1


def test_standard_input_is_read_as_often_as_needed(run_cli, write):
    path = write([slice_("a", 100, 1), slice_("b", 200, 1)])
    done = run_cli("cut", "-", "--from", "50us", "-o", "-", input=path.read_bytes()).ok()
    assert names(json.loads(done.stdout)) == ["b"]


def test_several_files_go_to_a_folder(run_cli, fixtures_dir, tmp_path):
    cases = [fixtures_dir / "cases" / name for name in ("52-crossing-slices.json", "54-kernels-overlap-in-one-stream.json")]
    done = run_cli("cut", *cases, *ALL_TIME, "-o", tmp_path)
    done.ok()
    assert [len(events_of(load(tmp_path / case.name))) for case in cases] == [3, 4]
    refused = run_cli("cut", *cases, *ALL_TIME, "-o", tmp_path / "one.json")
    assert refused.returncode == 2 and "folder" in refused.stderr


@pytest.mark.parametrize("arguments, word", [
    (["--step", "3"], "ProfilerStep"),
    (["--from", "soon"], "no time"),
    (["--include", "("], "regular expression"),
    (["--device", "a"], "list of numbers"),
    ([], "which part"),
    (["--every"], "needs a value"),
    (["--wrong"], "no option"),
])
def test_what_makes_no_sense_is_said_in_one_sentence(run_cli, fixtures_dir, tmp_path, arguments, word):
    done = run_cli("cut", fixtures_dir / "cases" / "52-crossing-slices.json", "-o", tmp_path / "x.json", *arguments)
    assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "x.json").exists()


def test_a_broken_file_leaves_no_part_and_salvage_leaves_a_strict_one(run_cli, fixtures_dir, tmp_path):
    source, target = fixtures_dir / "cases" / "02-unescaped-backslash.json", tmp_path / "x.json"
    done = run_cli("cut", source, *ALL_TIME, "-o", target)
    assert done.returncode == 2 and "backslash" in done.stderr and list(tmp_path.iterdir()) == []
    run_cli("cut", source, *ALL_TIME, "--salvage", "-o", target).ok()
    assert len(events_of(load(target))) > 0


def test_a_full_disk_is_said(run_cli, fixtures_dir):
    done = run_cli("cut", fixtures_dir / "traces" / "h200_train.json.gz", *ALL_TIME, "-o", "/dev/full")
    assert done.returncode == 2 and "No space left" in done.stderr


def test_a_broken_pipe_is_said(tree, fixtures_dir):
    done = subprocess.run(["bash", "-c", '"$0" cut "$1" --from 0 -o - | head -c 10 >/dev/null; exit ${PIPESTATUS[0]}',
                           tree.cli, fixtures_dir / "traces" / "h200_train.json.gz"], capture_output=True, timeout=60)
    assert done.returncode == 2 and b"Broken pipe" in done.stderr
