# test_env_verb.py - `flagprof env`: the line for this machine, what LD_PRELOAD holds already, one command run so.

import os
import subprocess

import pytest


@pytest.fixture
def library(tree):
    found = tree.build / "sim" / "mspti" / "libmspti.so"
    if tree.installed or not found.exists():
        pytest.skip(f"no {found}")
    return found


def env(tree, *arguments, **variables):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("FLAGOS_", "LD_PRELOAD", "ASCEND_"))}
    return subprocess.run([tree.cli, "env", *arguments], env={**clean, **variables}, capture_output=True, text=True, timeout=60)


def test_nothing_is_printed_where_the_library_is_absent(tree, tmp_path):
    done = env(tree, ASCEND_HOME_PATH=str(tmp_path), HOME=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_line_names_the_library_found_by_the_documented_search(tree, library, tmp_path):
    (tmp_path / "lib64").symlink_to(library.parent)
    done = env(tree, ASCEND_HOME_PATH=str(tmp_path))
    assert done.stdout == f"LD_PRELOAD={library.resolve()}\n" and done.returncode == 0


def test_what_ld_preload_holds_is_kept_and_nothing_is_named_twice(tree, library):
    named = {"FLAGOS_TRACER_LIBRARY": str(library)}
    libc = "libm.so.6"
    assert env(tree, LD_PRELOAD=libc, **named).stdout == f"LD_PRELOAD={library}:{libc}\n"
    assert env(tree, LD_PRELOAD=f"{libc}:{library}", **named).stdout == ""
    assert env(tree, FLAGOS_ACCELERATOR="cuda", **named).stdout == ""


def test_one_command_runs_with_the_library_and_its_exit_status_comes_back(tree, library):
    code = f"grep -q {library} /proc/self/maps && exit 7"
    assert env(tree, "--", "sh", "-c", code, FLAGOS_TRACER_LIBRARY=str(library)).returncode == 7
    assert env(tree, "--", "sh", "-c", "exit 5", FLAGOS_ACCELERATOR="cuda").returncode == 5


def test_a_command_that_cannot_be_run_is_said(tree):
    for arguments in (("--", "/nowhere/program"), ("--",), ("program",)):
        done = env(tree, *arguments)
        assert done.returncode == 2 and done.stderr.startswith("flagprof env: ") and done.stdout == "", arguments


def test_the_help_says_that_collectives_need_the_line_by_their_older_kind_alone(tree):
    said = " ".join(env(tree, "--help").stdout.split())
    assert "collectives too, where it has only their older kind" in said and "copies, sets and collectives" not in said
