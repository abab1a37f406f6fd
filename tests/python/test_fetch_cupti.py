# test_fetch_cupti.py - the script that brings NVIDIA's headers, without a network: what it says then, and that what is
# there already is neither fetched again nor touched.

import os
import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "fetch_cupti.py"


def fetch(folder, *arguments):
    environment = dict(os.environ, FLAGPROF_CUPTI_DIR=str(folder), PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_without_an_index_it_fails_in_one_line_that_names_the_package_and_leaves_nothing_half_done(tmp_path):
    done = fetch(tmp_path, "13.0.85")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "nvidia-cuda-" in done.stderr and "network" in done.stderr
    assert [path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock")] == []


def test_what_is_there_is_not_fetched_again(tmp_path):
    for release in ("cuda-h", "13.0.85"):
        (tmp_path / release / "include").mkdir(parents=True)
    done = fetch(tmp_path, "13.0.85")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("there already") == 2


def test_an_unknown_release_is_refused_with_the_list_of_known_ones(tmp_path):
    done = fetch(tmp_path, "13.9.1")
    assert done.returncode != 0 and "13.5.25" in done.stderr
