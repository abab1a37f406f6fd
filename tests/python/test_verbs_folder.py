# test_verbs_folder.py - several files at once: each gets a file of its own, and what is printed is one report.

import csv
import gzip
import io
import json
import subprocess

import pytest

EVENTS = [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": "1", "dur": "2"}]


@pytest.fixture
def twins(tmp_path):
    files = [tmp_path / folder / "x.json" for folder in ("one", "two")]
    for number, file in enumerate(files):
        file.parent.mkdir()
        file.write_text(json.dumps({"number": number, "traceEvents": EVENTS}))
    return files


@pytest.mark.parametrize("verb, options", [("cut", ["--from", "@0"]), ("fix", []), ("convert", ["--as", "json"]), ("convert", ["--as", "csv"])])
def test_two_files_of_one_name_do_not_overwrite_each_other(run_cli, tmp_path, twins, verb, options):
    out = tmp_path / "out"
    out.mkdir()
    done = run_cli(verb, *twins, *options, "-o", out)
    assert done.returncode == 2 and "would be one file" in done.stderr and done.stderr.count("\n") == 1
    assert not list(out.iterdir())
    other = twins[1].rename(twins[1].with_name("y.json"))
    run_cli(verb, twins[0], other, *options, "-o", out).ok()
    assert len(list(out.iterdir())) == 2


def test_two_files_that_only_their_ending_tells_apart_do_not_overwrite_each_other(run_cli, tmp_path, twins):
    packed = twins[0].with_name("x.json.gz")
    packed.write_bytes(gzip.compress(twins[0].read_bytes()))
    out = tmp_path / "out"
    out.mkdir()
    assert run_cli("convert", twins[0], packed, "--as", "json.zst", "-o", out).returncode == 2
    run_cli("fix", twins[0], packed, "-o", out).ok()  # it keeps the endings
    assert {file.name for file in out.iterdir()} == {"x.json", "x.json.gz"}
    run_cli("convert", twins[0], packed, "-o", out / "both.sqlite").ok()


@pytest.mark.parametrize("verb, options", [("cut", ["--from", "@0"]), ("fix", []), ("convert", ["--as", "json"]), ("stats", []), ("check", [])])
def test_reports_on_several_files_are_one_json_and_csv_names_the_file(run_cli, tmp_path, twins, verb, options):
    other = twins[1].rename(twins[1].with_name("y.json"))
    out = ["-o", tmp_path / "out/"] if verb in ("cut", "fix", "convert") else []
    (tmp_path / "out").mkdir()
    report = json.loads(run_cli(verb, twins[0], other, *options, *out, "--format", "json").stdout)
    files = [row["file"] for row in (report if isinstance(report, list) else report["files"])]
    assert files == [str(twins[0]), str(other)]
    rows = list(csv.reader(io.StringIO(run_cli(verb, twins[0], other, *options, *out, "--format", "csv").stdout)))
    assert "file" in rows[0] and {row[rows[0].index("file")] for row in rows if row} >= set(files)


@pytest.mark.parametrize("verb, options", [("cut", ["--from", "@0"]), ("fix", []), ("convert", ["--as", "json"]), ("merge", [])])
@pytest.mark.parametrize("target", ["-", "/dev/stdout", "/proc/self/fd/1"])
def test_no_table_stands_behind_a_trace_on_standard_output(run_cli, twins, verb, options, target):
    assert len(run_cli(verb, twins[0], *options, "-o", target).json()["traceEvents"]) >= 1


def test_help_that_cannot_be_written_is_said(tree):
    for words in (["--help"], ["stats", "--help"], ["--version"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([tree.cli, *words], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and "No space left" in done.stderr
