#!/usr/bin/env python3
"""trace.py - how fast traces are read, and what memory that takes, beside other readers, in one table.

    python3 bench/trace.py [--flagprof build/flagprof] [--repeat 20] [--rounds 3] [--folder FOLDER]

Makes two files from what is in the tree: `train` (tests/fixtures/traces/h200_train.json.gz REPEAT times, times and ids moved
on) and `rounds` (the five events of case 64, as often). Every row reads the same page-cached file; rows are interleaved over
ROUNDS and the best of each stands. CPU time is user plus system of the process and its threads: on a machine that is not
quiet, compare that.
"""

import argparse
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOVED = re.compile(r'("ts": |"External id": |"correlation": |"id": |"Ev Idx": )(\d+)')


def moved(body, times, ids):
    return MOVED.sub(lambda m: m[1] + str(int(m[2]) + (times if m[1] == '"ts": ' else ids)), body)


# In a process of its own, so that this one stays small.
def make(function, *arguments):
    child = os.fork()
    if child == 0:
        function(*arguments)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit("could not make the files to read")


def make_train(path, repeat):
    text = gzip.open(ROOT / "tests/fixtures/traces/h200_train.json.gz", "rt").read()
    begin = text.index('"traceEvents": [') + len('"traceEvents": [')
    end = text.rindex("]")
    with open(path, "w") as out:
        out.write(text[:begin])
        for turn in range(repeat):
            out.write("," * bool(turn) + moved(text[begin:end].rstrip(), turn * 100000, turn * 10000))
        out.write(text[end:])


def make_rounds(path, size):
    lines = next((ROOT / "tests/fixtures/cases").glob("64-*.json")).read_text().splitlines()
    events = "\n".join(lines[1:-1])
    with open(path, "w") as out:
        out.write(lines[0] + "\n")
        turn = 0
        while out.tell() < size:
            body = re.sub(r'("ts": )(\d+)', lambda m: m[1] + str(int(m[2]) + 200 * turn), events)
            body = re.sub(r'("correlation": |"id": )(\d+)', lambda m: m[1] + str(int(m[2]) + 10 * turn), body)
            out.write(",\n" * bool(turn) + body)
            turn += 1
        out.write("\n" + lines[-1] + "\n")


def build_simdjson(folder):
    program = folder / "simdjson_sum"
    command = ["c++", "-O3", "-std=c++17", ROOT / "bench/simdjson_sum.cc", "-lsimdjson", "-o", program]
    if subprocess.run(command, capture_output=True).returncode:
        return None
    return program


def measure(command):
    """Seconds, CPU seconds and peak megabytes of one run."""
    begin = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{command}: {process.stderr.read().decode()}")
    process.stderr.close()
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flagprof", type=pathlib.Path, default=ROOT / "build" / "flagprof")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=pathlib.Path, default=None)
    options = parser.parse_args()
    folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="flagprof-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "train.json", folder / "rounds.json"]
    make(make_train, files[0], options.repeat)
    make(make_rounds, files[1], files[0].stat().st_size)
    rows = {
        "stats, 1 thread": [options.flagprof, "stats", "--threads", "1"],
        "stats, 2 threads": [options.flagprof, "stats", "--threads", "2"],
        "check, 1 thread": [options.flagprof, "check", "--threads", "1"],
        "check, 2 threads": [options.flagprof, "check", "--threads", "2"],
        "Python json.load": [sys.executable, "-c", "import json, sys; json.load(open(sys.argv[1]))"],
    }
    simdjson = build_simdjson(folder)
    if simdjson:
        rows["simdjson On-Demand"] = [simdjson]
    if shutil.which("jq"):
        rows["jq"] = ["jq", "-n", "--stream", "reduce inputs as $x (0; . + 1)"]
    print(f"{'file':12} {'reader':22} {'MB':>6} {'MB/s':>7} {'MB per CPU s':>13} {'peak MB':>8}")
    for path in files:
        size = path.stat().st_size / 1e6
        # Into the page cache, by another process: what this one holds would count as its children's peak.
        subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True)
        best = {}
        for _ in range(options.rounds):
            for name, command in rows.items():
                seconds, cpu, peak = measure([*command, path])
                old = best.get(name, (seconds, cpu, peak))
                best[name] = (min(old[0], seconds), min(old[1], cpu), max(old[2], peak))
        for name, (seconds, cpu, peak) in best.items():
            print(f"{path.stem:12} {name:22} {size:6.0f} {size / seconds:7.0f} {size / cpu:13.0f} {peak:8.0f}")
    if not options.folder:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
