# test_trace_threads.py - a second thread makes reading faster and changes nothing else, on every trace at hand.

import pathlib

import pytest

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"


def agree(run_cli, verb, files):
    for extra in ([], ["--salvage"]):
        one, two = (run_cli(verb, "--format", "json", "--threads", n, *extra, *files) for n in "12")
        assert one.returncode in (0, 1, 2) and one.stdout
        assert (two.returncode, two.stderr) == (one.returncode, one.stderr)
        assert two.stdout == one.stdout


@pytest.mark.parametrize("verb", ["stats", "check"])
def test_two_threads_say_what_one_says(verb, run_cli):
    agree(run_cli, verb, sorted((FIXTURES / "traces").glob("*.gz")) + sorted((FIXTURES / "cases").glob("*.json")))


@pytest.mark.parametrize("verb", ["stats", "check"])
def test_two_threads_say_what_one_says_of_other_peoples_files(verb, run_cli, shared):
    public = sorted((shared / "traces" / "public").rglob("*"))
    agree(run_cli, verb, [path for path in public if path.name.endswith((".json", ".gz"))])
