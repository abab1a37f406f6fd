# test_trace_faults.py - every allocation and every write of the trace tools failing in turn: a sentence, no half file, no crash.

import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"
FILES = {
    "plain": FIXTURES / "cases" / "37-lone-flow-ends-on-queries.json",
    "broken": FIXTURES / "cases" / "08-handwritten-missing-quote.json",
    "gzip": FIXTURES / "traces" / "h200_cuda_graph.json.gz",
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
        at += 1 if at < dense else max(1, at // 8)


@pytest.mark.parametrize("verb", ["stats", "check"])
@pytest.mark.parametrize("name", FILES)
def test_each_allocation_failing_is_one_sentence_and_no_half_file(run_cli, failing, tmp_path, verb, name):
    out = tmp_path / "out"
    for turn in turns(60):
        folder = out / str(turn)
        folder.mkdir(parents=True)
        report = folder / "not-reached"
        done = run_cli(verb, FILES[name], "--salvage", "--threads", "1", "--format", "json", "-o", folder / "report.json",
                       env={"LD_PRELOAD": failing, "FAIL_ALLOCATION": turn, "FAIL_REPORT": report})  # fmt: skip
        assert done.returncode in (0, 1, 2), f"allocation {turn}: {done}"
        if done.returncode == 2:
            assert len(done.stderr.strip().splitlines()) == 1, f"allocation {turn}: {done}"
            assert sorted(folder.iterdir()) == [], f"allocation {turn} left something behind"
        if report.exists():
            return
        assert turn < 100000


@pytest.mark.parametrize("verb", ["stats", "check"])
def test_each_write_failing_is_one_sentence_and_no_half_file(run_cli, failing, tmp_path, verb):
    for turn in turns(60):
        folder = tmp_path / str(turn)
        folder.mkdir()
        target, report = folder / "report.json", folder / "not-reached"
        target.write_text("old")
        done = run_cli(verb, FILES["gzip"], "--format", "json", "-o", target,
                       env={"LD_PRELOAD": failing, "FAIL_WRITE": turn, "FAIL_REPORT": report})  # fmt: skip
        if report.exists():
            return
        assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1, f"write {turn}: {done}"
        assert "No space left" in done.stderr
        assert sorted(folder.iterdir()) == [target] and target.read_text() == "old"
