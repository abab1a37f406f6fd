#!/usr/bin/env python3
# run.py - what `make test` runs: a table of steps, each timed, closing on one line: N passed, N failed, N skipped.
#
# In:  step names (none: all), or `--list`. FLAGPROF_VENV, FLAGPROF_BUILD and FLAGPROF_CUPTI_DIR as everywhere.
# Out: a line a step, the failing output in full, each skip with its reason; exit status 0 only when nothing failed.
#
# A step is a row of STEPS. How its tests are counted is the business of tests/steps/count.py, how files are looked at
# without running them that of tests/steps/lint.py. A step whose need failed is not run, and says so.

import argparse
import dataclasses
import os
import pathlib
import sys
import time
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from steps import count, installed, lint, torch_units, tree  # noqa: E402
from steps.result import Result  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    what: str
    run: Callable[[], Result]
    needs: tuple[str, ...] = ()  # steps that must have passed first; they are run too when this one is asked for
    lacks: Callable[[], str | None] = lambda: None  # why it cannot be run here, or None


BUILD, CLANG, ASAN, TSAN, FUZZ, AARCH64 = (
    tree.BUILD,
    *(tree.BUILD / name for name in ("clang", "asan", "tsan", "fuzz", "aarch64")),
)

FAILURE_TAIL = 12  # lines of a failure that are said again at the end

# Rows of their own, so that each has its time on a line; `python` runs whatever is in none of them.
PYTHON_SUITES = {
    "parity": ("test_parity*.py",),
    "contract": ("test_contract*.py",),
    "torch": ("test_hook*.py", "test_adaptor*.py", "test_backend*.py", "test_faults*.py", "test_info*.py"),
    "layouts": ("test_layout*.py",),
    "tools": ("test_trace*.py", "test_verbs*.py", "test_cases*.py", "test_reader*.py"),
}

STEPS = (
    Step("format", "C and C++ is formatted as .clang-format says", lint.check_format, lacks=lint.lacks_format),
    Step("build", "gcc builds everything without a warning", lambda: count.first_build(BUILD)),
    Step(
        "clang",
        "clang builds everything without a warning",
        lambda: count.build(CLANG, "clang", "clang++"),
        lacks=lambda: tree.lacks_command("clang"),
    ),
    Step("tidy", "clang-tidy has nothing to say", lint.check_tidy, ("build",), lint.lacks_tidy),
    Step("c", "C tests", lambda: count.c_tests(BUILD), ("build",)),
    Step(
        "asan",
        "C tests with the address and undefined-behaviour sanitizers",
        lambda: count.sanitized(ASAN, "address,undefined"),
    ),
    Step("tsan", "C tests with the thread sanitizer", lambda: count.sanitized(TSAN, "thread")),
    Step(
        "aarch64",
        "everything built for 64-bit Arm, and the C tests there",
        lambda: count.cross(AARCH64, "aarch64"),
        lacks=lambda: count.lacks_cross("aarch64"),
    ),
    Step("codegen", "the generated tables are those that codegen/ makes", count.codegen, lacks=count.lacks_codegen),
    Step(
        "adaptor",
        "what is compiled against torch: gcc, clang, clang-tidy and sanitizers have nothing to say",
        torch_units.check,
        ("build",),
        torch_units.lacks,
    ),
    *(
        Step(
            name,
            f"Python tests: {name}",
            lambda patterns=patterns: count.pytest(patterns),
            ("build",),
            lambda patterns=patterns: count.lacks_pytest(patterns),
        )
        for name, patterns in PYTHON_SUITES.items()
    ),
    Step(
        "python",
        "Python tests: all others",
        lambda: count.pytest(("test_*.py",), [*(name for row in PYTHON_SUITES.values() for name in row), *installed.ALONE]),
        ("build",),
        lambda: count.lacks_pytest(("test_*.py",)),
    ),
    Step(
        "installed",
        "what `python -m build` makes of a clean copy, pip puts into a venv, and works without the tree",
        installed.check,
        ("build",),
        installed.lacks,
    ),
    Step(
        "fuzz",
        "the readers' corpora and some seconds of new input each",
        lambda: count.fuzz(FUZZ),
        lacks=count.lacks_fuzz,
    ),
    Step("bench", "the benchmarks run", count.bench, ("build",), count.lacks_bench),
)


# The steps asked for, with what they need, in the table's order.
def select(steps, names):
    by_name = {step.name: step for step in steps}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise SystemExit(f"run.py: there is no step {', '.join(unknown)}; --list shows them")
    wanted, queue = set(), list(names or by_name)
    while queue:
        name = queue.pop()
        if name not in wanted:
            wanted.add(name)
            queue.extend(by_name[name].needs)
    return [step for step in steps if step.name in wanted]


def run_one(step, broken):
    blocked = [name for name in step.needs if name in broken]
    if blocked:
        return Result.skip(step.name, f"step {blocked[0]} failed")
    reason = step.lacks()
    if reason:
        return Result.skip(step.name, reason)
    try:
        return step.run()
    except Exception as error:  # a fault of a step is a failed test, never the end of the others
        return Result.fail(step.name, f"the step itself failed: {type(error).__name__}: {error}")


# Skips with the same reason stand on one line, so that a missing torch does not bury everything else.
def print_skips(skipped, out):
    by_reason = {}
    for name, reason in skipped:
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        print(f"    skipped: {shown}: {reason}", file=out)


def run_steps(steps, out=sys.stdout):
    """Runs the steps and prints; returns the exit status."""
    passed = failed = skipped = 0
    broken, at_the_end = set(), []
    begin = time.monotonic()
    for step in steps:
        print(f"{step.name:<10} ", end="", file=out, flush=True)
        start = time.monotonic()
        result = run_one(step, broken)
        spent = time.monotonic() - start
        failures = len(result.failures)
        shown = [f"{number} {word}" for number, word in
                 ((result.passed, "ok"), (failures, "FAILED"), (len(result.skipped), "not run")) if number]  # fmt: skip
        print(f"{', '.join(shown) or 'nothing to run':<34} {spent:6.1f} s   {step.what}", file=out, flush=True)
        if result.shown:
            print("".join(f"    {line}\n" for line in result.shown.splitlines()), end="", file=out, flush=True)
        for name, output in result.failures:
            print(f"\n--- FAILED {step.name}: {name}\n{output.rstrip()}\n", file=out, flush=True)
            at_the_end.append((f"{step.name}: {name}", output.rstrip().splitlines()[-FAILURE_TAIL:]))
        print_skips(result.skipped, out)
        if failures:
            broken.add(step.name)
        if not result.passed and not failures and not result.skipped:
            failures = 1
            print(f"    {step.name} ran no test, which counts as a failure", file=out)
            at_the_end.append((step.name, ["ran no test"]))
        passed, failed, skipped = passed + result.passed, failed + failures, skipped + len(result.skipped)
    # Said again here: a log is often kept by its last lines alone, and these are what somebody then needs.
    for name, lines in at_the_end:
        print(f"\n--- FAILED {name}", *(f"    {line}" for line in lines), sep="\n", file=out)
    print(f"\n{time.monotonic() - begin:.0f} s in all", file=out)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", file=out, flush=True)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description="Run FlagProf's tests.")
    parser.add_argument("steps", nargs="*", metavar="STEP", help="steps to run with what they need; none: all")
    parser.add_argument("--only", action="append", default=[], metavar="STEP", help="the same, as an option")
    parser.add_argument("--list", action="store_true", help="show the steps and stop")
    options = parser.parse_args()
    if options.list:
        for step in STEPS:
            needs = f" (after {', '.join(step.needs)})" if step.needs else ""
            print(f"{step.name:<10} {step.what}{needs}")
        return 0
    os.chdir(tree.ROOT)
    try:
        return run_steps(select(STEPS, [*options.steps, *options.only]))
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130

if __name__ == "__main__":
    sys.exit(main())
