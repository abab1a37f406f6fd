#!/usr/bin/env python3
# matrix.py - `make test-matrix`: the torch suites with other torch versions, in one throw-away venv at a time.
#
# In:  versions (none: those below); --json FILE. KEEP=1 keeps the venvs in build/matrix.
# Out: a table, version by version, of what passed, in FILE as JSON too; status 1 if anything failed. A version that pip
#      cannot bring for this Python is said and counts as failed: it was asked for.

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

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
    """A row of the table: counts of tests, and what went wrong or None."""
    venv = ROOT / "build" / "matrix" / version
    environment = {**os.environ, "FLAGPROF_VENV": str(venv)}
    row = {"torch": version, "passed": 0, "failed": 0, "skipped": 0, "wrong": None}
    print(f"\ntorch {version}", flush=True)
    try:
        status, _ = run([sys.executable, "scripts/venv.py", "--tests", "--torch", version], environment)
        if status:
            return {**row, "wrong": "cannot be installed here"}
        status, said = run([str(venv / "bin" / "python"), "tests/run.py", *SUITES], environment)
        closing = CLOSING.findall(said)
        if closing:
            row |= zip(("passed", "failed", "skipped"), map(int, closing[-1]))
        return {**row, "wrong": None if status == 0 and row["passed"] else ", ".join(SUITES) + " failed"}
    finally:
        if os.environ.get("KEEP") != "1":
            shutil.rmtree(venv, ignore_errors=True)


def table(rows):
    lines = [f"{'torch':<10} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}   result"]
    for row in rows:
        counts = f"{row['passed']:>7} {row['failed']:>7} {row['skipped']:>8} {row['seconds']:>8}"
        lines.append(f"{row['torch']:<10} {counts}   {row['wrong'] or 'passed'}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="The torch suites with other torch versions.")
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=f"torch versions; none: {', '.join(VERSIONS)}")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write the table there too")
    options = parser.parse_args()
    rows = []
    for version in options.versions or VERSIONS:
        start = time.monotonic()
        rows.append({**try_version(version), "seconds": round(time.monotonic() - start)})
        if options.json:
            options.json.write_text(json.dumps(rows, indent=2) + "\n")
    print(f"\n{table(rows)}")
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
