# torch_units.py - the step of what is compiled against torch: the adaptor and the simulated device's torch backend.
#
# In:  the venv's torch, src/kineto, sim/torch. Out: both built by gcc with every warning an error, into the cache that the
#      tests of Python use afterwards; and both read by clang-tidy, which is also clang's compile without a warning.
#
# Torch's headers are nearly all of the time, so that clang-tidy reads each of the two as one unit, as the build does. What
# it found clean is remembered under a hash of all that is ours in it.

import hashlib
import json
import os

from . import lint, tree
from .result import Result

BUILDS = {
    "the adaptor": "import torch; from flagprof import _build; _build.adaptor()",
    "the adaptor with test faults": "import torch; from flagprof import _build; _build.adaptor(ablation=True)",
    "the simulated device": "import flagos",
}

# The flags that each is compiled with, asked from what compiles them. `flagos` itself would build its library.
FLAGS = """
import json, pathlib, sys, types
package = types.ModuleType("flagos")
package.__path__ = [str(pathlib.Path(sys.argv[1]) / "sim" / "python" / "flagos")]
sys.modules["flagos"] = package
import torch
from flagos import _build as simulator
from flagprof import _build as adaptor
flags = {"the adaptor": adaptor.adaptor_flags(adaptor.Torch(), ablation=True), "the simulated device": simulator.flags(torch)}
print(json.dumps({name: [str(flag) for flag in row] for name, row in flags.items()}))
"""
SOURCES = {
    "the adaptor": ("src/kineto/*.cc", ("src/kineto/*", "include/flagprof/*.h")),
    "the simulated device": ("sim/torch/*.cpp", ("sim/torch/*", "sim/*.h")),
}
# The unit includes sources; torch's own forward declarations are not ours to mend.
NOT_OF_A_UNIT = "--checks=-bugprone-suspicious-include,-bugprone-forward-declaration-namespace"


def lacks():
    if tree.run([tree.venv_python(), "-c", "import importlib.metadata as m; m.version('torch')"], limit_s=60).status:
        return f"no torch in {tree.VENV}; scripts/venv.py --tests brings it"
    return None


def environment():
    path = [tree.ROOT / "tests" / "python" / "lean_torch", tree.ROOT / "python", tree.ROOT / "sim" / "python"]
    cache = tree.BUILD / "test-cache"
    return {
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "FLAGPROF_BUILD": str(tree.BUILD),
        "XDG_CACHE_HOME": str(cache),
        "FLAGOS_CACHE_DIR": str(cache),
        "CXX": "g++ -Wall -Wextra -Werror",
    }


def build_one(name):
    ran = tree.run([tree.venv_python(), "-c", BUILDS[name]], limit_s=900, env=environment())
    return Result.fail(f"compiling {name}", ran.output) if ran.status else Result(1)


def fingerprint(patterns, *others):
    digest = hashlib.sha256((tree.ROOT / ".clang-tidy").read_bytes())
    for part in others:
        digest.update(b"\0" + part.encode())
    for path in sorted(path for pattern in patterns for path in tree.ROOT.glob(pattern)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def read_one(name, flags):
    command = tree.tool("clang-tidy", lint.MAJOR)
    sources, watched = SOURCES[name]
    text = "".join(f'#include "{path}"\n' for path in sorted(tree.ROOT.glob(sources)))
    folder = tree.BUILD / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / fingerprint(watched, text, json.dumps(flags))
    if mark.exists():
        return Result(1)
    unit = folder / f"{sources.split('/')[1]}.cc"
    unit.write_text(text)
    linked = ("-L", "-l", "-O")
    arguments = ["-Wall", "-Wextra", "-Werror", *(flag for flag in flags if not flag.startswith(linked))]
    configured = [f"--config-file={tree.ROOT / '.clang-tidy'}", NOT_OF_A_UNIT, *lint.compilers_headers(command)]
    ran = tree.run([command, "--quiet", *configured, unit, "--", *arguments], limit_s=600)
    if ran.status:
        return Result.fail(f"clang-tidy of {name}", ran.output or ran.why())
    mark.touch()
    return Result(1)


# Names and arguments as no vendor should write them, two sessions and a schedule.
RECORDINGS = """
import json, os, sys
import flagprof, torch
from torch.profiler import ProfilerActivity as A, profile, record_function, schedule
plan = lambda: schedule(wait=0, warmup=1, active=2, repeat=2)
seen = []
def ready(prof):
    prof.export_chrome_trace(sys.argv[1])
    prof.key_averages().table()
    seen.append([flagprof.last_ledger()["complete"], '"cat": "kernel"' in open(sys.argv[1]).read()])
with profile(activities=[A.CPU, A.PrivateUse1], schedule=plan(), on_trace_ready=ready, record_shapes=True, with_stack=True) as prof:
    for step in range(6):
        with record_function("a range"):
            a = torch.ones(4, 4, requires_grad=True)
            (a @ a).sum().backward()
        prof.step()
with profile(activities=[A.CPU, A.PrivateUse1]) as prof:
    torch.ones(3)
ready(prof)
print(json.dumps(seen))
"""
NAMES = (b'quote"', b"back\\slash\\", b"\n\t\x01", "核函数".encode(), b"broken \xff\xc3", b"", b"x" * 8192)
SANITIZED = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-D_GLIBCXX_ASSERTIONS")


def sanitized(flags):
    name = "recordings with a sanitized adaptor"
    folder = tree.BUILD / "asan" / "adaptor"
    folder.mkdir(parents=True, exist_ok=True)
    echo = next((at for at in (tree.BUILD / "asan" / "echo", tree.BUILD / "echo") if (at / "libflagprof.so").exists()), None)
    if echo is None:
        return Result.skip(name, f"no echo accelerator in {tree.BUILD}")
    unit, library = folder / "all.cc", folder / "adaptor.so"
    unit.write_text("".join(f'#include "{path}"\n' for path in sorted((tree.ROOT / "src" / "kineto").glob("*.cc"))))
    compiler = ["g++", *SANITIZED, "-fPIC", "-shared", "-fvisibility=hidden", "-o", library, unit]
    made = tree.run([*compiler, *flags, echo / "libflagprof.so"], limit_s=600)
    if made.status:
        return Result.fail(name, made.output)
    (folder / "names").write_text("".join(text.hex() + "\n" for text in NAMES))
    preloaded = [tree.run(["g++", f"-print-file-name={name}"]).output.strip() for name in ("libasan.so", "libstdc++.so")]
    ran = tree.run(
        [tree.venv_python(), "-c", RECORDINGS, folder / "trace.json"],
        limit_s=300,
        env={
            **environment(),
            "FLAGPROF_BUILD": str(echo),
            "FLAGPROF_ECHO_NAMES": str(folder / "names"),
            "FLAGOS_TEST_ADAPTOR": str(library),
            "LD_PRELOAD": " ".join(preloaded),
            "ASAN_OPTIONS": "detect_leaks=0:strict_string_checks=1",  # Python leaves much behind
            "UBSAN_OPTIONS": "print_stacktrace=1",
        },
    )
    said = ran.output.strip().splitlines()[-1:]
    whole = not ran.status and said == [json.dumps([[True, True]] * 3)]
    return Result(1) if whole else Result.fail(name, f"{ran.why()}\n{ran.output}")


def check():
    asked = tree.run([tree.venv_python(), "-c", FLAGS, tree.ROOT], limit_s=120, env=environment())
    if asked.status:
        return Result.fail("the flags of what is compiled against torch", asked.output)
    flags = json.loads(asked.output.splitlines()[-1])
    work = [lambda name=name: build_one(name) for name in BUILDS]
    work.append(lambda: sanitized(flags["the adaptor"]))
    result = Result()
    lacking = lint.lacks_tidy()
    if lacking:
        result.skipped.append(("clang-tidy of what is compiled against torch", lacking))
    else:
        work += [lambda name=name: read_one(name, flags[name]) for name in SOURCES]
    for part in tree.in_parallel(lambda job: job(), work):
        result.add(part)
    return result
