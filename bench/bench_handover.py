"""What handing a recording to Kineto costs, an event: time and memory of FlagProf's own, torch's share beside them.

    python bench/bench_handover.py [--smoke] [--events 1000000] [--rounds 5]

Runs on the echo accelerator (tests/echo), which delivers as many pairs of call and kernel as asked for, in a process a
round. `ours`: from the finished recording to the last activity in Kineto's logger, links looked up, lanes named; its memory
is what the adaptor allocates meanwhile, the pointer in Kineto's own list apart (8 bytes, twice that while it grows).
`torch`: the rest of the stop, which torch spends whoever hands the events over. Aim: 50 ns and 100 bytes an event.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))
from counted_profile import COUNTED_PROFILE  # noqa: E402

BUILD = pathlib.Path(os.environ.get("FLAGPROF_BUILD", ROOT / "build")).resolve()
ECHO, COUNTER = BUILD / "echo" / "libflagprof.so", BUILD / "echo" / "libcount_allocations.so"
HANDED = re.compile(r"(\d+) activities handed over in (\d+) ns, (\d+) of them linked")

CHILD = COUNTED_PROFILE + """
import json, time
held = counter.counted_bytes()
start = time.perf_counter_ns()
prof.stop()
print(json.dumps([time.perf_counter_ns() - start, counter.counted_bytes() - held]))
"""


def one_round(events):
    environment = {
        **os.environ,
        "FLAGPROF_BUILD": str(ECHO.parent),
        "PYTHONPATH": str(ROOT / "python"),
        "FLAGPROF_ECHO_BULK": str(events // 2),
        "FLAGOS_TRACE": "1",
        "LD_PRELOAD": str(COUNTER),
    }
    done = subprocess.run([sys.executable, "-c", CHILD], env=environment, capture_output=True, text=True, timeout=600)
    handed = HANDED.search(done.stderr)
    if done.returncode != 0 or not handed:
        sys.exit(f"bench_handover.py: a round failed with status {done.returncode}\n{done.stderr[-2000:]}")
    stop_ns, held = json.loads(done.stdout.splitlines()[-1])
    count, ours_ns, linked = map(int, handed.groups())
    if linked != count:
        sys.exit(f"bench_handover.py: {linked} of {count} events were linked")
    return {"events": count, "ours_ns": ours_ns / count, "bytes": held / count, "torch_ns": (stop_ns - ours_ns) / count}


def main():
    parser = argparse.ArgumentParser(description="What handing a recording to Kineto costs, an event.")
    parser.add_argument("--smoke", action="store_true", help="one small round; judges no figure")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for path in (ECHO, COUNTER):
        if not path.exists():
            sys.exit(f"bench_handover.py: {path} is missing: build FlagProf first (cmake --build build)")
    if options.smoke:
        options.events, options.rounds = 20_000, 1
    rounds = [one_round(options.events) for _ in range(options.rounds)]
    middle = {key: statistics.median(row[key] for row in rounds) for key in rounds[0]}
    print(f"{middle['events']:.0f} events, median of {len(rounds)} rounds")
    print(f"ours   {middle['ours_ns']:8.1f} ns an event   {middle['bytes']:6.1f} bytes an event   (aim 50 and 100)")
    print(f"torch  {middle['torch_ns']:8.1f} ns an event   the rest of the stop, decode and join of the echo in it")


if __name__ == "__main__":
    main()
