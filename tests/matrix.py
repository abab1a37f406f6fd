#!/usr/bin/env python3
# matrix.py - `make test-matrix`: the torch suites with other torch versions, in one throw-away venv at a time.
#
# In:  versions (none: those below). KEEP=1 keeps the venvs in build/matrix.
# Out: a table, version by version, of what passed; status 1 if anything failed. A version that pip cannot bring for
#      this Python is said and counts as failed: it was asked for.

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSIONS = ("2.10.0", "2.12.1", "2.14.1", "2.15.0")
SUITES = ("parity", "contract")
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)


def run(command, environment):
    process = subprocess.Popen(
        command, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    said = []
    for line in process.stdout:
        print(f"    {line}", end="", flush=True)
        said.append(line)
    return process.wait(), "".join(said)


def try_version(version):
    venv = ROOT / "build" / "matrix" / version
    environment = {**os.environ, "FLAGPROF_VENV": str(venv)}
    print(f"\ntorch {version}", flush=True)
    try:
        status, _ = run([sys.executable, "scripts/venv.py", "--tests", "--torch", version], environment)
        if status:
            return "cannot be installed here"
        status, said = run([str(venv / "bin" / "python"), "tests/run.py", *SUITES], environment)
        closing = CLOSING.findall(said)
        return None if status == 0 and closing and int(closing[-1][0]) else ", ".join(SUITES) + " failed"
    finally:
        if os.environ.get("KEEP") != "1":
            shutil.rmtree(venv, ignore_errors=True)


def main():
    versions = sys.argv[1:] or VERSIONS
    outcome = {version: try_version(version) for version in versions}
    print()
    for version, wrong in outcome.items():
        print(f"torch {version:<10} {wrong or 'passed'}")
    return 1 if any(outcome.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
