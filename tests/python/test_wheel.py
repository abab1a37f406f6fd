# test_wheel.py - the wheel and the source archive themselves: whole, and of use in a Python without torch.
#
# In:  FLAGPROF_DIST, the folder that `python -m build` filled from a clean copy beside it (step `installed`, which alone
#      runs this). Out: the wheel in a venv that has nothing else.

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile

import pytest
from conftest import ROOT, run

VERSION = (ROOT / "VERSION").read_text().strip()
LEFT_OUT = (".ci/", "tests/fixtures/")  # pyproject.toml says so too


@pytest.fixture(scope="module")
def dist():
    if "FLAGPROF_DIST" not in os.environ:
        pytest.skip("only the step `installed` makes a wheel")
    return pathlib.Path(os.environ["FLAGPROF_DIST"])


@pytest.fixture(scope="module")
def wheel(dist):
    return next(dist.glob(f"flagprof-{VERSION}-py3-none-linux_*.whl"))


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory):
    """The folder of commands of a venv that has FlagProf and nothing else, not even pip."""
    venv = tmp_path_factory.mktemp("bare") / "a venv"
    run([sys.executable, "-m", "venv", "--without-pip", venv]).ok()
    pip = [sys.executable, "-m", "pip", "--python", venv / "bin" / "python", "--disable-pip-version-check", "--quiet"]
    run([*pip, "install", "--no-index", wheel]).ok()
    return venv / "bin"


def in_bare(bare, *command, **named):
    return run([bare / command[0], *command[1:]], env={"PYTHONPATH": None, "FLAGPROF_BUILD": None}, **named)


def test_without_torch_the_command_line_works(bare):
    assert in_bare(bare, "flagprof", "--version").ok().stdout == f"flagprof {VERSION}\n"
    assert json.loads(in_bare(bare, "flagprof", "info", "--json").stdout)["flagprof"] == VERSION


def test_without_torch_importing_says_nothing_and_the_library_answers(bare):
    done = in_bare(
        bare, "python", "-c",
        "import flagprof, json\n"
        "print(json.dumps([flagprof.__version__, flagprof.last_ledger(), sorted(flagprof.accelerator())]))",
    )  # fmt: skip
    version, ledger, keys = done.json()
    assert (version, ledger, done.stderr) == (VERSION, {}, "") and "accelerator" in keys


def test_without_torch_what_needs_it_says_so_in_one_line(bare):
    done = in_bare(bare, "python", "-m", "flagprof._build")
    assert done.returncode == 1 and "no torch" in done.stderr and len(done.stderr.splitlines()) == 1, str(done)


def test_a_c_program_builds_against_the_wheel(bare, tmp_path):
    package = next(bare.parent.glob("lib/python3*/site-packages/flagprof"))
    include, library = ((package / json.loads((package / "_where.json").read_text())[part]).resolve() for part in ("include", "library"))
    (tmp_path / "program.c").write_text(
        "#include <flagprof/flagprof.h>\n#include <flagprof/version.h>\n#include <stdio.h>\n"
        "int main(void) { puts(fp_version()); return 0; }\n"
    )
    binary = tmp_path / "program"
    command = ["gcc", "-Wall", "-Wextra", "-Werror", f"-I{include}", tmp_path / "program.c", "-o", binary, library]
    subprocess.run(command, check=True, timeout=60)
    assert run([binary], env={"LD_LIBRARY_PATH": library.parent}).ok().stdout.strip() == VERSION


def test_the_wheel_asks_for_no_package_and_has_the_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"flagprof-{VERSION}.dist-info/METADATA").decode()
        assert any(name.endswith("/LICENSE") for name in archive.namelist())
    assert "Requires-Dist" not in metadata and "License-Expression: Apache-2.0" in metadata


def test_the_source_archive_holds_what_a_clone_holds(dist):
    clone = dist.parent / "clone"
    files = {path.relative_to(clone).as_posix() for path in clone.rglob("*") if path.is_file()}
    top = f"flagprof-{VERSION}/"
    with tarfile.open(dist / f"flagprof-{VERSION}.tar.gz") as archive:
        held = {member.name.removeprefix(top) for member in archive.getmembers() if member.isfile()}
    wanted = {name for name in files if not name.startswith(LEFT_OUT)}
    assert wanted - held == set() and held - wanted == {"PKG-INFO"}
