# tree.py - where things are for the steps, and how they run a command: with a limit, its whole family ended at it.

import concurrent.futures
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FLAGPROF_BUILD", ROOT / "build")).resolve()
VENV = pathlib.Path(os.environ.get("FLAGPROF_VENV", BUILD / "venv")).absolute()
REPORTS = BUILD / "reports"
JOBS = len(os.sched_getaffinity(0))


@dataclasses.dataclass
class Ran:
    status: int
    output: str  # stdout and stderr as they came

    def why(self):
        """How it ended, in words; None when it succeeded."""
        if self.status == 0:
            return None
        if self.status == LIMIT:
            return "ended at its time limit"
        if self.status < 0:
            return f"ended by {signal.Signals(-self.status).name}"
        return f"exit status {self.status}"


LIMIT = 1 << 16  # no exit status


def run(command, *, limit_s=600, env=None, cwd=ROOT):
    try:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        return Ran(127, f"{command[0]}: {error.strerror}")
    try:
        output = process.communicate(timeout=limit_s)[0]
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = process.communicate()[0] + f"\n[no end within {limit_s} s]".encode()
        status = LIMIT
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return Ran(status, output.decode(errors="replace"))


def in_parallel(function, items):
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(function, items))


def venv_python():
    return VENV / "bin" / "python"


# A tool of the wanted major version: the system's under its plain or its numbered name, else the venv's.
def tool(name, major):
    for command in (name, f"{name}-{major}", VENV / "bin" / name):
        path = shutil.which(command)
        if path and f"version {major}." in run([path, "--version"], limit_s=30).output:
            return path
    return None


def lacks_command(name):
    return None if shutil.which(name) else f"no {name} on this machine; scripts/packages.txt says which package has it"
