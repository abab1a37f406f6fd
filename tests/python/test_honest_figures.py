# test_honest_figures.py - what a verb could not read, prove or find, it says, in every form of its output.

import pytest


@pytest.mark.parametrize("case, options", [("12-cut-mid-event", []), ("01-unescaped-quote-in-name", ["--salvage"])])
def test_csv_of_a_half_read_file_says_so_beside_it(run_cli, fixtures_dir, case, options):
    done = run_cli("stats", fixtures_dir / "cases" / f"{case}.json", "--format", "csv", *options)
    assert "NOT WHOLE" in done.stderr
    assert "NOT WHOLE" not in done.stdout


def test_csv_of_a_whole_file_says_nothing_beside_it(run_cli, fixtures_dir):
    done = run_cli("stats", fixtures_dir / "traces" / "h200_streams.json.gz", "--format", "csv").ok()
    assert done.stderr == ""


def test_a_limit_that_matches_nothing_is_not_kept(run_cli, fixtures_dir):
    trace = fixtures_dir / "traces" / "h200_streams.json.gz"
    done = run_cli("diff", trace, trace, "--fail-on", "kernel:nosuchkernel>1%")
    assert done.returncode == 1
    assert "nothing in these files matches it" in done.stdout
    assert run_cli("diff", trace, trace, "--fail-on", "kernel>1%").returncode == 0


def test_an_offset_that_nothing_checks_is_not_called_an_alignment(run_cli, fixtures_dir, tmp_path):
    ranks = sorted((fixtures_dir / "cases").glob("60-merge-clock-skew-rank*.json"))
    done = run_cli("merge", *ranks, "--align", "-o", tmp_path / "merged.json").ok()
    said = " ".join(done.stdout.split())
    assert "not proven" in said and "clocks are aligned" not in said
