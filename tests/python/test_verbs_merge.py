# test_verbs_merge.py - `flagprof merge`: nothing is shared by accident, and clocks are claimed only where they are proven.

import gzip
import json
import random
import re
from decimal import Decimal

import pytest

BASE = 1743521598000000000


def strict(text):
    return json.loads(text, parse_float=Decimal, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def load(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return strict(file.read())


def case(fixtures_dir, *names):
    return [fixtures_dir / "cases" / f"{name}.json" for name in names]


RANKS_59 = ("59-merge-id-collisions-rank0", "59-merge-id-collisions-rank1")
RANKS_60 = ("60-merge-clock-skew-rank0", "60-merge-clock-skew-rank1")
RANKS_27 = ("27-base-time-two-schemes-rank0-absolute", "27-base-time-two-schemes-rank1-relative")


@pytest.fixture
def merge(run_cli, tmp_path):
    def call(files, *arguments):
        target = tmp_path / "all.json"
        done = run_cli("merge", *files, *arguments, "-o", target, "--format", "json")
        return load(target), done.json()

    return call


@pytest.fixture
def write(tmp_path):
    def call(name, events, **header):
        path = tmp_path / name
        path.write_text(json.dumps({**header, "traceEvents": events}))
        return path

    return call


def pairing(events):
    """Launch name -> kernel names, by correlation; and by arrow."""
    kernels = {e["args"]["correlation"]: e for e in events if e.get("cat") == "kernel"}
    calls = [e for e in events if e.get("cat") == "cuda_runtime" and "correlation" in e["args"]]
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    return kernels, calls, starts, ends


def test_case_59_ranks_share_no_id_and_every_pair_stays_a_pair(merge, fixtures_dir):
    trace, report = merge(case(fixtures_dir, *RANKS_59))
    events = trace["traceEvents"]
    kernels, calls, starts, ends = pairing(events)
    assert len(kernels) == len(calls) == len(starts) == len(ends) == 2
    for call in calls:
        kernel = kernels[call["args"]["correlation"]]
        assert kernel["args"]["External id"] == call["args"]["External id"]
        assert kernel["ts"] - call["ts"] == 20
        assert starts[call["args"]["correlation"]]["pid"] == call["pid"]
        assert ends[call["args"]["correlation"]]["pid"] == kernel["pid"]
    assert len({e["pid"] for e in events}) == 4
    assert len({e["args"]["External id"] for e in events if "External id" in e.get("args", {})}) == 2
    assert any("Process ids" in note for note in report["notes"])
    assert any("External ids" in note for note in report["notes"])
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert sorted(name.split(":")[0] for name in names.values()) == ["rank 0", "rank 0", "rank 1", "rank 1"]


def test_case_59_both_headers_are_kept(merge, fixtures_dir):
    files = case(fixtures_dir, *RANKS_59)
    trace, _ = merge(files)
    kept = trace["flagprof_merge"]["files"]
    for file, said in zip(files, kept):
        assert said["header"] == {k: v for k, v in load(file).items() if k != "traceEvents"}
    assert trace["schemaVersion"] == 1 and trace["baseTimeNanoseconds"] == BASE
    assert "distributedInfo" not in trace  # it would be one rank's


@pytest.mark.parametrize("size, told", [(1000, False), ((1 << 20) + 1, True)])
def test_only_a_header_value_that_is_too_large_is_said_to_be_left_out(run_cli, write, tmp_path, size, told):
    files = [write(f"rank{rank}.json", [{"ph": "i", "name": "a", "ts": rank}], note="x" * size) for rank in range(2)]
    done = run_cli("merge", "--anyway", *files, "-o", tmp_path / "all.json").ok()
    assert ("left out" in done.stdout + done.stderr) == told, done


def test_case_59_a_missing_header_is_no_error(merge, fixtures_dir):
    files = case(fixtures_dir, RANKS_59[0], "59-merge-id-collisions-no-header")
    trace, report = merge(files)
    assert len([e for e in trace["traceEvents"] if e["ph"] != "M"]) == 10
    assert [row["rank"] for row in report["ranks"]] == [0, 1]
    assert any("names no rank" in note for note in report["notes"])
    assert any("not known" in note for note in report["notes"])
    kernels, calls, _, _ = pairing(trace["traceEvents"])
    assert len(kernels) == len(calls) == 2


def test_case_27_both_schemes_of_time_stand_on_one_base(merge, fixtures_dir):
    trace, report = merge(case(fixtures_dir, *RANKS_27))
    times = [e["ts"] for e in trace["traceEvents"] if e["ph"] == "X"]
    assert times == [100, Decimal("110.5")] and trace["baseTimeNanoseconds"] == BASE
    assert any("absolute" in note for note in report["notes"])


def test_different_bases_keep_absolute_times_exact(merge, write):
    one = write("rank0.json", [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5.001, "dur": 9}],
                baseTimeNanoseconds=BASE + 1500)
    two = write("rank1.json", [{"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 7, "dur": 1}], baseTimeNanoseconds=BASE)
    trace, _ = merge([one, two])
    assert trace["baseTimeNanoseconds"] == BASE
    assert {e["name"]: e["ts"] for e in trace["traceEvents"] if e["ph"] == "X"} == {"a": Decimal("6.501"), "b": 7}


def test_case_60_the_offset_is_printed_and_nothing_moves_unasked(merge, fixtures_dir):
    trace, report = merge(case(fixtures_dir, *RANKS_60))
    assert report["ranks"][1]["clock_offset_ns"] == -11560000000
    assert report["ranks"][1]["collectives_matched"] == 1
    ends = [e["ts"] + e["dur"] for e in trace["traceEvents"] if e.get("cat") == "kernel"]
    assert ends == [1300, -11558700]
    assert any("--align" in note for note in report["notes"])


def test_case_60_aligned_the_collective_ends_together_and_rank_0_came_last(merge, fixtures_dir):
    trace, report = merge(case(fixtures_dir, *RANKS_60), "--align")
    ends = [e["ts"] + e["dur"] for e in trace["traceEvents"] if e.get("cat") == "kernel"]
    assert ends == [1300, 1300] and trace["flagprof_merge"]["aligned"] is True
    assert [(row["rank"], row["times_last"]) for row in report["stragglers"]] == [(0, 1), (1, 0)]
    assert report["collectives"][0]["behind_first_ns"] == 30000
    assert any("one collective" in note for note in report["notes"])


# Both ranks ran on one host, so that the true offset is 0, and after the shift what it was shifted by.
@pytest.mark.parametrize("shift_ns", (0, 12_345_678_901, -86_400_000_000_007))
def test_the_offset_between_two_ranks_of_an_h200_is_found_within_two_microseconds(merge, fixtures_dir, tmp_path, shift_ns):
    files = [fixtures_dir / "pairs" / f"ddp_rank{rank}.flagprof.json.gz" for rank in (0, 1)]
    late = load(files[1])
    late["baseTimeNanoseconds"] += shift_ns
    files[1] = tmp_path / "late.json"
    files[1].write_text(json.dumps(late, default=float))
    trace, report = merge(files, "--align")
    assert report["ranks"][1]["clock"] == "proven" and abs(report["ranks"][1]["clock_offset_ns"] - shift_ns) < 2000
    kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
    ends = [e["ts"] + e["dur"] for e in kernels if e["args"].get("Collective name") == "allreduce"]
    assert len(ends) == 24 and all(abs(mine - theirs) < 5 for mine, theirs in zip(sorted(ends)[::2], sorted(ends)[1::2]))


def test_our_two_ranks_agree_and_rank_1_is_the_straggler(merge, fixtures_dir):
    files = [fixtures_dir / "traces" / f"h200_ddp_rank{rank}.json.gz" for rank in (0, 1)]
    trace, report = merge(files)
    [first, second] = report["ranks"]
    assert second["clock"] == "proven" and abs(second["clock_offset_ns"]) < 5000 and second["clock_worst_ns"] < 10000
    assert any("matched by order" in note for note in report["notes"])
    late = {row["rank"]: row for row in report["stragglers"]}
    assert late[1]["times_last"] == late[1]["collectives"] == 7 and late[0]["times_last"] == 0
    # By hand: the first all-reduce of rank 0 began 55.487 ms before rank 1's.
    assert abs(report["collectives"][0]["behind_first_ns"] - 55_487_868) < 2000
    wholes = [load(file) for file in files]
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert len(slices) == sum(e["ph"] == "X" for whole in wholes for e in whole["traceEvents"])
    assert [e["ts"] for e in slices] == [e["ts"] for whole in wholes for e in whole["traceEvents"] if e["ph"] == "X"]
    lanes = [{(str(e["pid"]), str(e["tid"])) for e in slices[:1676]}, {(str(e["pid"]), str(e["tid"])) for e in slices[-1676:]}]
    assert len(trace["deviceProperties"]) == len(wholes[0]["deviceProperties"])
    assert lanes[0].isdisjoint(lanes[1])


def test_eight_public_ranks(run_cli, shared, tmp_path):
    files = sorted((shared / "traces" / "public" / "param-dlrm-8rank").glob("*.gz"))
    if len(files) != 8:
        pytest.skip("the eight ranks are not here")
    done = run_cli("merge", *files, "-o", tmp_path / "all.json.gz", "--format", "json")
    report = done.json()
    assert [row["rank"] for row in report["ranks"]] == list(range(8))
    assert all(row["clock"] == "proven" and abs(row["clock_offset_ns"]) <= 5000 for row in report["ranks"][1:])
    late = {row["rank"]: row["times_last"] for row in report["stragglers"]}
    assert max(late, key=late.get) == 7
    trace = load(tmp_path / "all.json.gz")
    wholes = [load(file) for file in files]
    assert sum(e.get("ph") == "X" for e in trace["traceEvents"]) == sum(
        e.get("ph") == "X" for whole in wholes for e in whole["traceEvents"])
    for key in ("id",):
        starts = [e[key] for e in trace["traceEvents"] if e.get("ph") == "s" and e.get("cat") == "ac2g"]
        assert len(starts) == len(set(starts))


def rank_events(rank, steps, clock, dice, seq=True, group="0", skip=0):
    """Steps with an all-reduce each; `clock` turns true ns into this rank's."""
    events = []
    for step in range(skip, steps):
        came = step * 10_000_000 + dice.randrange(0, 400_000)
        left = step * 10_000_000 + 500_000
        args = {"device": 0, "stream": 20, "correlation": step + 1, "External id": step, "Collective name": "allreduce",
                "Process Group Name": group, "Group size": 4, "In msg nelems": 64}
        if seq:
            args["Seq"] = step + 100
        start, end = clock(came), clock(left)
        events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20,
                       "ts": start / 1000, "dur": round((end - start) / 1000, 3), "args": args})
        events.append({"ph": "s", "id": step + 1, "cat": "ac2g", "name": "ac2g", "pid": 9, "tid": 9, "ts": start / 1000})
    return events


def header(rank, **more):
    return {"distributedInfo": {"rank": rank, "world_size": 4}, "baseTimeNanoseconds": BASE, **more}


@pytest.mark.parametrize("seq", [True, False], ids=["by sequence", "by order"])
def test_offset_and_drift_are_found_to_the_microsecond(run_cli, write, tmp_path, seq):
    dice = random.Random(3)
    clocks = {0: lambda ns: ns, 1: lambda ns: ns + 3_000_000_000, 2: lambda ns: ns - 70_000_123,
              3: lambda ns: ns + 5_000_000 + ns // 20_000}  # 50 us a second
    files = [write(f"rank{rank}.json", rank_events(rank, 60, clock, dice, seq), **header(rank))
             for rank, clock in clocks.items()]
    done = run_cli("merge", *files, "--align", "-o", tmp_path / "all.json", "--format", "json")
    ranks = done.json()["ranks"]
    assert abs(ranks[1]["clock_offset_ns"] - 3_000_000_000) <= 1 and ranks[1]["clock_drift_us_per_s"] is None
    assert abs(ranks[2]["clock_offset_ns"] + 70_000_123) <= 1
    assert abs(ranks[3]["clock_drift_us_per_s"] - 50) < 0.5
    kernels = {}
    for event in load(tmp_path / "all.json")["traceEvents"]:
        if event.get("cat") == "kernel":
            number = event["args"]["correlation"] % 100
            kernels.setdefault(number, []).append(event["ts"] + Decimal(str(event["dur"])))
    assert all(len(ends) == 4 and max(ends) - min(ends) <= 2 for ends in kernels.values())


@pytest.mark.parametrize("operation", ["broadcast", "send", "reduce"])
def test_collectives_that_a_rank_may_leave_early_prove_no_offset(run_cli, write, tmp_path, operation):
    dice = random.Random(7)
    files = []
    for rank in (0, 1):
        events = rank_events(rank, 30, lambda ns: ns, dice)
        for event in events:
            if event["ph"] == "X":
                event["name"], event["args"]["Collective name"] = f"ncclDevKernel_{operation.title()}", operation
                event["dur"] = 5 if rank == 0 else event["dur"]  # the root leaves before the other has come
        files.append(write(f"rank{rank}.json", events, **header(rank)))
    report = run_cli("merge", *files, "--format", "json").json()
    assert report["ranks"][1]["clock"] == "broadcasts" and report["ranks"][1]["clock_offset_ns"] > 100_000
    assert any("may leave before another has come" in note for note in report["notes"])
    done = run_cli("merge", *files, "--align", "-o", tmp_path / "all.json")
    assert done.returncode == 2 and "cannot be aligned" in done.stderr and not (tmp_path / "all.json").exists()


def test_alignment_is_refused_where_it_is_not_proven(run_cli, write, tmp_path):
    dice = random.Random(5)
    one = write("rank0.json", rank_events(0, 20, lambda ns: ns, dice, seq=False), **header(0))
    uneven = write("rank1.json", rank_events(1, 20, lambda ns: ns + 77, dice, seq=False, skip=1), **header(1))
    scatter = write("rank2.json", [dict(e, ts=e["ts"] + dice.randrange(0, 9_000_000)) if e["ph"] == "X" else e
                                   for e in rank_events(2, 20, lambda ns: ns, dice)], **header(2))
    sequence = write("rank3.json", rank_events(3, 20, lambda ns: ns, dice), **header(3))
    few = [write(f"few{rank}.json", rank_events(rank, 2, lambda ns: ns, dice, seq=False), **header(rank)) for rank in (0, 1)]
    alone = write("rank4.json", rank_events(4, 20, lambda ns: ns, dice, group="other"), **header(4))
    for files, word in [((one, uneven), "uneven"), ((sequence, scatter), None), (few, "too few"), ((sequence, alone), "no match")]:
        report = run_cli("merge", *files, "--format", "json").json()
        assert report["ranks"][1]["clock"] == word if word else report["ranks"][1]["clock"] in ("scattered", "contradicted")
        done = run_cli("merge", *files, "--align", "-o", tmp_path / "all.json")
        assert done.returncode == 2 and "cannot be aligned" in done.stderr and done.stderr.count("\n") == 1
        assert not (tmp_path / "all.json").exists()
        run_cli("merge", *files, "-o", tmp_path / "plain.json").ok()


def test_a_rank_is_measured_through_another_that_it_shares_a_group_with(run_cli, write):
    dice = random.Random(9)
    middle = rank_events(1, 12, lambda ns: ns + 500, dice, group="a") + rank_events(1, 12, lambda ns: ns + 500, dice, group="b")
    files = [write("r0.json", rank_events(0, 12, lambda ns: ns, dice, group="a"), **header(0)),
             write("r1.json", middle, **header(1)),
             write("r2.json", rank_events(2, 12, lambda ns: ns - 9000, dice, group="b"), **header(2))]
    ranks = run_cli("merge", *files, "--format", "json").json()["ranks"]
    assert [row["clock_offset_ns"] for row in ranks[1:]] == [500, -9000]


def test_files_of_different_runs_are_refused(run_cli, write, tmp_path):
    def lone(name, base, rank):
        return write(name, [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 9}],
                     baseTimeNanoseconds=base, distributedInfo={"rank": rank})

    files = [lone("a.json", BASE, 0), lone("b.json", BASE + 3600 * 10**9, 1)]
    done = run_cli("merge", *files, "-o", tmp_path / "all.json")
    assert done.returncode == 2 and "does not meet" in done.stderr and not (tmp_path / "all.json").exists()
    run_cli("merge", *files, "--anyway", "-o", tmp_path / "all.json").ok()
    assert len([e for e in load(tmp_path / "all.json")["traceEvents"] if e["ph"] == "X"]) == 2


def test_every_kind_of_id_is_told_apart(merge, write):
    def events():
        return [{"ph": "b", "cat": "c", "name": "x", "id": "0x5", "pid": 1, "tid": 1, "ts": 1},
                {"ph": "e", "cat": "c", "name": "x", "id": "0x5", "pid": 1, "tid": 1, "ts": 2},
                {"ph": "b", "cat": "c", "name": "y", "id2": {"global": "0x6"}, "pid": 1, "tid": 1, "ts": 1},
                {"ph": "b", "cat": "c", "name": "z", "id2": {"local": "0x7"}, "pid": 1, "tid": 1, "ts": 1},
                {"ph": "X", "name": "v2", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "bind_id": "8", "flow_out": True},
                {"ph": "X", "name": "zero", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 1,
                 "args": {"External id": 0, "correlation": 0, "Seq": 3}},
                {"ph": "X", "name": "span", "pid": "Spans", "tid": "t", "ts": 1, "dur": 1},
                {"ph": "X", "name": "minus", "pid": -1, "tid": 1, "ts": 1, "dur": 1}]

    trace, _ = merge([write(f"rank{rank}.json", events()) for rank in (0, 1)])
    one, two = [[e for e in trace["traceEvents"] if e["ph"] != "M"][i::1][:8] for i in (0, 8)]
    assert one == events()
    by = {(e["name"], e["ph"]): e for e in two}
    assert by["x", "b"]["id"] == by["x", "e"]["id"] != "0x5"
    assert by["y", "b"]["id2"]["global"] != "0x6" and by["z", "b"]["id2"] == {"local": "0x7"}
    assert by["v2", "X"]["bind_id"] != "8"
    zero = by["zero", "X"]["args"]
    assert zero["correlation"] == 0 and zero["External id"] != 0 and zero["Seq"] == 3
    assert len({str(e["pid"]) for e in one + two}) == 6


def test_ids_near_64_bits_are_numbered_anew_and_stay_pairs(merge, write):
    def events():
        big = 2**63 + 12345
        return [{"ph": "s", "cat": "c", "name": "x", "id": big, "pid": 7168000000, "tid": 1, "ts": 1},
                {"ph": "f", "cat": "c", "name": "x", "id": big, "pid": 7168000000, "tid": 2, "ts": 2},
                {"ph": "s", "cat": "c", "name": "x", "id": big + 1, "pid": 7168000000, "tid": 1, "ts": 1}]

    trace, report = merge([write(f"rank{rank}.json", events()) for rank in (0, 1)])
    kept = [e for e in trace["traceEvents"] if e["ph"] in "sf"]
    assert [e["id"] for e in kept[:3]] == [kept[0]["id"], kept[0]["id"], kept[2]["id"]] and len({e["id"] for e in kept}) == 4
    assert len({e["pid"] for e in kept}) == 2 and all(e["pid"] < 2**31 for e in kept)
    assert any("numbered anew" in note for note in report["notes"])


def test_repeated_metadata_is_written_once_and_sorted_by_rank(merge, fixtures_dir, write):
    events = load(fixtures_dir / "cases" / "62-duplicated-metadata.json")["traceEvents"]
    text = json.loads(json.dumps(events, default=float))
    trace, report = merge([write(f"rank{rank}.json", text) for rank in (0, 1)])
    metadata = [e for e in trace["traceEvents"] if e["ph"] == "M"]
    assert len(metadata) == 4 and report["metadata_collapsed"] == 156
    order = {e["pid"]: e["args"]["sort_index"] for e in metadata if e["name"] == "process_sort_index"}
    assert sorted(order, key=order.get) == sorted(order)


def test_rank_comes_from_the_name_where_the_header_has_none(run_cli, write):
    event = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 9}
    files = [write(name, [event]) for name in ("rank-70.Mar.pt.trace.json", "worker3_step_1.json", "x_RANK_12.json")]
    rows = run_cli("merge", *files, "--format", "json").json()["ranks"]
    assert [row["rank"] for row in rows] == [3, 12, 70]


def test_five_hundred_and_twelve_ranks_in_bounded_memory(tree, write, tmp_path):
    import subprocess

    dice = random.Random(1)
    files = []
    for rank in range(512):
        offset = dice.randrange(-10**9, 10**9)
        files.append(write(f"rank{rank}.json", rank_events(rank, 10, lambda ns, offset=offset: ns + offset, dice),
                           **header(rank), trueOffset=offset))
    done = subprocess.run(["bash", "-c", '"$@" & wait $!', "-", tree.cli, "merge", *files, "-o", tmp_path / "all.json.zst",
                           "--align", "--format", "json"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["ranks"]
    truth = [json.loads(file.read_text())["trueOffset"] for file in files]
    assert all(abs(row["clock_offset_ns"] - (truth[row["rank"]] - truth[0])) <= 2 for row in rows[1:])
    limited = subprocess.run(["bash", "-c", 'ulimit -v 400000; "$@"', "-", tree.cli, "merge", *files, "-o", tmp_path / "b.json"],
                             capture_output=True, text=True, timeout=100)
    assert limited.returncode == 0, limited.stderr
    events = load(tmp_path / "b.json")["traceEvents"]
    ids = [e["id"] for e in events if e["ph"] == "s"]
    assert len(ids) == len(set(ids)) == 5120
    assert all(e["pid"] < 2**31 for e in events)


def test_a_part_of_every_rank(merge, fixtures_dir):
    files = [fixtures_dir / "traces" / f"h200_ddp_rank{rank}.json.gz" for rank in (0, 1)]
    trace, _ = merge(files, "--include", "nccl")
    assert all("nccl" in e["name"] for e in trace["traceEvents"] if e["ph"] == "X")


def test_tables_fit_the_page(run_cli, fixtures_dir):
    files = [fixtures_dir / "traces" / f"h200_ddp_rank{rank}.json.gz" for rank in (0, 1)]
    done = run_cli("merge", *files).ok()
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    assert re.search(r"^ +1 .*[+-][\d.]+ (ns|us)", done.stdout, re.MULTILINE), done.stdout


def test_broken_files_and_full_disks_leave_nothing(run_cli, fixtures_dir, tmp_path):
    good, bad = case(fixtures_dir, RANKS_59[0], "02-unescaped-backslash")
    done = run_cli("merge", good, bad, "-o", tmp_path / "all.json")
    assert done.returncode == 2 and "backslash" in done.stderr and list(tmp_path.iterdir()) == []
    run_cli("merge", good, bad, "--salvage", "-o", tmp_path / "all.json").ok()
    assert load(tmp_path / "all.json")
    full = run_cli("merge", good, *case(fixtures_dir, RANKS_59[1]), "-o", "/dev/full")
    assert full.returncode == 2 and "No space left" in full.stderr


def test_secrets_go_on_request_from_headers_and_events(run_cli, fixtures_dir, write, tmp_path):
    event = {"ph": "M", "name": "environment", "pid": 1, "tid": 0, "args": {f"A{number}_TOKEN": "hush" for number in range(40)}}
    event["args"]["env"] = {"DB_PASSWORD": "hush", "kept": "stays"}
    other = write("b.json", [event])
    case = next((fixtures_dir / "cases").glob("24-*"))
    target = tmp_path / "m.json"
    run_cli("merge", case, other, "--anyway", "-o", target).ok()
    assert "hush" in target.read_text()
    done = run_cli("merge", case, other, "--anyway", "--drop-secrets", "-o", target, "--format", "json").json()
    text = target.read_text()
    assert "hush" not in text and "stays" in text and json.loads(text)
    assert text.count("[removed]") == done["secrets_removed"] and done["secrets_removed"] >= 42
