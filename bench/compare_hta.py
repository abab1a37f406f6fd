#!/usr/bin/env python3
"""compare_hta.py - do `flagprof stats` and Meta's HolisticTraceAnalysis say the same of a trace?

    python3 -m venv /tmp/hta && /tmp/hta/bin/pip install HolisticTraceAnalysis==0.5.0
    python3 bench/compare_hta.py --python /tmp/hta/bin/python [--flagprof build/flagprof] [--all] FILE ...

For each file that HTA can read: the temporal breakdown (first kernel to last, idle, compute) and the sum of each kernel,
copy and fill. Times agree when they differ by no more than one nanosecond a slice: HTA holds them as doubles, and at
5,140,682,013,430.646 us the next double is 0.98 ns away. docs/compare-hta.md says who is right where they do not.
"""

import argparse
import decimal
import gzip
import json
import os
import pathlib
import subprocess
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[1]


def hta(path):
    """In HTA's own Python: its figures as JSON, nanoseconds."""
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    warnings.filterwarnings("ignore")
    from hta.trace_analysis import TraceAnalysis

    # By default HTA leaves the last ProfilerStep out, and with it all that it launched.
    analysis = TraceAnalysis(
        trace_files={0: path}, trace_dir=os.path.dirname(path), include_last_profiler_step=True
    )
    row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    everything = {"duration_ratio": 1.0, "num_kernels": 10**6, "include_memory_kernels": True}
    _, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, **everything)
    print(
        "HTA "
        + json.dumps(
            {
                "span": float(row["kernel_time(us)"]) * 1000,
                "idle": float(row["idle_time(us)"]) * 1000,
                "compute": float(row["compute_time(us)"]) * 1000,
                "sums": {name: float(us) * 1000 for name, us in zip(kernels["name"], kernels["sum (us)"])},
            }
        )
    )


def ask_hta(python, path):
    done = subprocess.run([python, __file__, "--one", path], capture_output=True, text=True, timeout=600)
    for line in done.stdout.splitlines():
        if line.startswith("HTA "):
            return json.loads(line[4:]), None
    return None, (done.stderr.strip().splitlines() or ["no word"])[-1]


def ask_flagprof(flagprof, path):
    done = subprocess.run([flagprof, "stats", "--format", "json", path], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def sums_of(report):
    sums, counts = {}, {}
    for row in report.get("kernels", []) + report.get("copies", []):
        sums[row["name"]] = sums.get(row["name"], 0) + row["total_ns"]
        counts[row["name"]] = counts.get(row["name"], 0) + row["count"]
    return sums, counts


def of_all_devices(path):
    """What flagprof does not say: the span and the idle time of all devices together, by hand."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        events = json.load(file, parse_float=decimal.Decimal)["traceEvents"]
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    slices = sorted((e["ts"] * 1000, (e["ts"] + e["dur"]) * 1000) for e in events if e.get("cat") in kinds)
    end, idle = slices[0][1], 0
    for start, stop in slices:
        idle += max(start - end, 0)
        end = max(end, stop)
    return float(end - slices[0][0]), float(idle)


def compare(path, report, theirs):
    """(what, ours, theirs, slack) of everything that both say."""
    sums, counts = sums_of(report)
    every = sum(counts.values())
    devices, idle = report.get("devices", []), report.get("idle", [])
    if len(devices) == 1 and len(idle) == 1:
        yield "first kernel to last", idle[0]["span_ns"], theirs["span"], 2
        yield "idle", idle[0]["idle_ns"], theirs["idle"], 2 * every
        yield "compute", devices[0]["compute_ns"], theirs["compute"], 2 * every
    elif devices:  # HTA takes the devices of a process for one
        span, idle = of_all_devices(path)
        yield "first kernel to last, all devices as one", span, theirs["span"], 2
        yield "idle, all devices as one", idle, theirs["idle"], 2 * every
    for name in sorted(set(sums) | set(theirs["sums"])):
        yield name, sums.get(name), theirs["sums"].get(name), counts.get(name, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="of the venv that has HTA")
    parser.add_argument("--flagprof", default=ROOT / "build" / "flagprof")
    parser.add_argument("--all", action="store_true", help="show the rows that agree too")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    if options.one:
        hta(options.one)
        return 0
    apart = 0
    for path in options.files:
        report = ask_flagprof(options.flagprof, path)
        theirs, reason = ask_hta(options.python, path)
        if not report or not theirs:
            print(f"{path}: not compared: {'HTA: ' + reason if report else 'flagprof cannot read it'}"[:160])
            continue
        rows = list(compare(path, report, theirs))
        differ = [row for row in rows if row[1] is None or row[2] is None or abs(row[1] - row[2]) > row[3]]
        apart += len(differ)
        print(f"{path}: {len(rows) - len(differ)} figures agree, {len(differ)} do not")
        for what, one, other, _ in rows if options.all else differ:
            shown = ["none" if value is None else f"{value:,.0f}" for value in (one, other)]
            print(f"    {what[:60]:60} flagprof {shown[0]:>16} ns   HTA {shown[1]:>16} ns")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
