# test_command_line.py - what holds for `flagprof` before any verb: help, version, and a plain sentence when it cannot.

import re


def test_version_is_the_one_of_the_tree(run_cli, tree):
    version = (tree.root / "VERSION").read_text().strip()
    assert run_cli("--version").ok().stdout == f"flagprof {version}\n"


def test_help_goes_to_stdout_and_lists_every_verb_on_one_line_each(run_cli):
    text = run_cli("--help").ok().stdout
    verbs = text.split("verbs:\n", 1)[1].splitlines()
    assert all(re.fullmatch(r"  \S+ +\S.*", line) for line in verbs if line), text
    assert max(map(len, text.splitlines())) <= 100


def test_an_unknown_verb_is_named_in_one_line_on_stderr(run_cli):
    done = run_cli("chekc")
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and "'chekc'" in done.stderr


def test_help_of_a_verb_is_that_verbs_help_either_way(run_cli):
    for verb in ("stats", "view", "env"):
        assert run_cli("help", verb).ok().stdout == run_cli(verb, "--help").ok().stdout
    assert run_cli("help").ok().stdout == run_cli("--help").ok().stdout
    assert run_cli("help", "chekc").returncode == 2


def test_a_verb_without_a_file_asks_for_one_and_shows_how_it_goes(run_cli):
    for verb in ("check", "stats", "diff", "merge", "cut", "fix", "convert", "view"):
        done = run_cli(verb)
        assert done.returncode == 2 and done.stdout == ""
        question, usage = done.stderr.splitlines()
        assert question.startswith(f"flagprof {verb}: which file") and question.endswith("?")
        assert usage.startswith(f"usage: flagprof {verb} ") and max(len(question), len(usage)) <= 100
        assert usage[7:] in run_cli(verb, "--help").ok().stdout


def test_a_time_names_its_unit_and_zero_needs_none(run_cli, fixtures_dir):
    source = fixtures_dir / "cases" / "52-crossing-slices.json"
    for value in ("10", "1.5"):
        done = run_cli("stats", "--from", value, source)
        assert done.returncode == 2 and f"{value} has no unit" in done.stderr and f"{value}ms" in done.stderr
    for value in ("0", "10us", "@0", "@10"):
        run_cli("stats", "--from", value, source).ok()
