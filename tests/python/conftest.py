# conftest.py - what every Python test starts from: where things are, and how to run a program of ours and look at it.
#
# In:  the environment. FLAGPROF_BUILD: the build folder (default build). FLAGPROF_VENV: the venv whose Python has torch
#      (default build/venv, else the Python that runs pytest). FLAGPROF_INSTALLED: a prefix; then nothing of the build
#      folder and no source is used, only what was installed there. FLAGPROF_SHARED: the folder of recorded material.
# Out: the fixtures `tree`, `run_cli`, `run_python`, `run_torch`, `torch_version`, `shared`, `fixtures_dir`, `cupti_dir`.
#
# Every program runs in a process of its own with a time limit; one that outlives it is ended with all its children.

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_S = 300


@dataclasses.dataclass
class Done:
    """A program that has ended. `returncode` is negative when a signal ended it, as in subprocess."""

    command: list
    returncode: int
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool = False

    def __str__(self):
        end = "ran into the time limit" if self.timed_out else f"exit {self.returncode}"
        return (
            f"{end} after {self.seconds:.1f} s: {' '.join(map(str, self.command))}\n"
            f"--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"
        )

    def ok(self):
        assert self.returncode == 0 and not self.timed_out, str(self)
        return self

    def json(self):
        return json.loads(self.ok().stdout)


def laid_over(env):
    """The environment with `env` over it; a value of None takes the variable away."""
    both = {**os.environ, "COLUMNS": None, **(env or {})}  # how wide tables are is the test's to say
    return {name: str(value) for name, value in both.items() if value is not None}


def run(command, *, env=None, input=None, timeout=LIMIT_S, cwd=None):
    """Runs a command, `env` laid over the environment."""
    start = time.monotonic()
    as_bytes = isinstance(input, bytes)
    process = subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=laid_over(env),
        cwd=cwd,
        start_new_session=True,
    )
    timed_out = False
    try:
        out, err = process.communicate(input if input is None or as_bytes else input.encode(), timeout=timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    return Done(
        list(command),
        process.returncode,
        out.decode(errors="replace"),
        err.decode(errors="replace"),
        time.monotonic() - start,
        timed_out,
    )


class Tree:
    """Where things are: in this source tree with its build folder, or below an installed prefix."""

    def __init__(self):
        prefix = os.environ.get("FLAGPROF_INSTALLED")
        self.root = ROOT
        self.fixtures = ROOT / "tests" / "fixtures"
        self.installed = pathlib.Path(prefix).resolve() if prefix else None
        self.build = pathlib.Path(os.environ.get("FLAGPROF_BUILD", ROOT / "build")).resolve()
        if self.installed:
            self.cli = self.installed / "bin" / "flagprof"
            self.python = self._installed_python()
            self.pythonpath = self._installed_pythonpath()
        else:
            self.cli = self.build / "flagprof"
            self.python = self._venv_python()
            self.pythonpath = [ROOT / "python", ROOT / "sim" / "python"]

    def _venv_python(self):
        venv = pathlib.Path(os.environ.get("FLAGPROF_VENV", ROOT / "build" / "venv"))
        python = venv / "bin" / "python"
        return python if python.exists() else pathlib.Path(sys.executable)

    # A prefix that is a venv has a Python of its own; any other is laid over the one that has torch.
    def _installed_python(self):
        python = self.installed / "bin" / "python"
        return python if python.exists() else self._venv_python()

    def _installed_pythonpath(self):
        found = sorted(self.installed.glob("lib/python3*/*-packages/flagprof"))
        return [package.parent for package in found]


TREE = Tree()


@pytest.fixture(scope="session")
def tree():
    return TREE


@pytest.fixture(scope="session")
def run_cli():
    """run_cli("check", path, ...) runs the command line: a Done. Skips where it is not built."""
    if not TREE.cli.exists():
        pytest.skip(f"{TREE.cli} is not built")

    def call(*arguments, env=None, input=None, timeout=60, cwd=None):
        return run([TREE.cli, *arguments], env=env, input=input, timeout=timeout, cwd=cwd)

    return call


LEAN_TORCH = pathlib.Path(__file__).resolve().parent / "lean_torch"


def python_environment(env):
    path = [str(folder) for folder in (LEAN_TORCH, *TREE.pythonpath)]
    if os.environ.get("PYTHONPATH"):
        path.append(os.environ["PYTHONPATH"])
    cache = TREE.build / "test-cache"  # away from the one of the person who runs the tests
    base = {"PYTHONPATH": os.pathsep.join(path), "PYTHONFAULTHANDLER": "1", "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": cache, "FLAGOS_CACHE_DIR": cache}  # fmt: skip
    return {**base, **(env or {})}


@pytest.fixture
def run_python(tmp_path):
    """run_python(SOURCE_OR_PATH, ARGUMENT, ..., env={}, timeout=...) runs a script in a fresh Python: a Done.

    SOURCE_OR_PATH: a pathlib.Path to a script, or the text of one. `flagprof` and `flagos` can be imported there.
    It runs in a temporary folder; `python=` names another interpreter.
    """
    count = 0

    def call(script, *arguments, env=None, input=None, timeout=LIMIT_S, cwd=None, python=None, flags=()):
        nonlocal count
        if not isinstance(script, pathlib.Path):
            count += 1
            path = tmp_path / f"script{count}.py"
            path.write_text(textwrap.dedent(script))
            script = path
        command = [python or TREE.python, *flags, script, *arguments]
        return run(command, env=python_environment(env), input=input, timeout=timeout, cwd=cwd or tmp_path)

    return call


def installed_torch():
    """torch's version in the Python that the tests run programs in, without importing it; None: there is none."""
    code = "import importlib.metadata as m\ntry: print(m.version('torch'))\nexcept Exception: pass"
    return run([TREE.python, "-c", code], timeout=30).stdout.strip() or None


@pytest.fixture(scope="session")
def torch_version():
    version = installed_torch()
    if version is None:
        pytest.skip(f"{TREE.python} has no torch; scripts/venv.py makes a venv that has")
    return version


@pytest.fixture
def run_torch(run_python, torch_version):
    """run_python for a script that needs torch; skips where there is none."""
    return run_python


@pytest.fixture(scope="session")
def fixtures_dir():
    return TREE.fixtures


@pytest.fixture(scope="session")
def shared():
    """The folder of recorded material beside the repository, which a clone on its own does not have."""
    folder = pathlib.Path(os.environ.get("FLAGPROF_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no recorded material at {folder}; FLAGPROF_SHARED names its folder")
    return folder


@pytest.fixture(scope="session")
def cupti_dir():
    """The folder with NVIDIA's headers and libraries by release, as scripts/fetch_cupti.py lays it."""
    folder = pathlib.Path(os.environ.get("FLAGPROF_CUPTI_DIR", ROOT / "build" / "cupti"))
    if not folder.is_dir():
        pytest.skip(f"no CUPTI headers at {folder}; scripts/fetch_cupti.py fetches them")
    return folder
