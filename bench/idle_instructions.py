"""How many instructions an operator costs before FlagProf is imported and after, counted one by one: the difference is 0.

    python bench/idle_instructions.py [--operators 2000]

One process under valgrind's callgrind runs the same loop of torch.add three times before `import flagprof` and three times
after. Counting is switched on around the loop alone, so that importing torch takes a minute and not an hour. Needs
valgrind with its headers (Debian's package has both) and a C compiler. It is run by hand: CI counts fewer operators by
stepping through them (tests/python/test_idle.py), and holds that importing maps no library, starts no thread and replaces
five methods of torch's profiler and nothing else (tests/python/test_hook.py).
Exits 1 when an operator costs an instruction more.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]

SWITCH = """
#include <valgrind/callgrind.h>
void count_begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void count_end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""

CHILD = """
import ctypes, gc, sys
import torch
switch, operators = ctypes.CDLL(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(1)
x, out = torch.ones(16), torch.empty(16)
add = torch.add
def loop(turns):
    for _ in range(turns):
        add(x, x, out=out)
def measure(name):
    switch.count_begin()
    loop(operators)
    switch.count_end(name.encode())
gc.disable()
loop(operators)
for turn in range(3):
    measure(f"before {turn}")
import flagprof
for turn in range(3):
    measure(f"after {turn}")
"""


def build(folder):
    (folder / "switch.c").write_text(SWITCH)
    library = folder / "switch.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder / "switch.c"], check=True)
    return library


# callgrind writes a file a dump, whose trigger is the name that the program gave and whose totals are its cost.
def counted(folder):
    counts = {}
    for path in sorted(folder.glob("callgrind.out*")):
        text = path.read_text(errors="replace")
        name = re.search(r"^desc: Trigger: Client Request: (\S+ \d)$", text, re.MULTILINE)
        total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
        if name and total:
            counts[name[1]] = int(total[1])
    return counts


def main():
    parser = argparse.ArgumentParser(description="Instructions an operator, before and after importing FlagProf.")
    parser.add_argument("--operators", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/callgrind.out"]
        command += [sys.executable, "-c", CHILD, build(folder), str(options.operators)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        counts = counted(folder)
    if done.returncode != 0 or len(counts) != 6 or min(counts.values()) < options.operators:
        sys.exit(f"idle_instructions.py: valgrind ended with {done.returncode}, counts {counts}\n{done.stderr[-3000:]}")
    for name, count in counts.items():
        print(f"{name:<10} {count / options.operators:12.3f} instructions an operator")
    before, after = (min(count for name, count in counts.items() if name.startswith(word)) for word in ("before", "after"))
    print(f"difference {(after - before) / options.operators:12.3f}")
    sys.exit(1 if after - before >= options.operators else 0)


if __name__ == "__main__":
    main()
