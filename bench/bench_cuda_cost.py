"""What recording costs a launch-bound torch program on an NVIDIA GPU, in alternating processes.

    python bench/bench_cuda_cost.py [--rounds 20] [--ops 20000] [--modes bare,imported,cupti,torch,flagprof] [--json FILE]
    python bench/bench_cuda_cost.py --join FILE...

Each round runs every mode once, in a process of its own, in an order that changes from round to round, so that a drift of
the machine meets all alike. Modes: `bare` no profiler; `imported` FlagProf imported and idle; `cupti` CUPTI armed with
FlagProf's kinds through ctypes and nothing else; `torch` torch's own [CPU, CUDA]; `flagprof`; `cpu` torch's [CPU] alone.
Printed: the median of each figure, and ratios round by round with a 95 % interval (bootstrap of the median). The
matmul-bound loop beside it shows that such a program cannot see these costs. Speed is a ratio within one run: absolute
times hold for one machine. FILE holds every round as soon as it is over; --join prints those of several files as one.

A process is as fast as its memory happens to lie, ten per cent either way. So each times the plain loop first, and
`op_rel` is what an operator then takes divided by that. In `imported` the import stands between the two, in `bare`
nothing does.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PASSES = 9
MODES = ("bare", "imported", "cupti", "torch", "flagprof", "cpu")
RATIOS = (
    ("imported", "bare", "op_rel"),
    ("imported", "bare", "op_us"),
    ("imported", "bare", "matmul_us"),
    ("flagprof", "cupti", "op_rel"),
    ("flagprof", "cupti", "op_us"),
    ("flagprof", "torch", "op_rel"),
    ("flagprof", "torch", "op_us"),
    ("flagprof", "torch", "stop_s"),
    ("flagprof", "torch", "export_s"),
    ("flagprof", "torch", "peak_mb"),
    ("cpu", "torch", "stop_s"),
)


def resident_mb(field):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    return 0.0


# CUPTI with the kinds that FlagProf arms, its buffers thrown away: what a recorder cannot go below.
def bare_cupti():
    sys.path.insert(0, str(ROOT / "tests" / "hardware"))
    import capture_buffers

    class Bare(capture_buffers.Capture):
        def complete(self, context, stream, buffer, size, valid):
            pass

    capture_buffers.KINDS = (39, 17, 1, 22, 2, 10, 5)
    return Bare(capture_buffers.loaded_library(), 2 << 20)


def timed(loop, ops):
    start = time.perf_counter()
    loop(ops)
    return (time.perf_counter() - start) / ops * 1e6


def use_flagprof(mode):
    sys.path.insert(0, str(ROOT / "python"))
    import flagprof

    if mode == "flagprof":
        flagprof.use_cuda()


def measure(mode, ops):
    import torch

    values = torch.ones(16, device="cuda")

    def loop(count):
        for _ in range(count):
            torch.add(values, values, out=values)
        torch.cuda.synchronize()

    def passes():
        return statistics.median(timed(loop, ops) for _ in range(PASSES))

    loop(2000)
    plain_us = passes()
    if mode in ("imported", "flagprof"):
        use_flagprof(mode)
    kinds = torch.profiler.ProfilerActivity
    activities = {
        "torch": [kinds.CPU, kinds.CUDA],
        "flagprof": [kinds.CPU, kinds.PrivateUse1],
        "cpu": [kinds.CPU],
    }.get(mode)
    found = {}
    if activities:
        with torch.profiler.profile(activities=activities):  # what only the first profile pays is not compared
            loop(200)
    profile = torch.profiler.profile(activities=activities) if activities else None
    capture = bare_cupti() if mode == "cupti" else None
    if capture:
        capture.start()
    if profile:
        profile.__enter__()
    before = resident_mb("VmRSS")
    found["op_us"] = timed(loop, ops) if profile else passes()  # one pass: a profile grows
    found["op_rel"] = found["op_us"] / plain_us
    if profile:
        start = time.perf_counter()
        profile.__exit__(None, None, None)
        found["stop_s"] = time.perf_counter() - start
        found["peak_mb"] = resident_mb("VmHWM") - before
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            profile.export_chrome_trace(f"{folder}/trace.json")
            found["export_s"] = time.perf_counter() - start
    if capture:
        capture.stop()
    if mode in ("bare", "imported"):
        big = torch.randn(4096, 4096, device="cuda")
        torch.mm(big, big)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(40):
            torch.mm(big, big)
        torch.cuda.synchronize()
        found["matmul_us"] = (time.perf_counter() - start) / 40 * 1e6
    return found


def lacking():
    try:
        import torch
    except ImportError:
        return "no torch can be imported"
    return None if torch.cuda.is_available() else "no CUDA device that torch can use"


def interval(ratios):
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(ratios, k=len(ratios))) for _ in range(2000))
    return medians[50], medians[1949]


def report(runs):
    print(f"{min(map(len, runs.values()))} rounds of {len(runs)} processes")
    for mode in runs:
        figures = ", ".join(
            f"{key} {statistics.median(run[key] for run in runs[mode]):.3f}" for key in runs[mode][0]
        )
        print(f"  {mode:10} {figures}")
    for one, other, figure in RATIOS:
        if one in runs and other in runs and figure in runs[one][0] and figure in runs[other][0]:
            ratios = [a[figure] / b[figure] for a, b in zip(runs[one], runs[other])]
            low, high = interval(ratios)
            print(f"  {one}/{other} {figure}: {statistics.median(ratios):.3f}  95 % [{low:.3f}, {high:.3f}]")


# The rounds of several files, of the modes that all of them have.
def joined(paths):
    parts = [json.loads(path.read_text()) for path in paths]
    return {mode: [run for part in parts for run in part[mode]] for mode in parts[0] if all(mode in part for part in parts)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--ops", type=int, default=20000)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--measure", choices=MODES, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="keep each round there as soon as it is over")
    parser.add_argument("--join", type=pathlib.Path, nargs="+", metavar="FILE", help="print what --json kept, and stop")
    parser.add_argument("--smoke", action="store_true", help="one short round, which proves that it works")
    options = parser.parse_args()
    if options.join:
        report(joined(options.join))
        return
    reason = lacking()
    if reason:
        print(f"skipped: {reason}")
        return
    if options.smoke:
        options.rounds, options.ops = 1, 500
    if options.measure:
        print(json.dumps(measure(options.measure, options.ops)))
        return
    modes = options.modes.split(",")
    runs = {mode: [] for mode in modes}
    for turn in range(options.rounds):
        order = modes[turn % len(modes) :] + modes[: turn % len(modes)]
        for mode in order:
            done = subprocess.run(
                [sys.executable, __file__, "--measure", mode, "--ops", str(options.ops)],
                capture_output=True,
                text=True,
                timeout=120,
            )
            if done.returncode != 0:
                sys.exit(f"{mode} failed:\n{done.stderr[-2000:]}")
            runs[mode].append(json.loads(done.stdout.strip().splitlines()[-1]))
        if options.json:
            options.json.write_text(json.dumps(runs))
    report(runs)


if __name__ == "__main__":
    main()
