# test_verbs_select.py - every verb that takes a part of a file takes the same part, however the time is said and
# wherever the file comes from.

import gzip
import json

import pytest

READ = ["stats", "check", "diff"]
WRITE = ["cut", "fix", "convert", "merge"]
# 1 us to 50 us of work each, a step around the second half
EVENTS = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1000 + 100 * n, "dur": 50, "args": {"External id": n}}
          for n in range(10)]
EVENTS += [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 1490, "dur": 500}]


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": EVENTS}))
    return path


def operators(run_cli, verb, source, options, tmp_path, **how):
    """How many calls of aten::mm are in the part, as the verb itself tells or as stats tells of what it wrote."""
    if verb == "diff":
        report = run_cli("diff", source, tmp_path / "trace.json", *options, "--format", "json", "--all", **how).json()
        return sum(row["base_calls"] for row in report["operators_host"] if row["name"] == "aten::mm")
    if verb == "check":
        report = run_cli("check", source, *options, "--format", "json", **how).json()
        return report["events"]
    if verb != "stats":
        target = tmp_path / f"{verb}.json"
        run_cli(verb, source, *options, "-o", target, **how).ok()
        source, options, how = target, [], {}
    report = run_cli("stats", source, *options, "--format", "json", **how).json()
    return sum(row["count"] for row in report["operators"] if row["name"] == "aten::mm")


@pytest.mark.parametrize("verb", [verb for verb in READ + WRITE if verb != "check"])
@pytest.mark.parametrize("options, count", [
    (["--from", "@1400"], 6), (["--to", "@1400"], 4), (["--from", "@1400", "--to", "@1600"], 2), (["--from", "400us"], 6),
    (["--to", "400us"], 4), (["--from", "@1400", "--to", "600us"], 2), (["--step", "3"], 5),
])
def test_a_part_by_time_is_the_same_for_every_verb(run_cli, trace, tmp_path, verb, options, count):
    assert operators(run_cli, verb, trace, options, tmp_path) == count


@pytest.mark.parametrize("verb", READ + WRITE)
@pytest.mark.parametrize("options", [["--from", "400us"], ["--step", "3"], ["--device", "0"], ["--to", "@1400"]])
def test_standard_input_gives_the_part_that_the_file_gives(run_cli, trace, tmp_path, verb, options):
    from_file = operators(run_cli, verb, trace, options, tmp_path)
    assert operators(run_cli, verb, "-", options, tmp_path, input=trace.read_bytes()) == from_file
    packed = gzip.compress(trace.read_bytes())
    assert operators(run_cli, verb, "-", options, tmp_path, input=packed) == from_file


@pytest.mark.parametrize("verb", READ + WRITE)
def test_a_copy_of_standard_input_is_called_standard_input(run_cli, trace, tmp_path, verb):
    for bad in (b'{"traceEvents": [{"ph": "X", "name": "a"b", "ts": 1, "dur": 2}]}', b"{}", b""):
        others = [trace] if verb == "diff" else []
        done = run_cli(verb, "-", *others, "--from", "0us", *(["-o", tmp_path / "x.json"] if verb in WRITE else []), input=bad)
        assert "/proc" not in done.stdout + done.stderr
        assert "standard input" in done.stdout + done.stderr, done
    done = run_cli(verb, "-", *others, "--step", "9", *(["-o", tmp_path / "x.json"] if verb in WRITE else []), input=trace.read_bytes())
    assert done.returncode == 2 and "standard input has no such step" in done.stderr


@pytest.mark.parametrize("verb", READ + WRITE)
@pytest.mark.parametrize("options", [["--from", "5ms", "--to", "1ms"], ["--from", "@7", "--to", "@7"]])
def test_a_time_that_ends_before_it_begins_is_refused(run_cli, trace, tmp_path, verb, options):
    done = run_cli(verb, *[trace] * (1 + (verb == "diff")), *options, *(["-o", tmp_path / "x.json"] if verb in WRITE else []))
    assert done.returncode == 2 and "is not after --from" in done.stderr and not (tmp_path / "x.json").exists()


def test_a_part_says_how_much_it_is_and_that_nothing_is_in_it(run_cli, trace, tmp_path):
    for verb in ("stats", "check"):
        assert "2 of 11 events." in run_cli(verb, trace, "--from", "@1900").ok().stdout
        assert "of 11 events." not in run_cli(verb, trace).ok().stdout
        for options in (["--pid", "7"], ["--include", "zebra"], ["--from", "7s"]):
            assert "Nothing that was asked for is in the file." in run_cli(verb, trace, *options).ok().stdout
    assert "no device work is in that part" in run_cli("stats", trace, "--device", "7").ok().stdout
    assert "nothing that was asked for is in it" in " ".join(run_cli("diff", trace, trace, "--pid", "7").ok().stdout.split())
