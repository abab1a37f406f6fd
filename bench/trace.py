#!/usr/bin/env python3
"""trace.py - how fast traces are read, and what memory that takes, beside other readers, in one table.

    python3 bench/trace.py [--flagprof build/flagprof] [--repeat 20] [--rounds 3] [--folder FOLDER] [--operators]
                           [--yyjson FOLDER_OF_yyjson.c] [--hta PYTHON_WITH_HTA] [--quick]

Makes its files from what is in the tree: `train` (tests/fixtures/traces/h200_train.json.gz REPEAT times, times and ids moved
on), the same packed (its MB are those of the text), `rounds` (the five events of case 64, as often), with --operators one of 300,000 operators with stacks
and shapes. Every row reads the same page-cached file; rows are interleaved over ROUNDS and the best of each stands; what takes
long is run once. CPU time is user plus system of the process and its threads, user time leaves out what the kernel does
(reading, and for simdjson the memory that holds the whole text): on a machine that is not quiet, compare those.

The last columns are ratios within the run: how many times as fast as json.load and as simdjson's On-Demand, begin to end, on the
same text. "simdjson, in memory" is its own clock without loading the file, which is how simdjson is mostly quoted. Behind the
table stand the aims as such ratios, since megabytes a second hold for one machine; what two threads gain also as the median
of the rounds' ratios, since on a shared machine the best run of the one may have had more of it than that of the other. --quick
leaves out all files but `train`.
"""

import argparse
import gzip
import os
import pathlib
import re
import shutil
import statistics
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


def make_train(path, repeat, trace="h200_train"):
    text = gzip.open(ROOT / f"tests/fixtures/traces/{trace}.json.gz", "rt").read()
    begin = text.index('"traceEvents": [') + len('"traceEvents": [')
    end = text.rindex("]")
    ids = max(int(m[2]) for m in MOVED.finditer(text) if m[1] != '"ts": ') + 1  # no two repeats share one
    with open(path, "w") as out:
        out.write(text[:begin])
        for turn in range(repeat):
            out.write("," * bool(turn) + moved(text[begin:end].rstrip(), turn * 100000, turn * ids))
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


def build(program, source, *options):
    command = ["c++" if source.endswith(".cc") else "cc", "-O3", ROOT / "bench" / source, *options, "-o", program]
    return program if subprocess.run(command, capture_output=True).returncode == 0 else None


def measure(command):
    """Seconds, CPU seconds, user seconds, peak megabytes and what one run wrote."""
    with tempfile.TemporaryFile() as out:
        begin = time.monotonic()
        process = subprocess.Popen([str(part) for part in command], stdout=out, stderr=subprocess.PIPE)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        if os.waitstatus_to_exitcode(status):
            sys.exit(f"{command}: {process.stderr.read().decode()}")
        process.stderr.close()
        out.seek(0)
        said = out.read(200)
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_utime, usage.ru_maxrss / 1024, said


HTA = """import os, sys; from hta.trace_analysis import TraceAnalysis
TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/").get_temporal_breakdown(visualize=False)"""


def readers(options, folder):
    """Name, command and whether it is run once only."""
    for verb in ("stats", "check"):
        for threads in ("1", "2"):
            plural = "s" if threads == "2" else ""
            yield f"{verb}, {threads} thread{plural}", [options.flagprof, verb, "--threads", threads], False
    simdjson = build(folder / "simdjson_sum", "simdjson_sum.cc", "-std=c++17", "-lsimdjson")
    if simdjson:
        yield "simdjson On-Demand", [simdjson], False
    if options.yyjson:
        program = build(folder / "yyjson_read", "yyjson_read.c", options.yyjson / "yyjson.c", "-I", options.yyjson)
        if program:
            yield "yyjson, its tree", [program], False
    yield "Python json.load", [sys.executable, "-c", "import json, sys; json.load(open(sys.argv[1]))"], False
    if shutil.which("jq"):
        yield "jq", ["jq", "-n", "--stream", "reduce inputs as $x (0; . + 1)"], True
    if options.hta:
        yield "HTA, breakdown", [options.hta, "-c", HTA], True


HEAD = ("file", "reader", "MB", "MB/s", "MB per CPU s", "MB per user s", "peak MB", "x json.load", "x simdjson")
OTHERS = ("Python json.load", "simdjson On-Demand")
IN_MEMORY = "simdjson, in memory"  # by its own clock

# What is aimed at, as measured where json.load reads 48 MB/s and simdjson, in memory, 1350 MB/s: MB/s with one thread.
AIMS = (("stats", 1000), ("check", 700))
AIM_JSON_LOAD, AIM_IN_MEMORY, AIM_TWO_THREADS = 48, 1350, 1.6


def times(ours, others):
    return f"{others / ours:.2f}" if others else "-"


def table(path, size, rows, rounds, others=None):
    """Prints the rows of one file, and returns their seconds, the best and all. `others` are those of the same text, unpacked."""
    # Into the page cache, by another process: what this one holds would count as its children's peak.
    subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True)
    best, runs = {}, {}

    def keep(name, run):
        runs.setdefault(name, []).append(run[0])
        old = best.get(name, (*run[:3], 0))
        best[name] = (*map(min, old[:3], run[:3]), max(old[3], run[3]))

    for turn in range(rounds):
        for name, command, once in rows:
            if once and turn:
                continue
            *run, said = measure([*command, path])
            keep(name, run)
            inner = re.search(rb"([0-9.]+) s\s*$", said) if name == OTHERS[1] else None
            if inner:
                keep(IN_MEMORY, [max(float(inner[1]), 1e-3)] * 3 + [run[3]])
    base = {name: (best.get(name) or [(others or {}).get(name)])[0] for name in OTHERS}
    for name, (seconds, cpu, user, peak) in best.items():
        figures = f"{size / seconds:7.0f} {size / cpu:13.0f} {size / max(user, 1e-3):14.0f} {peak:8.0f}"
        ratios = " ".join(f"{times(seconds, base[other]):>11}" for other in OTHERS)
        print(f"{path.name:14} {name:19} {size:6.0f} {figures} {ratios}", flush=True)
    return {name: row[0] for name, row in best.items()}, runs


def compare_with_aims(seconds, runs):
    print("\n`train`, ratios of this run beside what is aimed at:")
    for verb, aim in AIMS:
        one, two = f"{verb}, 1 thread", f"{verb}, 2 threads"
        rounds = statistics.median(a / b for a, b in zip(runs[one], runs[two]))  # of runs that follow each other
        one, two = seconds[one], seconds[two]
        by_json, by_simdjson = times(one, seconds.get(OTHERS[0])), times(one, seconds.get(IN_MEMORY))
        print(
            f"  {verb}: {by_json} times json.load (aim {aim / AIM_JSON_LOAD:.1f}), "
            f"{by_simdjson} times simdjson in memory (aim {aim / AIM_IN_MEMORY:.2f}), "
            f"two threads {one / two:.2f} times one, by the rounds' median {rounds:.2f} (aim {AIM_TWO_THREADS})"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flagprof", type=pathlib.Path, default=ROOT / "build" / "flagprof")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--operators", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--yyjson", type=pathlib.Path)
    parser.add_argument("--hta")
    parser.add_argument("--folder", type=pathlib.Path, default=None)
    options = parser.parse_args()
    folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="flagprof-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    train, rounds = folder / "train.json", folder / "rounds.json"
    make(make_train, train, options.repeat)
    size = train.stat().st_size
    rows = list(readers(options, folder))
    plain = [row for row in rows if not row[2]]
    print("{:14} {:19} {:>6} {:>7} {:>13} {:>14} {:>8} {:>11} {:>11}".format(*HEAD))
    seconds, runs = table(train, size / 1e6, rows, options.rounds)
    if not options.quick:
        make(make_rounds, rounds, size)
        table(rounds, rounds.stat().st_size / 1e6, plain, options.rounds)
        for pack, suffix in ((("gzip", "-1"), "gz"), (("zstd", "-q", "-1"), "zst")):
            packed = folder / f"train.json.{suffix}"
            if shutil.which(pack[0]):
                with open(packed, "wb") as out:
                    subprocess.run([*pack, "-c", train], stdout=out, check=True)
                table(packed, size / 1e6, rows[:4], options.rounds, seconds)
    if options.operators:
        path = folder / "operators.json"
        make(make_train, path, 129, "h200_train_stack_memory_shapes")
        table(path, path.stat().st_size / 1e6, plain, options.rounds)
    compare_with_aims(seconds, runs)
    if not options.folder:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
