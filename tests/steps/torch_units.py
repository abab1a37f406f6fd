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


def check():
    asked = tree.run([tree.venv_python(), "-c", FLAGS, tree.ROOT], limit_s=120, env=environment())
    if asked.status:
        return Result.fail("the flags of what is compiled against torch", asked.output)
    flags = json.loads(asked.output.splitlines()[-1])
    work = [lambda name=name: build_one(name) for name in BUILDS]
    result = Result()
    lacking = lint.lacks_tidy()
    if lacking:
        result.skipped.append(("clang-tidy of what is compiled against torch", lacking))
    else:
        work += [lambda name=name: read_one(name, flags[name]) for name in SOURCES]
    for part in tree.in_parallel(lambda job: job(), work):
        result.add(part)
    return result
