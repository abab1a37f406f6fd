# test_trace_check.py - `flagprof check`: every case has its finding, healthy files have none, the pairing agrees with a slow one.

import gzip
import json
import pathlib

import pytest
import trace_reference as reference

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"
OURS = sorted((FIXTURES / "traces").glob("*.json.gz")) + sorted((FIXTURES / "pairs").glob("*.json.gz"))


def case(name):
    return min((FIXTURES / "cases").glob(f"{name}-*.json"))


def findings_of(run_cli, path, *options):
    done = run_cli("check", path, "--format", "json", *options)
    assert done.returncode in (0, 1), str(done)
    report = json.loads(done.stdout)
    return {row["rule"]: row for row in report["findings"]}, done.returncode, report


# case -> exit status, {rule: (severity, count)}; a rule with None must not be there.
EXPECTED = {
    "01": (1, {"json": ("error", 1), "events-lost": ("error", 1)}),
    "02": (1, {"json": ("error", 2), "events-lost": None}),
    "04": (1, {"json": ("error", 1), "events-lost": None}),
    "05": (0, {"utf8": ("warning", 3)}),
    "07": (1, {"json": ("error", 1), "counter-not-finite": ("warning", 1)}),
    "08": (1, {"json": ("error", 1), "events-lost": ("error", 1)}),
    "10": (0, {"list-not-closed": ("note", 1), "json": None}),
    "11": (0, {"object-not-closed": ("warning", 1), "event-cut": None}),
    "12": (0, {"event-cut": ("warning", 1)}),
    "14": (1, {"trailer": ("warning", 2), "events-lost": None}),
    "17": (0, {"nested-events": ("warning", 1)}),
    "19": (0, {"only-metadata": ("warning", 1), "no-slices": None, "empty-list": None}),
    "20": (0, {"only-metadata": None, "empty-list": ("note", 1)}),
    "21": (0, {"args-odd": ("note", 3)}),
    "24": (0, {"secret": ("warning", 1)}),
    "25": (0, {"time-text": ("note", 1), "flow-start-alone": ("note", 1), "crossing-slices": None}),
    "29": (1, {"negative-duration": ("error", 1)}),
    "30": (0, {"unfinished": ("note", 1), "negative-duration": None}),
    "32": (0, {"crossing-slices": None}),
    "37": (0, {"flow-end-on-call": ("note", 1), "flow-end-on-work": ("warning", 1), "flow-start-on-launch": ("warning", 1),
               "flow-start-on-call": ("note", 1)}),
    "38": (1, {"flow-two-starts": ("error", 1), "flow-start-on-launch": None, "flow-start-on-call": None}),
    "40": (0, {"id-clash": ("warning", 1), "flow-backwards": None}),
    "41": (0, {"flow-backwards": ("warning", 4), "flow-end-on-work": None}),
    "43": (0, {"correlation-zero": ("note", 2), "work-without-launch": None, "launch-without-work": None}),
    "44": (0, {"no-correlation": ("note", 1), "copy-without-work": None}),
    "46": (0, {"id-clash": None, "flow-end-on-work": None, "launch-without-work": None}),
    "48": (0, {"outside-window": ("warning", 1), "launch-without-work": ("warning", 1), "edge-loss": ("warning", 1)}),
    "49": (1, {"no-device-work": ("error", 1)}),
    "50": (0, {}),
    "52": (0, {"crossing-slices": ("warning", 1)}),
    "54": (0, {"stream-overlap": ("warning", 1)}),
    "57": (0, {"mangled-names": ("note", 8)}),
    "62": (0, {"duplicate-metadata": ("note", 78)}),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_every_case_has_its_finding(run_cli, name):
    status, expected = EXPECTED[name]
    found, got, _ = findings_of(run_cli, case(name))
    assert got == status
    for rule, row in expected.items():
        shown = found.get(rule) and (found[rule]["severity"], found[rule]["count"])
        assert shown == row, f"{rule}: {found.get(rule)}"


@pytest.mark.parametrize("name", ["20-empty-forms-b", "20-empty-forms-c", "20-empty-forms-d", "20-empty-forms-e"])
def test_what_is_no_trace_is_four_different_sentences(run_cli, name):
    done = run_cli("check", next((FIXTURES / "cases").glob(f"{name}*")))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    others = [run_cli("check", path).stderr for path in (FIXTURES / "cases").glob("20-*") if name not in path.name]
    assert done.stderr.split(": ", 2)[-1] not in [other.split(": ", 2)[-1] for other in others]


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_ordinary_traces_pass_without_an_error(run_cli, path):
    found, status, _ = findings_of(run_cli, path)
    assert status == 0
    harmless = {"crossing-slices"}  # frames and ranges that truly cross, in the file with stacks
    assert [rule for rule, row in found.items() if row["severity"] != "note" and rule not in harmless] == []


# What the README beside the files, or a look at them, says is wrong with them.
CONFIRMED = {
    "flow_events_v2_small.json": {"json"},
    "simple-partial-whitespace.json": set(),
}


def test_other_peoples_files_have_no_error_that_is_not_confirmed(run_cli, shared):
    for path in sorted((shared / "traces" / "public").rglob("*")):
        if not path.is_file():
            continue
        found, status, _ = findings_of(run_cli, path)
        errors = {rule for rule, row in found.items() if row["severity"] == "error"}
        assert errors == CONFIRMED.get(path.name, set()), path.name
        assert status == (1 if errors else 0)


def pairing_agrees(run_cli, path):
    trace = reference.load(path)
    if any(event.get("bind_id") for event in reference.events(trace)):
        return False
    slow = reference.flow_classes(trace)
    found, _, _ = findings_of(run_cli, path, "--rule-set", "torch")
    count = {rule: row["count"] for rule, row in found.items()}
    calls = count.get("flow-start-on-launch", 0) + count.get("flow-start-on-call", 0)
    assert count.get("flow-end-on-call", 0) == slow["lone f on call"]
    assert count.get("flow-end-on-work", 0) == slow["lone f on work"]
    assert calls == slow["lone s on call"]
    assert count.get("flow-backwards", 0) == slow["backwards"]
    return True


@pytest.mark.parametrize("path", OURS + [case(name) for name in ("37", "41", "46", "48", "64")], ids=lambda path: path.name)
def test_flows_pair_as_in_a_slow_reading(run_cli, path):
    assert pairing_agrees(run_cli, path)


def test_flows_of_other_peoples_files_pair_as_in_a_slow_reading(run_cli, shared):
    checked = 0
    for path in sorted((shared / "traces" / "public").rglob("*.json*")):
        try:
            reference.events(reference.load(path))
        except ValueError:
            continue
        try:
            checked += pairing_agrees(run_cli, path)
        except AssertionError as error:
            raise AssertionError(f"{path.name}: {error}") from error
    assert checked > 50


def test_backward_flows_come_with_their_size_per_device(run_cli):
    found, _, _ = findings_of(run_cli, case("41"))
    assert "device 0: smallest -53.000 us" in found["flow-backwards"]["detail"]
    assert "drifting" in found["flow-backwards"]["detail"]


@pytest.mark.parametrize("path", OURS + [FIXTURES / "cases" / "62-duplicated-metadata.json"], ids=lambda path: path.name)
def test_repeated_metadata_is_counted_as_fix_and_cut_leave_it_out(run_cli, tmp_path, path):
    told = run_cli("check", path, "--format", "json").json()["findings"]
    counted = sum(row["count"] for row in told if row["rule"] == "duplicate-metadata")
    fixed = run_cli("fix", path, "-o", tmp_path / "f.json", "--format", "json").json()
    assert sum(row["count"] for row in fixed["changes"] if row["change"] == "metadata") == counted
    cut = run_cli("cut", path, "--from", "0", "-o", tmp_path / "c.json", "--format", "json").json()
    assert cut["files"][0]["metadata_collapsed"] == counted


OWN = {"version": "0.1.0", "accelerator": "cuda", "tracer": "cupti", "library_version": "13.0"}
RANKS = {"files": [{"rank": rank, "header": {"schemaVersion": 1, "flagprof": OWN | more}} for rank, more in enumerate(({}, {"simulated": "a toy"}))]}


@pytest.mark.parametrize("header, recorded_by, simulated", [
    ({"flagprof": OWN}, "FlagProf 0.1.0: cuda through cupti 13.0", None),
    ({"flagprof": OWN | {"simulated": "a toy"}, "schemaVersion": 1}, "FlagProf 0.1.0: cuda through cupti 13.0", "SIMULATED: a toy, no hardware"),
    ({"schemaVersion": 1, "cupti_version": 28, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}]}, "torch.profiler (Kineto), NVIDIA H100, CUPTI 28", None),
    ({"schemaVersion": 1, "deviceProperties": []}, "torch.profiler (Kineto)", None),
    ({"metadata": {"tool": "my exporter"}}, "my exporter", None), ({"metadata": {"highres-ticks": True}}, "XProf (JAX or TensorFlow)", None),
    ({"flagprof_merge": RANKS, "schemaVersion": 1}, "FlagProf 0.1.0: cuda through cupti 13.0; merged by FlagProf", "SIMULATED: a toy, no hardware"),
    ({"otherData": "text", "metadata": [1], "deviceProperties": 7}, "the file does not say", None)])  # fmt: skip
def test_the_first_screen_says_who_recorded_and_whether_it_was_real(run_cli, tmp_path, header, recorded_by, simulated):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**header, "traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}))
    for verb in ("check", "stats"):
        report = run_cli(verb, path, "--format", "json").json()
        assert (report["recorded_by"], report.get("simulated")) == (recorded_by, simulated), verb
        top = run_cli(verb, path).ok().stdout.splitlines()[:6]
        assert any(line.split("  ", 1)[0] == "recorded by" and line.endswith(recorded_by) for line in top), verb
        assert any("SIMULATED" in line for line in top) == (simulated is not None)


def test_a_device_that_was_not_recorded_is_a_warning_with_the_reason(run_cli, tmp_path):
    reason = "`flagprof info` says why"
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"flagprof": {"version": "0.1.0", "not_recorded": reason}, "flagprof_ledger": {"not_recorded": reason},
                                "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}))  # fmt: skip
    found, status, report = findings_of(run_cli, path)
    assert found["device-not-recorded"]["severity"] == "warning" and found["device-not-recorded"]["detail"] == reason
    assert status == 0 and report["verdict"].startswith("usable, with care") and report["not_recorded"] == reason
    assert run_cli("check", "--strict", path).returncode == 1
    assert reason in run_cli("stats", path).ok().stdout


def test_two_producers_in_one_space_of_ids_are_two_launches(run_cli):
    report = findings_of(run_cli, case("40"))[2]
    assert (report["launches"], report["work"], report["flow_pairs"]) == (2, 2, 2)


def test_a_secret_is_named_and_never_shown(run_cli):
    for form in ("table", "csv", "json"):
        done = run_cli("check", case("24"), "--format", form)
        assert "HUB_TOKEN" in done.stdout and "not-a-real-token" not in done.stdout + done.stderr


def test_the_raw_byte_of_a_broken_file_never_reaches_the_terminal(run_cli):
    done = run_cli("check", case("04"))
    assert "\x01" not in done.stdout + done.stderr and "0x01" in done.stdout


def test_overlap_in_a_stream_is_a_note_where_the_header_says_9_0_or_newer(run_cli, tmp_path):
    trace = json.loads(case("54").read_text())
    for major, rule, severity in ((8, "stream-overlap", "warning"), (9, "stream-overlap-pdl", "note")):
        trace["deviceProperties"] = [{"id": 0, "computeMajor": major, "computeMinor": 0}]
        path = tmp_path / f"{major}.json"
        path.write_text(json.dumps(trace))
        found, _, _ = findings_of(run_cli, path)
        assert found[rule]["severity"] == severity and found[rule]["count"] == 1


def test_a_count_at_an_exporters_limit_is_a_warning(run_cli, tmp_path):
    path = tmp_path / "cap.json"
    event = '{"ph":"X","name":"a","pid":1,"tid":1,"ts":%d,"dur":1}'
    path.write_text("[" + ",".join(event % (2 * at) for at in range(100000)) + "]")
    assert findings_of(run_cli, path)[0]["cap"]["count"] == 1


def test_a_time_of_zero_far_from_all_others_is_a_warning(run_cli, tmp_path):
    path = tmp_path / "zero.json"
    slices = [{"ph": "X", "name": "k", "pid": 0, "tid": 1, "ts": ts, "dur": 1} for ts in (0, 1780000000000000)]
    path.write_text(json.dumps(slices))
    assert findings_of(run_cli, path)[0]["zero-time"]["count"] == 1


LEDGER = {"complete": True, "kinds": {"kernel": {"seen": 1, "kept": 1}, "runtime": {"seen": 1, "kept": 1}}}


@pytest.mark.parametrize("kept, complete, rule", [(1, True, None), (2, True, "ledger-mismatch"), (1, False, "ledger-incomplete")])
def test_flagprofs_ledger_is_held_against_the_events(run_cli, tmp_path, kept, complete, rule):
    trace = json.loads(case("64").read_text())
    trace["flagprof_ledger"] = {"complete": complete, "kinds": {"kernel": {"kept": kept}, "runtime": {"kept": 1}}}
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps(trace))
    found, status, _ = findings_of(run_cli, path)
    assert {name for name in found if name.startswith("ledger")} == ({rule} if rule else set())
    assert status == (1 if rule == "ledger-mismatch" else 0)


@pytest.mark.parametrize("verb", ["cut", "convert"])
def test_a_part_of_a_recording_need_not_hold_what_its_ledger_kept(run_cli, tmp_path, verb):
    trace = json.loads(case("64").read_text())
    names = [event["name"] for event in trace["traceEvents"] if event.get("cat") == "kernel"]
    kernels = len(names)
    trace["flagprof_ledger"] = {"complete": True, "kinds": {"kernel": {"kept": kernels}}}
    whole, part = tmp_path / "whole.json", tmp_path / "part.json"
    whole.write_text(json.dumps(trace))
    assert "ledger-mismatch" not in findings_of(run_cli, whole)[0]
    run_cli(verb, whole, "--exclude", f"^{names[0]}$", "-o", part).ok()
    kept = json.loads(part.read_text())
    assert sum(event.get("cat") == "kernel" for event in kept["traceEvents"]) < kernels
    assert kept["flagprof_ledger"] == trace["flagprof_ledger"] and "flagprof_cut" in kept
    assert "ledger-mismatch" not in findings_of(run_cli, part)[0]


def test_strict_makes_warnings_fail(run_cli):
    assert run_cli("check", case("52")).returncode == 0
    assert run_cli("check", "--strict", case("52")).returncode == 1
    assert run_cli("check", "--strict", case("64")).returncode == 0


def test_every_rule_explains_itself(run_cli):
    listed = run_cli("check", "--explain", "list").ok().stdout.splitlines()
    assert len(listed) > 50
    for line in listed:
        shown = run_cli("check", "--explain", line.split()[0]).ok().stdout
        assert len(shown.splitlines()) >= 4
    assert run_cli("check", "--explain", "nonsense").returncode == 2


def test_the_worst_of_several_files_is_the_exit_status(run_cli):
    assert run_cli("check", case("64"), case("29")).returncode == 1
    assert run_cli("check", case("64"), case("29"), case("20-empty-forms-d")).returncode == 2


def test_findings_fit_100_columns(run_cli):
    for path in sorted((FIXTURES / "cases").glob("*.json")) + OURS:
        done = run_cli("check", path)
        assert [line for line in done.stdout.splitlines() if len(line) > 100 and not line.startswith("file ")] == []


def written(tmp_path, text, name="trace.json"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


FIRST = '{"ph":"X","name":"a","ts":1,"dur":1}'
BROKEN = ['"dur":bad}', '"dur":01}', '"dur":-}', '"dur":tru}', '"dur":}', '"dur":1"}', '"args":{"a":[1,2]}', '"args":{"a":[1,2}}']
FORMS = ["[%s]", '{"traceEvents":[%s]}', '{"traceEvents": [ %s ] , "traceName": "x"}']


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("last", BROKEN)
def test_a_bad_value_in_the_last_event_is_not_told_as_a_file_that_was_not_closed(run_cli, tmp_path, last, form):
    path = written(tmp_path, form % (FIRST + ',{"ph":"X","name":"b","ts":2,' + last))
    found, status, report = findings_of(run_cli, path)
    assert status == 1 and found["json"]["count"] >= 1 and found["events-lost"]["count"] == 1
    assert not {"object-not-closed", "list-not-closed", "event-cut"} & set(found)
    assert report["whole"].startswith("NO") and report["events"] == 1


@pytest.mark.parametrize("tail", ["] xx", "]]", '], "x": 1', "]}"])
def test_garbage_behind_the_list_loses_no_event(run_cli, tmp_path, tail):
    found, status, report = findings_of(run_cli, written(tmp_path, "[" + FIRST + tail))
    assert status == 1 and {"json", "trailer"} <= set(found) and "events-lost" not in found
    assert report["whole"] == "every event was read"


WHOLE = {"10": "not closed", "11": "not closed", "12": "NO: the last event is cut", "14": "every event was read"}


@pytest.mark.parametrize("name", WHOLE)
def test_only_what_is_lost_is_called_missing(run_cli, name):
    assert WHOLE[name] in findings_of(run_cli, case(name))[2]["whole"]


@pytest.mark.parametrize("quote", ['"0xfffffffffffffffe"', '"a text"', "-2", "18446744073709551616"])
def test_an_id_is_told_as_the_file_has_it(run_cli, tmp_path, quote):
    event = '{"ph":"s","cat":"flow","name":"x","id":%s,"pid":1,"tid":1,"ts":1}' % quote
    found, _, report = findings_of(run_cli, written(tmp_path, "[" + FIRST + "," + event + "]"))
    assert found["flow-start-alone"]["count"] == 1
    assert [row["text"] for row in report["places"] if row["rule"] == "flow-start-alone"] == ["id " + quote.strip('"')]


@pytest.mark.parametrize("phase, rule", [("B", "no-slices"), ("P", "no-slices"), ("C", "no-slices"), ("M", "only-metadata")])
def test_what_has_no_duration_is_told_by_what_it_is(run_cli, tmp_path, phase, rule):
    found, _, _ = findings_of(run_cli, written(tmp_path, '[{"ph":"%s","name":"a","ts":1,"pid":1,"tid":1}]' % phase))
    assert {"no-slices", "only-metadata", "empty-list"} & set(found) == {rule}


def test_an_empty_list_passes_the_strict_check(run_cli):
    assert run_cli("check", "--strict", case("20")).returncode == 0


def test_each_rank_of_a_merged_file_is_held_against_its_own_window(run_cli, tmp_path):
    events = []
    for rank, base in ((0, 1000), (1, 900000)):
        for pid in (f"r{rank}", f"d{rank}"):
            events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"rank {rank}: python"}})
        events.append({"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": f"r{rank}", "tid": "p", "ts": base, "dur": 1000})
        events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": f"d{rank}", "tid": 7, "ts": base + 10, "dur": 5,
                       "args": {"device": rank, "stream": 7}})  # fmt: skip
    assert "outside-window" not in findings_of(run_cli, written(tmp_path, json.dumps({"traceEvents": events})))[0]
    events[-1]["ts"] = 1500  # within the other rank's window, and far outside its own
    found, _, _ = findings_of(run_cli, written(tmp_path, json.dumps({"traceEvents": events})))
    assert found["outside-window"]["count"] == 1


RULES = {"hta-compare-tiny/base.json.gz": "torch", "msprof-analyze-trace-view/trace_view.json": "any", "rpd/matmul_result.json": "any"}


@pytest.mark.parametrize("name", RULES)
def test_a_producer_is_known_by_what_it_leaves(run_cli, shared, name):
    assert findings_of(run_cli, shared / "traces" / "public" / name)[2]["rule_set"] == RULES[name]


@pytest.mark.parametrize("name, words", [("52", "pid 1, tid 1"), ("54", "pid 0, stream 7")])
def test_slices_that_cross_or_overlap_come_with_their_lane(run_cli, name, words):
    report = findings_of(run_cli, case(name))[2]
    assert any(words in row["text"] for row in report["places"])


def test_backward_flows_offer_the_shift_that_mends_them(run_cli):
    assert "+53.000 us puts all behind their launch" in findings_of(run_cli, case("41"))[0]["flow-backwards"]["detail"]


def test_counters_of_kernels_are_no_lost_kernels(run_cli, shared):
    path = next((shared / "traces" / "public" / "hta-cupti-counters").glob("*.gz"))
    found, status, _ = findings_of(run_cli, path)
    assert status == 0 and found["counters-only"]["count"] == 77 and not {"no-device-work", "flow-start-on-launch"} & set(found)


UNREADABLE = {
    "five bytes": (lambda text: gzip.compress(text)[:5], "cut short"),
    "twelve bytes": (lambda text: gzip.compress(text)[:12], "cut short"),
    "nothing packed": (lambda text: gzip.compress(b""), "empty when unpacked"),
    "utf-32": (lambda text: text.decode().encode("utf-32"), "UTF-32"),
    "utf-32 without a mark": (lambda text: text.decode().encode("utf-32-be"), "UTF-32"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_unpacked_or_is_in_another_encoding_is_said_as_it_is(run_cli, tmp_path, name):
    make, word = UNREADABLE[name]
    done = run_cli("check", written(tmp_path, make(case("52").read_bytes()), "a.json.gz" if "byte" in name or "packed" in name else "a.json"))
    assert done.returncode == 2 and word in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("option", [["--pid", "596"], ["--device", "0"], ["--include", "aten"], ["--exclude", "aten"], ["--to", "20ms"]])
def test_a_part_of_a_healthy_file_lacks_nothing(run_cli, option):
    path = next(path for path in OURS if path.name == "h200_ddp_rank0.json.gz")
    found, status, report = findings_of(run_cli, path, *option)
    assert status == 0 and all(row["severity"] == "note" for row in found.values())
    assert any("Only a part" in note for note in report["notes"])


SECOND = '{"ph":"X","name":"b","ts":5,"dur":1}'
THIRD = '{"ph":"X","name":"c","ts":9,"dur":1}'
COSTS_NOTHING = {
    "no comma": (f"[{FIRST}\n{SECOND} {THIRD}]", "a comma is missing before this brace", 2),
    "a comma too many": (f"[,{FIRST},,{SECOND},{THIRD},]", "a value is missing before this comma", 3),
    "comments": (f"// made by\n[{FIRST}, /* {{ \" */ {SECOND} # x\n,{THIRD}]", "a comment; JSON has none", 3),
    "lines": (f"{FIRST}\n{SECOND}\n{THIRD}\n", "without a list around them (JSON Lines?)", 1),
    "a header and lines": (f'{{"version":1}}\n{FIRST}\n{SECOND}\n{THIRD}', "without a list around them (JSON Lines?)", 2),
    "two documents": (f'{{"traceEvents":[{FIRST},{SECOND}]}}\n{{"traceEvents":[{THIRD}]}}', "a second document begins here", 1),
    "two lists": (f"[{FIRST},{SECOND}][{THIRD}]", "a second document begins here", 1),
}


@pytest.mark.parametrize("name", COSTS_NOTHING)
def test_a_fault_between_events_costs_none_of_them(run_cli, tmp_path, name):
    text, cause, faults = COSTS_NOTHING[name]
    path = written(tmp_path, text)
    found, status, report = findings_of(run_cli, path)
    assert (status, report["events"], report["slices"]) == (1, 3, 3)
    assert found["json"]["count"] == faults and "events-lost" not in found and report["whole"] == "every event was read"
    assert any(cause in row["text"] for row in report["places"] if row["rule"] == "json")
    plain = run_cli("stats", path)  # no table of a part of the events
    assert plain.returncode == 2 and not plain.stdout and "--salvage" in plain.stderr
    assert run_cli("stats", "--salvage", path, "--format", "json").json()["events"] == 3


def test_faults_in_every_event_take_linear_time(run_cli, tmp_path):
    bad = '{"ph":"X","name":"C:\\x","pid":1,"tid":1,"ts":%d,"dur":1}\n{"ph":"X","name":"say "hi" x","ts":1,"dur":1},\n'
    path = written(tmp_path, "[" + "".join(bad % at for at in range(20000)) + FIRST + "]")
    _, _, report = findings_of(run_cli, path)  # a minute when each fault costs a block
    assert report["events"] == 20001


FOREIGN = {
    "a zip archive": b"PK\x03\x04" + bytes(40),
    "packed with xz": b"\xfd7zXZ\0" + bytes(40),
    "packed with bzip2": b"BZh91AY&SY" + bytes(40),
    "packed twice": gzip.compress(gzip.compress(b"[]")),
    "a tar archive": b"trace.json" + bytes(247) + b"ustar\x0000" + bytes(240),
    "an SQLite database": b"SQLite format 3\0" + bytes(84),
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    "a Python pickle": b"\x80\x04\x95\x20" + bytes(40),
    "a page in HTML": b"\n\n<!DOCTYPE html><html></html>",
    "a text in XML": b"<?xml version='1.0'?><Error/>",
    "protobuf": bytes.fromhex("0a3d0a0a08e0fd8ef0a5b29a00100612") + bytes(80),
    "a file of zero bytes": bytes(4096),
    "a binary file": bytes(range(1, 9)) * 8,
}


@pytest.mark.parametrize("word", FOREIGN)
def test_a_file_of_another_kind_is_called_by_its_name(run_cli, tmp_path, word):
    path = written(tmp_path, FOREIGN[word], "t.gz" if "twice" in word else "t.json")
    for verb in ("check", "stats"):
        done = run_cli(verb, path)
        assert done.returncode == 2 and not done.stdout and len(done.stderr.splitlines()) == 1
        assert word in done.stderr and all(part.isprintable() for part in done.stderr.splitlines())


@pytest.mark.parametrize("phase, known", [('"X"', True), ('"\\u0058"', True), ('"Xy"', False), ('""', False), ("88", False), ('"="', True)])
def test_a_phase_is_one_letter(run_cli, tmp_path, phase, known):
    found, _, _ = findings_of(run_cli, written(tmp_path, "[" + FIRST + ',{"ph":%s,"name":"b","ts":5,"dur":1}]' % phase))
    assert ("no-phase" in found) == (not known)


def test_what_was_lost_beside_the_events_is_not_shown(run_cli, tmp_path):
    path = written(tmp_path, '{"HF_TOKEN": "hf_hidden" "x": 1, "traceEvents":[%s]}' % FIRST)
    for form in ("table", "json", "csv"):
        done = run_cli("check", path, "--format", form)
        assert done.returncode == 1 and "hf_hidden" not in done.stdout + done.stderr


SECRETS = {
    "a key": {"HF_TOKEN": "%s"},
    "camel case": {"accessToken": "%s"},
    "a key id": {"AWS_ACCESS_KEY_ID": "%s"},
    "a cookie": {"Set-Cookie": "%s"},
    "authorization": {"Authorization": "Bearer %s"},
    "bearer within": {"header": "Accept: */*, Authorization: Bearer %s"},
    "an address": {"repository": "https://me:%s@host/x.git"},
    "an assignment": {"command": "cd /x && HF_TOKEN=%s python train.py"},
    "a quoted one": {"command": "export HF_TOKEN=\"%s\""},
    "an option": {"command": "train.py --api-key %s --lr 1"},
    "a list of options": {"argv": ["train.py", "--api-key", "%s"]},
    "a name and a value": {"env": [{"name": "HF_TOKEN", "value": "%s"}]},
    "json in a text": {"env": json.dumps({"HF_TOKEN": "%s"})},
    "python in a text": {"env": "environ({'HF_TOKEN': '%s'})"},
    "a list of texts": {"env": ["HOME=/root", "HF_TOKEN=%s"]},
    "what an issuer gives": {"note": "use ghp_%s"},
}


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_of_every_shape_are_found_and_never_shown(run_cli, tmp_path, name):
    value = "q8Zt4Rk2Lm6Pv0Xc1Nw7" + "Yb3"
    stored = json.loads(json.dumps(SECRETS[name]).replace("%s", value))
    event = {"ph": "M", "name": "environment", "pid": 1, "tid": 1, "args": stored}
    path = written(tmp_path, json.dumps({"metadata": stored, "traceEvents": [json.loads(FIRST), event]}))
    for form in ("table", "json"):
        done = run_cli("check", path, "--format", form).ok()
        assert value not in done.stdout + done.stderr
    assert [row["count"] for row in done.json()["findings"] if row["rule"] == "secret"] == [2]
    run_cli("fix", path, "--drop-secrets", "-o", tmp_path / "f.json").ok()
    assert value not in (tmp_path / "f.json").read_text() and json.loads((tmp_path / "f.json").read_text())
    assert "secret" not in findings_of(run_cli, tmp_path / "f.json")[0]  # what was removed is none any more


def test_what_only_sounds_like_a_secret_is_none(run_cli, tmp_path):
    harmless = {"PWD": "/root", "eos_token": "</s>", "padToken": "[PAD]", "max_new_tokens": "10", "sort_key": "x", "MONKEY": "x", "HF_TOKEN": "",
                "API_KEY": "****", "token_type": "a", "SSH_AUTH_SOCK": "/tmp/x", "url": "https://host:8080/path@x", "email": "me@host.org",
                "git": "git@github.com:a/b.git", "image": "nvcr.io/nvidia/pytorch:24.01@sha256:abcd", "GPG_KEY": "A035C8C19219BA82",
                "LS_COLORS": "rs=0:di=01;34", "text": "the bearer of this; hf_hub_download; ask-me; 3 == key", "query": "?key=1&x=2",
                "list": ["--max-tokens", "5"], "named": [{"name": "eos_token", "value": "</s>"}]}  # fmt: skip
    path = written(tmp_path, json.dumps({"metadata": harmless, "traceEvents": [json.loads(FIRST)]}))
    assert "secret" not in findings_of(run_cli, path)[0]


def call(name, ts, correlation, **more):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 5, "args": {"correlation": correlation}, **more}


def kernel(ts, dur=10, correlation=0, device=0, stream=7, **more):
    return {"ph": "X", "cat": "kernel", "name": "k", "pid": device, "tid": stream, "ts": ts, "dur": dur,
            "args": {"device": device, "stream": stream, "correlation": correlation}, **more}  # fmt: skip


def arrow(phase, ts, number, pid=1, tid=1, cat="ac2g"):
    return {"ph": phase, "id": number, "cat": cat, "name": cat, "pid": pid, "tid": tid, "ts": ts}


def torch_file(tmp_path, events, **header):
    return written(tmp_path, json.dumps({"schemaVersion": 1, **header, "traceEvents": events}))


CAPTURE = [call("cudaStreamBeginCapture", 10, 1), call("cudaLaunchKernel", 20, 2), arrow("s", 20, 2), call("cudaMemcpyAsync", 30, 3),
           call("cudaStreamEndCapture", 40, 4)]  # fmt: skip
REPLAY = [call("cudaGraphLaunch", 100, 5), arrow("s", 100, 5), kernel(130, correlation=5), arrow("f", 130, 5, 0, 7)]


def test_launches_into_a_graph_have_lost_no_kernel(run_cli, tmp_path):
    for events in (CAPTURE + REPLAY, REPLAY + CAPTURE[1:], CAPTURE[:-1] + [kernel(60, correlation=9), call("cudaLaunchKernel", 5, 9)], CAPTURE):
        found, status, _ = findings_of(run_cli, torch_file(tmp_path, events))
        assert status == 0 and found["launch-captured"]["count"] == 2
        assert not {"launch-without-work", "copy-without-work", "flow-start-on-launch", "no-device-work"} & set(found)
    found, _, _ = findings_of(run_cli, torch_file(tmp_path, CAPTURE + REPLAY + [call("cudaLaunchKernel", 60, 8)]))
    assert found["launch-without-work"]["count"] == 1
    found, status, _ = findings_of(run_cli, torch_file(tmp_path, CAPTURE + REPLAY[:2]))
    assert status == 1 and found["no-device-work"]["count"] == 1  # the graph was launched


NEW, OLD, AMD = {"name": "NVIDIA H100", "computeMajor": 9}, {"name": "A100", "computeMajor": 8}, {"name": "AMD Instinct MI300X", "computeMajor": 9}


@pytest.mark.parametrize("properties, legal", [([NEW, OLD], True), ([OLD, NEW], False), ([AMD], False), ([], False), ([NEW], True)])
def test_overlap_is_judged_by_the_device_it_is_on(run_cli, tmp_path, properties, legal):
    events = [call("cudaLaunchKernel", 1, 1), call("cudaLaunchKernel", 9, 2), kernel(30, 50, 1), kernel(60, 50, 2)]
    listed = [{"id": at, **row} for at, row in enumerate(properties)]
    found, _, _ = findings_of(run_cli, torch_file(tmp_path, events, deviceProperties=listed))
    assert {rule for rule in found if rule.startswith("stream-overlap")} == {"stream-overlap-pdl" if legal else "stream-overlap"}


def test_work_of_two_streams_in_one_row_may_overlap(run_cli, tmp_path):
    events = [call("cudaLaunchKernel", 1, 1), call("cudaLaunchKernel", 9, 2), kernel(30, 50, 1, tid="gpu"), kernel(60, 50, 2, stream=8, tid="gpu")]
    assert "stream-overlap" not in findings_of(run_cli, torch_file(tmp_path, events))[0]


def test_work_without_a_time_is_found_in_files_that_begin_near_zero(run_cli, tmp_path):
    events = [call("cudaLaunchKernel", 5000000, 1), call("cudaLaunchKernel", 5000020, 2), kernel(5000030, 10, 1), kernel(0, 0, 2)]
    assert findings_of(run_cli, torch_file(tmp_path, events))[0]["zero-time"]["count"] == 1
    events[-1] = kernel(5000050, 0, 2)
    assert "zero-time" not in findings_of(run_cli, torch_file(tmp_path, events))[0]


def test_a_reversed_flow_between_host_slices_is_no_matter_of_clocks(run_cli, tmp_path):
    flow = [arrow("s", 20, 1, cat="mine"), arrow("f", 10, 1, tid=2, cat="mine")]
    found, _, _ = findings_of(run_cli, written(tmp_path, json.dumps([json.loads(FIRST), *flow])))
    assert found["flow-ends-first"]["severity"] == "note" and "flow-backwards" not in found


@pytest.mark.parametrize("name, rule", [("cudaLaunchKernel", "flow-start-on-launch"), ("cudaEventRecord", "flow-start-on-call")])
def test_a_half_within_a_slice_is_judged_by_that_slice(run_cli, tmp_path, name, rule):
    events = [call("cudaLaunchKernel", 1, 1), kernel(30, 10, 1), call(name, 50, 2), arrow("s", 53, 2)]
    assert findings_of(run_cli, torch_file(tmp_path, events))[0][rule]["count"] == 1


@pytest.mark.parametrize("name, mangled", [("_Z3fooi", True), ("__Z3fooi", True), ("_RNvCs12_5crate3foo", True), ("?foo@@YAXH@Z", True), ("_Z", True),
                                           ("_Reduce", False), ("_run", False), ("what?@@", False), ("__init__", False), ("Z", False)])  # fmt: skip
def test_names_count_as_mangled_whoever_mangled_them(run_cli, tmp_path, name, mangled):
    found, _, _ = findings_of(run_cli, torch_file(tmp_path, [kernel(5, correlation=1, name=name), call("cudaLaunchKernel", 1, 1)]))
    assert ("mangled-names" in found) == mangled


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("value", ['{"b":[1,],}', "NaN", '{"b":-Infinity}'])
def test_a_fault_in_a_header_that_costs_nothing_is_told_all_the_same(run_cli, tmp_path, value, before):
    path = written(tmp_path, ('{"a":%s,"traceEvents":[%s]}' if before else '{"traceEvents":[%s],"a":%s}') % ((value, FIRST) if before else (FIRST, value)))
    found, status, report = findings_of(run_cli, path)
    assert status == 1 and found["json"]["count"] >= 1 and report["events"] == 1
    run_cli("fix", path, "-o", tmp_path / "f.json").ok()
    json.loads((tmp_path / "f.json").read_text(), parse_constant=pytest.fail)


@pytest.mark.parametrize("text", ['[%s,{"ph":"X","ts":5,"dur":5\x07}]', '[%s,{"ph":"X","ts":5\x01,"dur":5}]', '[%s,{"ph":"X","args":{"a":[true\x01]}}]', '{"a":null\x02,"traceEvents":[%s]}'])
def test_a_control_byte_behind_a_number_or_word_is_a_fault(run_cli, tmp_path, text):
    found, status, _ = findings_of(run_cli, written(tmp_path, text % FIRST))
    assert status == 1 and "json" in found
