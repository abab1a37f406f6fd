# test_verbs_diff.py - `flagprof diff`: changes beyond the noise are told, and nothing inside it.

import json
import random

import pytest


def kernel(name, ts, dur, number=1, **args):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur,
            "args": {"device": 0, "stream": 7, "correlation": number, "External id": number, **args}}


def operator(name, ts, dur, number):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
            "args": {"External id": number}}


def run(kernels, operators=None):
    """kernels: name -> durations."""
    events, ts, number = [], 0, 0
    for place, (name, durations) in enumerate(kernels.items()):
        for dur in durations:
            number += 1
            if operators:
                events.append(operator(operators[place], ts, 5, number))
            events.append(kernel(name, ts + 6, dur, number))
            ts += 1000
    return events


@pytest.fixture
def write(tmp_path):
    def call(name, events):
        path = tmp_path / name
        path.write_text(json.dumps({"traceEvents": events}))
        return path

    return call


@pytest.fixture
def diff(run_cli):
    def call(*arguments):
        report = run_cli("diff", *arguments, "--format", "json", "--all", "--top", "0").json()
        return report, {row["name"]: row for row in report.get("kernels", [])}

    return call


def total(report, name):
    [row] = [row for row in report["times"] if row["name"] == name]
    return row


def test_new_gone_and_changed(diff, write):
    base = write("a.json", run({"alpha": [10] * 10, "beta": [5] * 4, "gone": [7]}))
    test = write("b.json", run({"alpha": [15] * 10, "beta": [5] * 4, "fresh": [9]}))
    report, kernels = diff(base, test)
    assert {name: row["verdict"] for name, row in kernels.items()} == {
        "alpha": "slower", "beta": "same", "gone": "gone", "fresh": "new"}
    assert (kernels["alpha"]["base_ns"], kernels["alpha"]["test_ns"], kernels["alpha"]["change_percent"]) == (100000, 150000, 50)
    assert kernels["fresh"]["change_percent"] is None and kernels["fresh"]["base_calls"] == 0
    assert total(report, "device_time")["change_ns"] == 52000
    assert [row["name"] for row in report["kernels"]][0] == "alpha"  # the largest change first


def test_a_file_against_itself_changed_nothing(run_cli, fixtures_dir):
    for source in sorted((fixtures_dir / "traces").glob("*.gz")):
        report = run_cli("diff", source, source, "--format", "json", "--by", "all", "--all", "--top", "0").json()
        rows = [row for key in ("times", "counts", "kernels", "operators", "calls") for row in report[key]]
        assert {row["verdict"] for row in rows} == {"same"}, source


@pytest.mark.parametrize("before, after", [
    ("void gemm<128, 64, (bool)0>(Params)", "void gemm<256, 64, (bool)1>(Params)"),
    ("triton_poi_fused_add_0d1d2de3f4", "triton_poi_fused_add_9a8b7c6d5e"),
    ("ampere_sgemm_128x64_tn", "ampere_sgemm_64x64_tn"),
    ("_Z6kernelPiPf", "kernel(int*, float*)"),
])
def test_a_new_template_argument_or_hash_is_a_change_and_not_two_strangers(diff, write, before, after):
    report, kernels = diff(write("a.json", run({before: [10] * 5, "other": [3]})), write("b.json", run({after: [20] * 5, "other": [3]})))
    assert len(kernels) == 2
    [row] = [row for name, row in kernels.items() if name != "other"]
    assert row["verdict"] == "slower" and (row["base_ns"], row["test_ns"]) == (50000, 100000)
    assert row["name"].endswith(after if not before.startswith("_Z") else "kernel(int*, float*)")
    assert row["name"].startswith("~ ") != before.startswith("_Z")


def test_names_that_are_unlike_stay_apart(diff, write):
    _, kernels = diff(write("a.json", run({"gemm_nn<1>": [1]})), write("b.json", run({"gemm_nt<1>": [1]})))
    assert {row["verdict"] for row in kernels.values()} == {"new", "gone"}


def test_several_versions_of_one_name_are_added_up(diff, write):
    base = write("a.json", run({"k<1>": [10], "k<2>": [20]}))
    test = write("b.json", run({"k<3>": [30], "k<4>": [1], "k<5>": [2]}))
    _, kernels = diff(base, test)
    [(name, row)] = kernels.items()
    assert name.startswith("~ (2 names, then 3)") and (row["base_ns"], row["test_ns"]) == (30000, 33000)


@pytest.mark.parametrize("files", [1, 2, 3, 5, 8])
def test_no_cry_inside_the_noise(diff, write, files):
    for seed in range(6):
        dice = random.Random(seed * 100 + files)

        def one(name, dice=dice):
            run_factor = dice.gauss(1, 0.02) if files > 1 else 1
            return write(name, run({f"kernel_{k}_": [max(1, dice.gauss(50, 5)) * run_factor for _ in range(60)] for k in "abc"}))

        base = [one(f"a{i}.json") for i in range(files)]
        test = [one(f"b{i}.json") for i in range(files)]
        report, kernels = diff("--base", *base, "--test", *test)
        cried = [row for row in kernels.values() if row["verdict"] != "same"]
        cried += [row for row in report["times"] if row["name"] == "device_time" and row["verdict"] != "same"]
        assert len(cried) <= 1, (seed, cried)


@pytest.mark.parametrize("files", [2, 3, 5])
def test_a_change_of_a_tenth_is_told_through_the_noise(diff, write, files):
    dice = random.Random(11)
    base = [write(f"a{i}.json", run({"k": [dice.gauss(50, 2) * dice.gauss(1, 0.005) for _ in range(50)]})) for i in range(files)]
    test = [write(f"b{i}.json", run({"k": [dice.gauss(55, 2) * dice.gauss(1, 0.005) for _ in range(50)]})) for i in range(files)]
    report, kernels = diff("--test", *test, "--base", *base)
    assert kernels["k"]["verdict"] == "slower" and 8 < kernels["k"]["change_percent"] < 12
    assert report["base_files"] == report["test_files"] == files
    assert kernels["k"]["noise_ns"] < kernels["k"]["change_ns"]


@pytest.mark.parametrize("limit, status", [
    ("device_time>5%", 1), ("device_time>60%", 0), ("device_time<-5%", 0), ("device_time>40us", 1), ("device_time>1ms", 0),
    ("kernel:^alpha$>10%", 1), ("kernel:beta>10%", 0), ("kernel>49%", 1), ("new>0", 1), ("new:alpha>0", 0), ("gone>1", 0),
    ("changed>0", 1), ("kernels>5%", 0), ("wall_time>50%", 0), ("device_time>60%, new>0", 1), (" device_busy > 5 % ", 2),
])
def test_fail_on_sets_the_exit_status(run_cli, write, limit, status):
    base = write("a.json", run({"alpha": [10] * 10, "beta": [5] * 4, "gone": [7]}))
    test = write("b.json", run({"alpha": [15] * 10, "beta": [5] * 4, "fresh": [9]}))
    done = run_cli("diff", base, test, "--fail-on", limit)
    assert done.returncode == status, done
    assert ("FAILED" in done.stdout) == (status == 1)


HOST = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 9, "args": {"External id": 1}}]
STEP = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 9000}]


@pytest.mark.parametrize("limit", [
    "device_time>5%", "device_busy>5%", "device_idle>5%", "kernel_time>5%", "copy_time>5%", "operator_device_time>5%", "kernels>5%",
    "copies>5%", "kernel>10%", "kernel:alpha>10%", "operator>10%", "new>0", "changed>0", "call_time>5%", "call>5%", "calls>5%",
    "step_time>5%", "steps>5%",
])
def test_a_limit_that_one_file_has_nothing_of_fails(run_cli, write, limit):
    call = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 0, "dur": 5, "args": {"correlation": 1}}]
    whole, without = write("a.json", run({"alpha": [10] * 9}, ["aten::mm"]) + call + STEP), write("b.json", HOST)
    run_cli("diff", whole, whole, "--fail-on", limit).ok()
    for sides in ([whole, without], ["--base", whole, whole, "--test", without, whole], [without, whole], [without, without]):
        if limit == "operator>10%" and sides == [without, without]:
            continue  # no operator owns device time on either side: their own host time is judged
        done = run_cli("diff", *sides, "--fail-on", limit)
        assert done.returncode == 1 and "cannot be judged" in " ".join(done.stdout.split()), done


def test_a_kernel_that_the_test_does_not_have_keeps_no_limit(run_cli, write):
    base, test = write("a.json", run({"alpha": [10] * 4, "beta": [5] * 4})), write("b.json", run({"beta": [5] * 4}))
    done = run_cli("diff", base, test, "--fail-on", "kernel:alpha>10%")
    assert done.returncode == 1 and "nothing in the test matches it" in done.stdout
    run_cli("diff", base, test, "--fail-on", "kernel>10%").ok()


def test_limits_on_a_half_read_file_or_on_steps_against_runs_fail(run_cli, write, tmp_path):
    whole = write("a.json", run({"k": [10] * 9}))
    cut = tmp_path / "cut.json"
    cut.write_text(whole.read_text()[:-200])
    done = run_cli("diff", whole, cut, "--fail-on", "device_time>50%")
    assert done.returncode == 1 and "not read whole" in " ".join(done.stdout.split())
    run_cli("diff", whole, cut).ok()
    not_closed = tmp_path / "list.json"  # as the format allows
    not_closed.write_text("[" + ",".join(json.dumps(event) for event in run({"k": [10] * 9})) + ",")
    run_cli("diff", whole, not_closed, "--fail-on", "device_time>50%").ok()
    steps = write("s.json", run({"k": [10] * 9}) + STEP)
    run_cli("diff", steps, steps, "--per", "step", "--fail-on", "kernel>50%").ok()
    assert run_cli("diff", whole, steps, "--per", "step", "--fail-on", "kernel>50%").returncode == 1


@pytest.mark.parametrize("limit, kept", [
    ("kernel:gemm<float, 4>>10%", 0), ("new>0, kernel:gemm<float, 4> > 10%", 1), ("kernel:ge{0,1}mm.*>10%,gone>0", 1)])
def test_a_comma_within_an_expression_parts_nothing(run_cli, write, limit, kept):
    base = write("a.json", run({"gemm<float, 4>": [10] * 9, "x": [1]}))
    test = write("b.json", run({"gemm<float, 4>": [20] * 9, "x": [1]}))
    done = run_cli("diff", base, test, "--fail-on", limit)
    assert done.returncode == 1 and "changed by +100.0 %" in done.stdout and done.stdout.count("kept ") == kept


def test_an_unknown_limit_lists_those_that_there_are(run_cli, write):
    file = write("a.json", run({"k": [1]}))
    done = run_cli("diff", file, file, "--fail-on", "gpu_time>5%")
    for name in ("device_time", "step_time", "wall_time", "kernel", "operator", "operator_host", "call", "new", "gone", "changed", "copies"):
        assert f" {name}," in done.stderr or done.stderr.rstrip().endswith(f" {name}."), name
    assert run_cli("diff", file, file, "--fail-on", "device_time>5").stderr.count("Write NAME>5%") == 1


@pytest.mark.parametrize("files", [3, 5, 6])
def test_a_table_of_many_names_hardly_cries_inside_the_noise_and_tells_a_change(diff, write, files):
    cried = 0
    for seed in range(3):
        dice = random.Random(seed * 10 + files)

        def one(name, slower, dice=dice):
            return write(name, run({f"kernel_{chr(97 + k // 26)}{chr(97 + k % 26)}_": [50 * dice.gauss(1, 0.04) * (slower if k == 0 else 1)]
                                    for k in range(60)}))

        base, test = [one(f"a{i}.json", 1) for i in range(files)], [one(f"b{i}.json", 1.5) for i in range(files)]
        _, kernels = diff("--base", *base, "--test", *test)
        assert kernels.pop("kernel_aa_")["verdict"] == "slower"
        assert len(kernels) == 59
        cried += sum(row["verdict"] != "same" for row in kernels.values())
    assert cried <= 1  # of 177


def test_a_change_inside_the_noise_fails_no_limit(run_cli, write):
    dice = random.Random(2)
    base = [write(f"a{i}.json", run({"k": [50 * dice.uniform(0.9, 1.1)] * 5})) for i in range(3)]
    test = [write(f"b{i}.json", run({"k": [50 * dice.uniform(0.9, 1.1)] * 5})) for i in range(3)]
    run_cli("diff", "--base", *base, "--test", *test, "--fail-on", "device_time>0.1%", "--fail-on", "kernel>0.1%").ok()


def test_vendors_are_compared_by_operator(run_cli, write):
    base = write("cuda.json", run({"sm90_gemm": [10] * 5, "vectorized": [2] * 5}, ["aten::mm", "aten::add"]))
    test = write("rocm.json", run({"Cijk_Ailk": [20] * 5, "elementwise": [2] * 5}, ["aten::mm", "aten::add"]))
    report = run_cli("diff", base, test, "--format", "json", "--all").json()
    assert "kernels" not in report and any("vendors" in note for note in report["notes"])
    rows = {row["name"]: row for row in report["operators"]}
    assert rows["aten::mm"]["verdict"] == "slower" and rows["aten::mm"]["base_ns"] == 50000
    assert rows["aten::add"]["verdict"] == "same"


def test_per_call_and_per_step(run_cli, write):
    def steps(count):
        return [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "pid": 1, "tid": 1, "ts": n * 5000,
                 "dur": 4000} for n in range(count)]

    base = write("a.json", run({"k": [10] * 4}) + steps(2))
    test = write("b.json", run({"k": [10] * 8}) + steps(4))
    for per, verdict in (("run", "slower"), ("call", "same"), ("step", "same")):
        report = run_cli("diff", base, test, "--per", per, "--format", "json", "--all").json()
        assert report["kernels"][0]["verdict"] == verdict, per


@pytest.mark.parametrize("arguments, word", [
    (["--fail-on", "device_tim>5%"], "does not understand"),
    (["--fail-on", "device_time>x"], "does not understand"),
    (["--fail-on", "kernel:(>5%"], "regular expression"),
    (["--per", "hour"], "--per"), (["--by", "colour"], "--by"),
])
def test_what_makes_no_sense_is_said(run_cli, fixtures_dir, arguments, word):
    source = fixtures_dir / "cases" / "52-crossing-slices.json"
    done = run_cli("diff", source, source, *arguments)
    assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1


def test_a_side_without_device_work_is_neither_slower_nor_faster(run_cli, write):
    host = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 9, "args": {"External id": 1}}]
    kernel = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 3, "args": {"device": 0, "stream": 7, "External id": 1}}]
    with_device, without = write("a.json", host + kernel), write("b.json", host)
    for sides, word, side in (([with_device, without], "not in test", "test"), ([without, with_device], "not in base", "base")):
        report = run_cli("diff", *sides, "--format", "json").json()
        times = {row["name"]: row for row in report["times"]}
        for name in ("device_time", "device_busy", "kernel_time", "operator_device_time"):
            assert (times[name]["verdict"], times[name]["noise_ns"]) == (word, None), name
        assert times["operator_host_time"]["verdict"] == times["copy_time"]["verdict"] == "same"
        assert [row["verdict"] for row in report["operators"]] == [word]
        assert any(f"The {side} has no device work" in note for note in report["notes"])


def test_sides_must_be_clear(run_cli, fixtures_dir):
    source = fixtures_dir / "cases" / "52-crossing-slices.json"
    for arguments in ([source], [source] * 3, ["--base", source, source], [source, "--base", source, "--test", source], ["--base", "--test", source]):
        done = run_cli("diff", *arguments)
        assert done.returncode == 2 and "which files on which side" in done.stderr


def test_a_broken_file_is_refused_and_a_salvaged_one_is_named(run_cli, fixtures_dir):
    good, bad = (fixtures_dir / "cases" / f"{name}.json" for name in ("64-too-big-for-memory", "01-unescaped-quote-in-name"))
    assert run_cli("diff", good, bad).returncode == 2
    done = run_cli("diff", good, bad, "--salvage").ok()
    assert "not read whole" in " ".join(done.stdout.split())


def test_tables_fit_the_page_and_name_units(run_cli, fixtures_dir):
    done = run_cli("diff", fixtures_dir / "traces" / "h200_train.json.gz", fixtures_dir / "traces" / "h200_ddp_rank0.json.gz", "--by", "all").ok()
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    wall = next(line for line in done.stdout.splitlines() if line.startswith("wall_time"))
    assert wall.count(" ms") == 4, wall  # base, test, change and noise can be compared
    done = run_cli("diff", fixtures_dir / "traces" / "h200_train.json.gz", fixtures_dir / "traces" / "h200_ddp_rank0.json.gz", "--unit", "us").ok()
    assert "base us" in done.stdout and "test us" in done.stdout
