# test_verbs_faults.py - every allocation and every write of the writing verbs failing in turn: a sentence, no half file.

import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE.parent / "fixtures" / "cases"
TRACES = HERE.parent / "fixtures" / "traces"

# What is run, and the name of what it writes (None: it only prints).
COMMANDS = {
    "convert": (["convert", CASES / "24-secret-in-metadata.json", "--pretty"], "x.json"),
    "convert broken": (["convert", CASES / "08-handwritten-missing-quote.json", "--salvage"], "x.json.gz"),
    "csv": (["convert", CASES / "21-args-is-array.json"], "x.csv.zst"),
    "sqlite": (["convert", CASES / "46-graph-one-launch-many-kernels.json"], "x.sqlite"),
    "cut": (["cut", CASES / "64-too-big-for-memory.json", "--kernel", "gemm", "--from", "1us", "--drop-secrets"], "x.json"),
    "fix": (["fix", CASES / "52-crossing-slices.json", "--drop-secrets"], "x.json"),
    "merge": (["merge", *(CASES / f"60-merge-clock-skew-rank{rank}.json" for rank in (0, 1)), "--align"], "x.json"),
    "diff": (["diff", CASES / "57-mangled-names.json", CASES / "64-too-big-for-memory.json", "--by", "all"], None),
}


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("no C compiler for the library that makes calls fail")
    library = tmp_path_factory.mktemp("failing") / "failing.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "failing.c", "-ldl"], check=True, timeout=60)
    return library


def turns(dense):
    """Each of the first `dense`, then ever rarer: what comes late is the same loop once more."""
    at = 1
    while True:
        yield at
        at += 1 if at < dense else max(1, at // 12)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_allocation_failing_is_one_sentence_and_no_half_file(run_cli, failing, tmp_path, name):
    arguments, target = COMMANDS[name]
    for turn in turns(70):
        folder, report = tmp_path / str(turn), tmp_path / f"{turn}.not-reached"
        folder.mkdir()
        to = ["-o", folder / target] if target else []
        done = run_cli(*arguments, *(["--threads", "1"] if arguments[0] != "fix" else []), *to,
                       env={"LD_PRELOAD": failing, "FAIL_ALLOCATION": turn, "FAIL_REPORT": report})  # fmt: skip
        assert done.returncode in (0, 2), f"allocation {turn}: {done}"
        if done.returncode == 2:
            lines = done.stderr.strip().splitlines()  # what was odd in a file that was read may stand before it
            said = [line for line in lines if "memory" in line or "cannot" in line]
            assert len(said) == 1 or len(lines) == 1 and len(lines[0]) > 30, f"allocation {turn}: {done}"
            # The table comes behind the file: that it could not be printed takes nothing away.
            left = [path.name for path in folder.iterdir()]
            assert left == [] or (left == [target] and "written" not in done.stdout), f"allocation {turn} left {left}"
        if report.exists():
            assert done.returncode == 0
            return
        assert turn < 100000


@pytest.mark.parametrize("source", ["cut", "fix", "convert", "merge"])
def test_each_write_failing_is_one_sentence_and_the_old_file(run_cli, failing, tmp_path, source):
    train = TRACES / "h200_train.json.gz"
    arguments = {"cut": ["cut", train, "--from", "0"], "fix": ["fix", train], "convert": ["convert", train],
                 "merge": ["merge", *(TRACES / f"h200_ddp_rank{rank}.json.gz" for rank in (0, 1))]}[source]
    for turn in turns(20):
        folder, report = tmp_path / str(turn), tmp_path / f"{turn}.not-reached"
        folder.mkdir()
        target = folder / "x.json"
        target.write_text("old")
        done = run_cli(*arguments, "-o", target, env={"LD_PRELOAD": failing, "FAIL_WRITE": turn, "FAIL_REPORT": report})
        assert sorted(folder.iterdir()) == [target], f"write {turn}"
        if report.exists():
            assert done.returncode == 0 and target.read_text() != "old"
            return
        assert done.returncode == 2 and "No space left" in done.stderr, f"write {turn}: {done}"
        whole = target.read_text() != "old"  # only the table behind it failed
        assert not whole or "standard output" in done.stderr, f"write {turn}: {done}"
