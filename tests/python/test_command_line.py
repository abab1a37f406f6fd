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
