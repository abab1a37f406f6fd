# test_trace_stats.py - `flagprof stats` against a slow reading of the same files, against torch, and on every odd case.

import collections
import gzip
import json
import pathlib
import re

import pytest
import trace_reference as reference

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"
OURS = sorted((FIXTURES / "traces").glob("*.json.gz")) + sorted((FIXTURES / "pairs").glob("*.json.gz"))
PAIRS = sorted((FIXTURES / "pairs").glob("*.averages.json"))


def readable(path):
    try:
        found = reference.events(reference.load(path))
        return bool(found) or not reference.load(path)["traceEvents"]
    except (ValueError, KeyError, TypeError):
        return False


CASES = [path for path in sorted((FIXTURES / "cases").glob("*.json")) if readable(path)]


def agree(run_cli, path):
    """Counts, sums, percentiles and unions of one file."""
    trace = reference.load(path)
    slices = reference.complete(trace)
    report = run_cli("stats", path, "--format", "json").json()
    assert report["events"] == len(reference.events(trace))
    work = [one for one in slices if reference.is_work(one.event)]
    kernels = [one for one in work if one.event.get("cat") not in reference.COPIES | reference.FILLS]
    copies = [one for one in work if one.event.get("cat") in reference.COPIES | reference.FILLS]
    calls = [one for one in slices if one.event.get("cat") in reference.CALLS]
    for section, expected in (("kernels", kernels), ("copies", copies), ("calls", calls)):
        merged = collections.defaultdict(lambda: [0, 0])  # a name may be both of two kinds of calls or copies
        for row in report.get(section, []):
            merged[row["name"]][0] += row["count"]
            merged[row["name"]][1] += row["total_ns"]
        assert dict(merged) == reference.totals(expected), section
    by_name = collections.defaultdict(list)
    for one in kernels:
        by_name[reference.text(one.event.get("name"))].append(one.dur)
    for row in report.get("kernels", []):
        durations = by_name[row["name"]]
        assert row["median_ns"] == reference.percentile(durations, 50)
        assert row["p95_ns"] == reference.percentile(durations, 95)
        assert (row["min_ns"], row["max_ns"]) == (min(durations), max(durations))
    busy = collections.defaultdict(list)
    streams = collections.defaultdict(list)
    for one in work:
        busy[reference.device_of(one.event)].append(one)
        streams[reference.stream_of(one.event)].append(one)
    assert sorted(row["busy_ns"] for row in report.get("devices", [])) == sorted(map(reference.union, busy.values()))
    assert sorted(row["busy_ns"] for row in report.get("streams", [])) == sorted(map(reference.union, streams.values()))
    for row in report.get("idle", []):
        parts = row["idle_host_ns"] + row["idle_stream_ns"] + row["idle_unknown_ns"]
        assert parts == row["idle_ns"]


@pytest.mark.parametrize("path", OURS + CASES, ids=lambda path: path.name)
def test_a_slow_reading_of_the_same_file_agrees(run_cli, path):
    agree(run_cli, path)


def test_a_slow_reading_of_other_peoples_files_agrees(run_cli, shared):
    checked = 0
    for path in sorted((shared / "traces" / "public").rglob("*")):
        if path.is_file() and readable(path):
            try:
                agree(run_cli, path)
            except AssertionError as error:
                raise AssertionError(f"{path.name}: {error}") from error
            checked += 1
    assert checked > 60


@pytest.mark.parametrize("averages", PAIRS, ids=lambda path: path.name.removesuffix(".averages.json"))
def test_operators_equal_torchs_key_averages_on_hardware(run_cli, averages):
    trace = averages.with_name(averages.name.replace(".averages.json", ".json.gz"))
    ours = {row["name"]: row for row in run_cli("stats", trace, "--format", "json").json()["operators"]}
    keys = [("device_total_ns", "device_time_total_us"), ("device_self_ns", "self_device_time_total_us"),
            ("host_total_ns", "cpu_time_total_us"), ("host_self_ns", "self_cpu_time_total_us")]  # fmt: skip
    compared = 0
    for row in json.loads(averages.read_text()):
        if row["device_type"] != "DeviceType.CPU" or row["key"] not in ours:
            continue
        mine = ours[row["key"]]
        assert mine["count"] == row["count"], row["key"]
        for own, theirs in keys:
            if theirs in row:
                assert mine[own] == round(row[theirs] * 1000), (row["key"], own)
        compared += 1
    assert compared == len(ours)


LIVE = """
import json, sys, torch
from torch.profiler import ProfilerActivity, profile, record_function

model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 8))
optimizer = torch.optim.Adam(model.parameters())
with profile(activities=[ProfilerActivity.CPU], **json.loads(sys.argv[1])) as profiled:
    for _ in range(3):
        with record_function("outer"), record_function("outer"):
            loss = model(torch.randn(16, 32)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
profiled.export_chrome_trace("live.json")
rows = [[row.key, row.count, round(row.cpu_time_total * 1000), round(row.self_cpu_time_total * 1000)]
        for row in profiled.key_averages()]
json.dump(rows, open("rows.json", "w"))
"""


@pytest.mark.parametrize("options", [{}, {"record_shapes": True}, {"with_stack": True}], ids=str)
def test_operators_equal_torchs_key_averages_of_a_run_made_now(run_cli, run_torch, tmp_path, options):
    for _ in range(4):  # with stacks, torch at times makes a name of memory that it has freed, and its own averages fail on it
        done = run_torch(LIVE, json.dumps(options))
        if "UnicodeDecodeError" not in done.stderr:
            break
    done.ok()
    theirs = {row[0]: row[1:] for row in json.loads((tmp_path / "rows.json").read_text())}
    report = run_cli("stats", tmp_path / "live.json", "--format", "json").json()
    for row in report["operators"]:
        assert [row["count"], row["host_total_ns"], row["host_self_ns"]] == theirs[row["name"]], row["name"]
    assert len(report["operators"]) > 30


# A collective's range is asynchronous to torch: another thread may end it, and it holds nothing. The file does not say so.
COLLECTIVES = """
import json, torch, torch.distributed as ranks
from torch.profiler import ProfilerActivity, profile, record_function

ranks.init_process_group("gloo", store=ranks.HashStore(), rank=0, world_size=1)
data = torch.ones(1000)
with profile(activities=[ProfilerActivity.CPU]) as profiled:
    with record_function("outer"):
        ranks.all_reduce(data)
        ranks.all_gather([torch.empty(1000)], data)  # copies, inside its range
        ranks.broadcast(data, 0)
        ranks.barrier()
profiled.export_chrome_trace("live.json")
rows = [[row.key, row.count, round(row.cpu_time_total * 1000), round(row.self_cpu_time_total * 1000)]
        for row in profiled.key_averages()]
json.dump(rows, open("rows.json", "w"))
"""


def test_collectives_that_are_pending_hold_nothing_as_in_torchs_key_averages(run_cli, run_torch, tmp_path):
    run_torch(COLLECTIVES).ok()
    theirs = {row[0]: row[1:] for row in json.loads((tmp_path / "rows.json").read_text())}
    report = run_cli("stats", tmp_path / "live.json", "--format", "json").json()
    ours = {row["name"]: [row["count"], row["host_total_ns"], row["host_self_ns"]] for row in report["operators"]}
    assert ours["gloo:all_gather"][1] > ours["gloo:all_gather"][2] == 0
    assert {name: theirs[name] for name in ours} == ours


def case(name):
    return next((FIXTURES / "cases").glob(f"{name}-*.json"))


def stats_of(run_cli, name, *options):
    return run_cli("stats", case(name), "--format", "json", *options).json()


def test_a_file_of_metadata_alone_is_said_to_have_no_durations(run_cli):
    done = run_cli("stats", case("19")).ok()
    assert "no events with a duration" in done.stdout


def test_negative_and_open_durations_count_in_no_sum(run_cli):
    for name in ("29", "30"):
        report = stats_of(run_cli, name)
        assert all(row["host_total_ns"] >= 0 and row["host_self_ns"] >= 0 for row in report["operators"])
        assert any("no duration of 0 or more" in note for note in report["notes"])


def test_a_child_that_outlives_its_parent_by_rounding_does_not_make_self_time_negative(run_cli):
    rows = {row["name"]: row for row in stats_of(run_cli, "32")["operators"]}
    assert rows["ProfilerStep#1"]["host_self_ns"] == 10000
    assert rows["aten::linear"]["host_self_ns"] == 2000
    assert rows["aten::addmm"]["host_self_ns"] == 88000  # ends with its parent


def test_work_of_correlation_zero_is_listed_by_kernel_and_owned_by_none(run_cli):
    report = stats_of(run_cli, "43")
    assert report["kernels"][0]["count"] == 2
    assert report["unowned_ns"] == report["device_total_ns"] == 400000


def test_work_without_correlation_is_owned_through_its_external_id(run_cli):
    report = stats_of(run_cli, "44")
    assert [(row["name"], row["device_self_ns"]) for row in report["operators"]] == [("aten::to", 32000)]


def test_graph_kernels_are_listed_by_name_under_one_launch(run_cli):
    report = stats_of(run_cli, "46")
    assert sum(row["count"] for row in report["kernels"]) == 6
    assert [(row["name"], row["count"]) for row in report["calls"]] == [("cudaGraphLaunch", 1)]


def test_overlapping_kernels_are_one_busy_moment(run_cli):
    report = stats_of(run_cli, "54")
    assert report["devices"][0]["busy_ns"] == 30000
    assert report["device_total_ns"] == 40000


def test_synchronisation_records_and_annotations_are_no_work(run_cli):
    device = stats_of(run_cli, "55")["devices"][0]
    assert device["busy_ns"] == device["collective_ns"] == 200000
    assert device["compute_ns"] == device["compute_collective_overlap_ns"] == 50000


def test_times_as_text_with_19_digits_stay_exact(run_cli):
    report = stats_of(run_cli, "25")
    assert report["devices"][0]["busy_ns"] == 5160 + 20000  # as doubles the two would overlap


def test_two_threads_of_64_bits_are_two(run_cli):
    for name in ("34", "35"):
        assert stats_of(run_cli, name)["operators"][0]["host_self_ns"] > 0


def test_every_section_of_the_header_may_be_missing(run_cli):
    assert stats_of(run_cli, "50")["devices"][0]["busy_ns"] == 20000


def test_a_mangled_name_is_shown_readable_and_kept_for_machines(run_cli):
    assert "kernel(int*, float*)" in run_cli("stats", case("57")).ok().stdout
    assert "_Z6kernelPiPf.kd" in {row["name"] for row in stats_of(run_cli, "57")["kernels"]}


@pytest.mark.parametrize("name", ["01", "02", "04", "07", "08"])
def test_a_broken_file_is_refused_with_its_place_and_read_by_salvage(run_cli, name):
    done = run_cli("stats", case(name))
    assert done.returncode == 2 and done.stdout == ""
    assert "line " in done.stderr and "byte " in done.stderr and "--salvage" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    salvaged = run_cli("stats", case(name), "--salvage").ok()
    assert "line " in salvaged.stdout


def test_a_summary_of_a_half_read_file_says_so(run_cli):
    for name in ("10", "11", "12", "14"):
        shown = run_cli("stats", case(name)).ok().stdout
        assert "not closed" in shown or "what stands after them is broken" in shown
    lost = run_cli("stats", case("08"), "--salvage").ok().stdout
    assert "NOT WHOLE: 1 stretches (106 bytes, at least 1 events) could not be read" in lost


@pytest.mark.parametrize("arguments", [("nothing.json",), (".",), ("/dev/null",)], ids=str)
def test_what_cannot_be_read_is_one_sentence_and_status_2(run_cli, tmp_path, arguments):
    done = run_cli("stats", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and arguments[0] in done.stderr


def test_standard_input_and_gzip_read_like_the_file(run_cli, tmp_path):
    path = case("64")
    plain = run_cli("stats", path, "--format", "csv").ok().stdout
    packed = tmp_path / "packed.json"  # whatever the suffix says
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert run_cli("stats", packed, "--format", "csv", "--by", "kernel").ok().stdout
    piped = run_cli("stats", "-", "--format", "csv", input=path.read_bytes()).ok().stdout
    assert piped.splitlines()[3:] == plain.splitlines()[3:]


def test_several_files_are_a_list_in_json(run_cli):
    done = run_cli("stats", OURS[0], OURS[1], "--format", "json", "--by", "device")
    assert [pathlib.Path(report["file"]).name for report in done.json()] == [OURS[0].name, OURS[1].name]


def test_tables_fit_100_columns(run_cli):
    for path in OURS:
        done = run_cli("stats", path).ok()
        wide = [line for line in done.stdout.splitlines() if len(line) > 100 and not line.startswith("file ")]
        assert wide == []


def test_help_teaches_with_examples(run_cli):
    for verb in ("stats", "check"):
        shown = run_cli(verb, "--help").ok().stdout
        assert shown.count(f"  flagprof {verb} ") >= 4 and "exit status" in shown


@pytest.mark.parametrize("verb", ["stats", "check"])
def test_json_holds_what_its_schema_describes_and_nothing_else(run_cli, verb):
    schema = json.loads((HERE.parents[1] / "docs" / "schema" / f"flagprof-{verb}-1.json").read_text())
    for path in OURS + CASES:
        report = json.loads(run_cli(verb, path, "--format", "json").stdout)
        assert set(report) <= set(schema["properties"]) and set(schema["required"]) <= set(report)
        for key, rows in report.items():
            described = schema["properties"][key].get("items", {}).get("properties")
            for row in rows if described else []:
                assert set(row) == set(described), (path.name, key)


def test_of_two_calls_of_one_correlation_each_gets_the_work_that_began_after_it(run_cli):
    report = json.loads(run_cli("stats", case("40"), "--format", "json").ok().stdout)
    assert {row["name"]: row["device_ns"] for row in report["calls"]} == {"cudaLaunchKernel": 20_000, "npuLaunch": 9_000}


def test_an_operators_row_says_how_long_its_calls_took(run_cli, tmp_path):
    slices = [{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": at * 100, "dur": dur} for at, dur in enumerate((1, 2, 3, 10))]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": slices}))
    row = run_cli("stats", path, "--format", "json").json()["operators"][0]
    spread = [row[f"host_{key}_ns"] for key in ("mean", "median", "p95", "min", "max")]
    assert (row["count"], row["host_total_ns"], spread) == (4, 16000, [4000, 2000, 10000, 1000, 10000])


def test_a_graph_launch_shows_the_device_time_of_its_kernels(run_cli, fixtures_dir):
    report = run_cli("stats", next((fixtures_dir / "cases").glob("46-*")), "--format", "json").json()
    assert [(row["name"], row["device_ns"]) for row in report["calls"]] == [("cudaGraphLaunch", 120000)]


def test_csv_of_several_files_says_which_file_a_row_is_of(run_cli, fixtures_dir):
    paths = sorted((fixtures_dir / "cases").glob("59-*rank*.json"))
    lines = run_cli("stats", *paths, "--format", "csv", "--by", "kernel").ok().stdout.splitlines()
    assert [line.split(",")[0] for line in lines if line and not line.startswith("file,")] == [str(path) for path in paths]
    assert not run_cli("stats", paths[0], "--format", "csv").ok().stdout.startswith("file,")


def test_shortened_names_stay_apart(run_cli, tmp_path):
    long = "void at::native::vectorized_elementwise_kernel<4, at::native::%s, std::array<char*, 3> >(int, at::native::%s, std::array<char*, 3>)"
    names = [long % (word, word) for word in ("AddFunctor<float>", "MulFunctor<float>", "AddFunctor<double>")]
    names += [("x" * 200 + end) for end in ("a", "b")] + [("é" * 150 + str(number) + "z" * 150) for number in range(12)]
    slices = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at * 100, "dur": 50} for at, name in enumerate(names)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": slices}))
    printed = run_cli("stats", path, "--top", "0").ok().stdout
    rows = printed.split("\nkernel ", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    shown = [re.split("  +", row)[0] for row in rows]
    assert len(shown) == len(names) and len(set(shown)) == len(names), shown
    assert all(len(line) <= 100 for line in printed.splitlines())


@pytest.mark.parametrize("first, kernels, copies, marks", [
    ("/device:GPU:0", {"fusion", "gemm"}, {"MemcpyH2D"}, {"jit_step"}), ("GPU3", {"fusion", "gemm", "jit_step", "op"}, {"MemcpyH2D"}, set()),
    ("/job:localhost/device:GPU:1/stream:all Compute", {"fusion", "gemm", "jit_step", "op"}, {"MemcpyH2D"}, set()),
    ("GPU Process", set(), set(), set())])  # fmt: skip
def test_a_device_is_known_by_the_name_of_its_process(run_cli, tmp_path, first, kernels, copies, marks):
    lanes = {1: "Stream #13(Compute)", 2: "XLA Modules", 3: "XLA Ops"}
    events = [{"ph": "M", "name": "process_name", "pid": 5, "args": {"name": first}}]
    events += [{"ph": "M", "name": "thread_name", "pid": 5, "tid": tid, "args": {"name": name}} for tid, name in lanes.items()]
    rows = [("fusion", 1), ("gemm", 1), ("MemcpyH2D", 1), ("jit_step", 2), ("op", 3)]
    events += [{"ph": "X", "name": name, "pid": 5, "tid": tid, "ts": at * 100, "dur": 10} for at, (name, tid) in enumerate(rows)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    report = run_cli("stats", path, "--format", "json").json()
    assert {row["name"] for row in report["kernels"]} == kernels and {row["name"] for row in report["copies"]} == copies
    assert sum(row["busy_ns"] for row in report["devices"]) == 10000 * len(kernels | copies)
    if kernels:
        assert [row["device"] for row in report["devices"]] == [re.search(r"\d+", first)[0]]


@pytest.mark.parametrize("name, shown", [("_Z6kernelPiPf$jit$12345$", "kernel(int*, float*)$jit$12345$"), ("Kernel: _Z11DaxpyKernelidPdS_", "Kernel: DaxpyKernel(int, double, double*, double*)"),
                                         ("_Z6kernelPiPf.kd", "kernel(int*, float*) [clone .kd]")])  # fmt: skip
def test_what_stands_around_a_mangled_name_does_not_keep_it_mangled(run_cli, tmp_path, name, shown):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1, "dur": 1}]}))
    other = tmp_path / "b.json"
    other.write_text('{"traceEvents": []}')
    assert shown in run_cli("diff", path, other, "--format", "json").json()["kernels"][0]["name"]
    line = next(line for line in run_cli("stats", path).ok().stdout.split("\nkernel ", 1)[1].splitlines()[1:])
    assert line.startswith(shown[:8]) and "_Z" not in line


STRANGERS = ("ao-amg", "cupti-exporter", "hta-amd-mi250", "hta-mtia-inference", "msprof-analyze-trace-view", "rpd", "speedscope",
             "tf-tpu-demo", "torchbench-a100", "xpu-fixtures")  # fmt: skip


def test_the_first_screens_of_other_peoples_files_fit_the_page_and_answer(run_cli, shared):
    folder = shared / "traces" / "public"
    if not folder.exists():
        pytest.skip(f"no public traces at {folder}")
    for name in STRANGERS:
        path = sorted(path for path in (folder / name).iterdir() if path.is_file())[0]
        shown = {verb: run_cli(verb, path).stdout.splitlines() for verb in ("check", "stats")}
        assert all(len(line) <= 100 for lines in shown.values() for line in lines), path
        assert any(line.startswith("verdict  ") for line in shown["check"][:4]), path
        assert any(line.startswith("recorded by  ") for lines in shown.values() for line in lines[:4]), path
        tables = [line for line in shown["stats"][:24] if re.search(r"\bcount +.*(total|device)|no events with a duration", line)]
        assert tables, (path, shown["stats"][:24])


def test_a_table_that_was_asked_for_and_is_empty_says_so(run_cli, fixtures_dir):
    path = fixtures_dir / "cases" / "52-crossing-slices.json"
    assert "no steps" in run_cli("stats", path, "--by", "step").ok().stdout
    assert "no steps" not in run_cli("stats", path).ok().stdout


def test_devices_streams_and_collectives_are_ordered_and_no_longer_than_asked_for(run_cli, tmp_path):
    work = [{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": device, "tid": 7, "ts": 10 * device, "dur": 1 + device % 5,
             "args": {"device": device, "stream": 7, "Collective name": f"c{device}"}} for device in reversed(range(14))]
    file = tmp_path / "many.json"
    file.write_text(json.dumps({"traceEvents": work}))
    report = run_cli("stats", file, "--format", "json").json()
    assert [row["device"] for row in report["devices"]] == [row["device"] for row in report["idle"]] == [str(n) for n in range(14)]
    for key in ("streams", "collectives"):
        totals = [row["total_ns"] for row in report[key]]
        assert totals == sorted(totals, reverse=True) and len(totals) == 14
    assert {(row["mean_ns"], row["p95_ns"], row["min_ns"]) for row in report["collectives"]} == {(n * 1000,) * 3 for n in range(1, 6)}
    report = run_cli("stats", file, "--format", "json", "--top", "3").json()
    assert {len(report[key]) for key in ("devices", "idle", "streams", "collectives")} == {3}
    assert run_cli("stats", file).ok().stdout.count("(the first 10 of 14; --top 0 shows all)") == 3


def test_a_step_of_a_merged_trace_counts_the_devices_of_its_own_rank(run_cli, tmp_path):
    def rank(number, dur, late):
        events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "pid": 9, "tid": 9, "ts": 1000 * n + late, "dur": 900} for n in (1, 2)]
        for n in range(2, 6):
            args = {"correlation": n, "External id": n}
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 500 * n + late + 1, "dur": 5, "args": args})
            events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 500 * n + late + 50, "dur": dur,
                           "args": {"device": 0, "stream": 7, **args}})
        file = tmp_path / f"rank{number}.json"
        file.write_text(json.dumps({"distributedInfo": {"rank": number}, "traceEvents": events}))
        return file

    ranks = [rank(0, 10, 0), rank(1, 300, 40)]
    run_cli("merge", *ranks, "-o", tmp_path / "all.json").ok()
    steps = run_cli("stats", tmp_path / "all.json", "--format", "json").json()["steps"]
    assert [row["step"] for row in steps] == [1, 1, 2, 2] and len({row["pid"] for row in steps}) == 2
    for number, file in enumerate(ranks):
        alone = run_cli("stats", file, "--format", "json").json()["steps"]
        merged = [row for row in steps if row["pid"] == steps[number]["pid"]]
        assert [row["device_busy_ns"] for row in merged] == [row["device_busy_ns"] for row in alone] == [2 * (10, 300)[number] * 1000] * 2
        assert [row["work_begun"] for row in merged] == [2, 2]
