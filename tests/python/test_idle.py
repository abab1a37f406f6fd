# test_idle.py - once imported, FlagProf adds not one instruction to an operator.
#
# In:  a process that runs a loop of torch.add, before `import flagprof` and after it, each instruction counted by stepping
#      through it (count_steps.c). Out: what an operator costs, as the difference of a loop and one twice as long, so that the
#      loop's own beginning and end are not in it.

import statistics
import subprocess

import pytest

TURNS, PAIRS = 1, 5
SCRIPT = f"""
import gc, os, signal, sys
import torch
torch.set_num_threads(1)
kill, own, signalled = os.kill, os.getpid(), signal.SIGUSR1
x, out = torch.ones(16), torch.empty(16)
add = torch.add
def loop(turns):
    for _ in range(turns):
        add(x, x, out=out)
def counted(turns):
    kill(own, signalled)
    loop(turns)
    kill(own, signalled)
def all_counted():
    loop(100)
    for turns in [1] * 3 + [{TURNS}, {2 * TURNS}] * {PAIRS}:
        counted(turns)
gc.disable()
all_counted()
for statement in sys.argv[1:]:
    exec(statement)
    all_counted()
"""


ALIKE = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}  # one thread, and tables laid out alike each time


@pytest.fixture(scope="module")
def count_steps(tree, tmp_path_factory):
    binary = tmp_path_factory.mktemp("idle") / "count_steps"
    source = tree.root / "tests" / "python" / "count_steps.c"
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", source, "-o", binary], check=True, timeout=60)
    return binary


@pytest.fixture
def cost(count_steps, run_torch, tree, tmp_path):
    """cost(STATEMENT, ...): instructions an operator before the first statement and after each."""

    def call(*statements):
        script = tmp_path / "idle.py"
        script.write_text(SCRIPT)
        done = run_torch(tree.python, script, *statements, python=count_steps, env=ALIKE)
        if done.returncode == 77:
            pytest.skip(done.stderr.strip())
        counts = list(map(int, done.ok().stdout.split()))
        row = 3 + 2 * PAIRS
        assert len(counts) == row * (1 + len(statements)), str(done)
        return [operator(counts[at + 3 : at + row]) for at in range(0, len(counts), row)]

    return call


# Python and the allocator do something more or less now and then (a table grows, a block is given back): not in most pairs.
def operator(counts):
    return statistics.median(longer - shorter for shorter, longer in zip(counts[::2], counts[1::2])) / TURNS


WRAPPED = "plain = add\ndef add(*given, **named): return plain(*given, **named)"


def test_importing_flagprof_adds_not_one_instruction_to_an_operator(cost):
    before, after, wrapped = cost("import flagprof", WRAPPED)
    assert wrapped > before > 100, "a wrapper around the operator would go unnoticed"
    assert after <= before
