# count.py - the steps that run tests, and how each kind of runner's tests are counted one by one.
#
# cmocka binaries write JUnit XML to a file, pytest too; a fuzz target and a benchmark count as one test each. A runner
# that dies before it could write its report is a failure with everything that it printed.

import json
import os
import pathlib
import platform
import re
import shutil
import xml.etree.ElementTree as xml

from . import tree
from .result import Result

# The thread sanitizer waits a second at each end of a process, for races there; our tests end in hundreds of children.
SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:strict_string_checks=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=20",
    "LSAN_OPTIONS": "report_objects=1",
}
# -O1: half the compile time, and stacks as they are in the source.
SANITIZED_BUILD = ("-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -g", "-DCMAKE_CXX_FLAGS=-O1 -g")
# As fast to make as may be, and still optimized: what an emulator runs takes long enough.
CROSS_BUILD = ("-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1", "-DCMAKE_CXX_FLAGS=-O1")
FUZZ_SECONDS = int(os.environ.get("FLAGPROF_FUZZ_SECONDS", "10"))


# How CMake says what it does without: "-- NAME is left out: REASON".
LEFT_OUT = re.compile(r"^-- (.+?) (?:is|are) (?:left out|not judged): (.+)$", re.MULTILINE)


# Configures and builds a folder; the text of what went wrong, or None. `left_out` gets what CMake went without.
def make(folder, *options, targets=(), left_out=None):
    configured = tree.run(["cmake", "-S", tree.ROOT, "-B", folder, "-G", "Ninja", *options])
    if configured.status:
        return configured.output
    if left_out is not None:
        left_out += LEFT_OUT.findall(configured.output)
    built = tree.run(["ninja", "-k", "0", "-C", folder, *targets], limit_s=1800)
    if built.status:
        lines = built.output.splitlines()
        first = next((at for at, line in enumerate(lines) if line.startswith("FAILED")), 0)
        return "\n".join(lines[first:])
    return None


def build(folder, c, cxx, left_out=None):
    compilers = (f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cxx}")
    broken = make(folder, *compilers, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", left_out=left_out)
    return Result.fail(f"building with {c}", broken) if broken else Result(1)


# The first build says for all of them what could not be part of it, which would otherwise be missing without a word.
def first_build(folder):
    left_out = []
    return build(folder, "gcc", "g++", left_out).add(Result(skipped=left_out))


# --- C tests ---


def read_junit(path):
    """The tests of one JUnit file, as cmocka and pytest write it."""
    result = Result()
    for case in xml.parse(path).getroot().iter("testcase"):
        name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        bad = [child for child in case if child.tag in ("failure", "error")]
        skipped = case.find("skipped")
        if bad:
            result.failures.append((name, "\n".join(child.text or child.get("message") or "" for child in bad)))
        elif skipped is not None:
            reason = skipped.get("message") or (skipped.text or "").strip() or "no reason given"
            result.skipped.append((name, reason))
        else:
            result.passed += 1
    return result


def run_cmocka(test, env):
    name, properties = test["name"], {row["name"]: row["value"] for row in test.get("properties", ())}
    report = tree.REPORTS / f"{os.getpid()}-{name}"
    shutil.rmtree(report, ignore_errors=True)
    report.mkdir(parents=True)
    settings = dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", ()))
    settings |= {**env, "CMOCKA_MESSAGE_OUTPUT": "XML", "CMOCKA_XML_FILE": str(report / "%g.xml")}
    ran = tree.run(
        test["command"],
        limit_s=int(properties.get("TIMEOUT", 120)),
        env=settings,
        cwd=properties.get("WORKING_DIRECTORY", tree.ROOT),
    )
    result, unread = Result(), ""
    for path in sorted(report.glob("*.xml")):
        try:
            result.add(read_junit(path))
        except xml.ParseError:  # cmocka writes the message of a failure as it is
            unread += path.read_text(errors="replace")
    result.failures = [(f"{name}.{case}", output) for case, output in result.failures]
    reasons = skip_reasons(ran.output, len(result.skipped))
    result.skipped = [(f"{name}.{case}", said or reason) for (case, reason), said in zip(result.skipped, reasons)]
    shutil.rmtree(report, ignore_errors=True)
    if unread or (ran.status and not result.failures):
        result.failures.append((f"{name} ({ran.why() or 'its report cannot be read'})", unread + ran.output))
    elif ran.status:
        result.failures[-1] = (result.failures[-1][0], f"{result.failures[-1][1]}\n{ran.output}")
    elif not result.passed and not result.skipped:
        result.passed = 1  # a plain program: its exit status is the test
    return result


# cmocka's skip() takes no reason: a test prints "skipped: why" before it.
def skip_reasons(output, wanted):
    said = [line.split("skipped:", 1)[1].strip() for line in output.splitlines() if "skipped:" in line]
    return said if len(said) == wanted else [said[-1] if said else None] * wanted


def listed_tests(folder):
    shown = tree.run(["ctest", "--show-only=json-v1"], cwd=folder)
    tests = json.loads(shown.output)["tests"]
    return [test for test in tests if "command" in test]


def labels(test):
    return next((row["value"] for row in test.get("properties", ()) if row["name"] == "LABELS"), [])


def c_tests(folder, env=None, without=(), run=None):
    """Runs the C tests of a build folder but for those that wear a label of `without`."""
    tests = [test for test in listed_tests(folder) if not set(labels(test)) & set(without)]
    result = Result()
    for part in tree.in_parallel(lambda test: (run or run_cmocka)(test, env or {}), tests):
        result.add(part)
    return result


def sanitized(folder, sanitizer):
    broken = make(folder, f"-DFLAGPROF_SANITIZE={sanitizer}", *SANITIZED_BUILD)
    if broken:
        return Result.fail(f"building with -fsanitize={sanitizer}", broken)
    return c_tests(folder, SANITIZER_ENV, ("no-asan" if "address" in sanitizer else "no-tsan",))


# --- another processor ---


def lacks_cross(processor):
    if platform.machine() == processor:
        return f"this machine is {processor} itself: the other steps are the test"
    for command in (f"{processor}-linux-gnu-gcc", f"{processor}-linux-gnu-g++", f"qemu-{processor}"):
        if not shutil.which(command):
            return f"no {command} on this machine (scripts/bootstrap.sh cross brings it)"
    sysroot = pathlib.Path(os.environ.get("FLAGPROF_SYSROOT", tree.BUILD / "sysroot"))
    if not (sysroot / "usr").is_dir():
        return f"no {processor} libraries in {sysroot} (scripts/sysroot.sh brings them)"
    return None


def cross(folder, processor):
    """Builds everything for another processor and runs the C tests there by an emulator."""
    file = tree.ROOT / "cmake" / f"{processor}-linux-gnu.cmake"
    sysroot = os.environ.get("FLAGPROF_SYSROOT", tree.BUILD / "sysroot")
    broken = make(folder, "--toolchain", file, f"-DFLAGPROF_SYSROOT={sysroot}", *CROSS_BUILD)
    if broken:
        return Result.fail(f"building for {processor}", broken)
    return Result(1).add(c_tests(folder, run=run_emulated))


# qemu-user has been seen to hang by itself, once in some thousand forks. What fails is run once more, and that is told:
# a fault of ours that comes and goes is not to pass unseen.
def run_emulated(test, env):
    first = run_cmocka(test, env)
    if not first.failures:
        return first
    second = run_cmocka(test, env)
    if second.failures:
        return first
    names = ", ".join(name for name, _ in first.failures)
    second.shown += f"failed under the emulator once, and not when run again: {names}\n"
    return second


# --- Python tests ---

def python_files(patterns, but=()):
    folder = tree.ROOT / "tests" / "python"
    excluded = {path for pattern in but for path in folder.glob(pattern)}
    return sorted({path for pattern in patterns for path in folder.glob(pattern)} - excluded)


def lacks_pytest(patterns):
    if not python_files(patterns):
        return "no such tests yet"
    if tree.run([tree.venv_python(), "-c", "import pytest"], limit_s=60).status:
        return f"no pytest in {tree.VENV}; scripts/venv.py --tests makes it"
    return None


# Every test of ours waits for programs that it started, so that a process for each core keeps all of them busy. A file stays
# whole, since its tests share recordings.
def spread_over_cores(python):
    if tree.JOBS < 2 or tree.run([python, "-c", "import xdist"], limit_s=60).status:
        return []
    return ["-n", str(tree.JOBS), "--dist", "loadfile"]


def pytest(patterns, but=(), env=None, options=()):
    report = tree.REPORTS / f"{os.getpid()}-pytest.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    table = report.with_suffix(".table")  # tests that have one to show write it here
    env = {**(env or {}), "FLAGPROF_TABLE": str(table)}
    command = [tree.venv_python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    files = python_files(patterns, but)
    command += [*spread_over_cores(tree.venv_python()), *options]
    ran = tree.run([*command, *files], limit_s=2400, env=env)
    if not report.exists():
        return Result.fail(f"pytest ({ran.why()})", ran.output)
    result = read_junit(report)
    report.unlink()
    if table.exists():
        result.shown = table.read_text()
        table.unlink()
    if ran.status and not result.failures and ran.status != 5:  # 5: no test was collected
        result.failures.append((f"pytest ({ran.why()})", ran.output))
    return result


# --- the others ---


def lacks_codegen():
    return None if any((tree.ROOT / "codegen").glob("*.py")) else "no generators yet"


def codegen():
    result = Result()
    for script in sorted((tree.ROOT / "codegen").glob("*.py")):
        if "--check" not in script.read_text():
            continue
        ran = tree.run([tree.venv_python(), script, "--check"])
        result.add(Result.fail(script.name, ran.output) if ran.status else Result(1))
    return result


def fuzz_targets():
    return sorted((tree.ROOT / "tests" / "fuzz").glob("fuzz_*.c"))


def lacks_fuzz():
    return tree.lacks_command("clang") if fuzz_targets() else "no fuzz targets yet"


# A target's corpus is tests/fuzz/corpus/NAME, its dictionary tests/fuzz/NAME.dict; what libFuzzer finds stays in the
# build folder, and a crash is printed with the input's path.
def run_fuzz(folder, target):
    name = target.stem
    seeds, found = tree.ROOT / "tests" / "fuzz" / "corpus" / name, folder / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    # One seed: the same tree looks at the same inputs. Other inputs are for longer runs, by hand.
    options = ["-seed=1", "-rss_limit_mb=2048", "-timeout=20", f"-artifact_prefix={found}/crash-"]
    dictionary = target.with_suffix(".dict")
    if dictionary.exists():
        options.append(f"-dict={dictionary}")
    for run in (["-runs=0"], [f"-max_total_time={FUZZ_SECONDS}"]):
        folders = [found / "corpus", *([seeds] if seeds.is_dir() else [])]
        folders[0].mkdir(exist_ok=True)
        ran = tree.run([folder / "tests" / "fuzz" / name, *options, *run, *folders], env=SANITIZER_ENV)
        if ran.status:
            return Result.fail(f"{name} {run[0]}", ran.output)
    return Result(2)


def fuzz(folder):
    clang = ("-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++", "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
    broken = make(folder, *clang, "-DFLAGPROF_FUZZ=ON", targets=("check-fuzz",))
    if broken:
        return Result.fail("building the fuzz targets", broken)
    result = Result()
    for part in tree.in_parallel(lambda target: run_fuzz(folder, target), fuzz_targets()):
        result.add(part)
    return result


# Benchmarks are bench/bench_*.py and programs built from bench/bench_*.c; each knows --smoke: a run of a second or so
# that proves that it works and judges no figure.
def bench_commands():
    scripts = [[tree.venv_python(), path] for path in sorted((tree.ROOT / "bench").glob("bench_*.py"))]
    programs = [[path] for path in sorted((tree.BUILD / "bench").glob("bench_*")) if os.access(path, os.X_OK)]
    return [command for command in scripts + programs if command[-1].is_file()]


def lacks_bench():
    return None if bench_commands() else "no benchmarks yet"


def bench():
    result = Result()
    for command in bench_commands():
        ran = tree.run([*command, "--smoke"], limit_s=120)
        said = re.search(r"^skipped: (.*)$", ran.output, re.MULTILINE)
        if ran.status:
            result.add(Result.fail(command[-1].name, ran.output))
        elif said:
            result.add(Result.skip(command[-1].name, said[1]))
        else:
            result.add(Result(1, shown=ran.output))
    return result
