# echo_accelerator.py - records torch on an accelerator that answers each operator with one call and one kernel.
#
# In:  a script, what the echo is to do (names, extras, refusals). Out: what the script wrote. No backend is needed, so
#      that hook, adaptor and build are tested apart from the simulated accelerator (tests/echo/echo_accelerator.c).

import json
import shutil

import pytest
from forked import run_in_child

PREAMBLE = """
import json, os, sys
def record(body, **named):
    import torch
    from torch.profiler import ProfilerActivity, profile
    activities = named.pop("activities", [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1])
    with profile(activities=activities, **named) as prof:
        body()
    return prof
def trace(prof, path="trace.json"):
    prof.export_chrome_trace(path)
    return strict(open(path).read())
def strict(text):
    def pairs(items):
        keys = [key for key, _ in items]
        assert len(keys) == len(set(keys)), f"a key twice: {keys}"
        return dict(items)
    def constant(word):
        raise AssertionError(f"{word} is no JSON")
    return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
def mapped(name):
    return any(name in line for line in open("/proc/self/maps"))
"""


@pytest.fixture(scope="session")
def adaptor_cache(tree):
    """A cache of adaptors that the tests share, away from the one of the person who runs them."""
    folder = tree.build / "test-cache"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# An installed package finds its library by its _where.json: a copy of it that names the echo instead, all else as installed.
@pytest.fixture(scope="session")
def echo_package(tree, tmp_path_factory):
    if not tree.installed:
        return None
    package = next(folder / "flagprof" for folder in tree.pythonpath)
    places = {name: str((package / place).resolve()) for name, place in json.loads((package / "_where.json").read_text()).items()}
    copy = tmp_path_factory.mktemp("installed") / "flagprof"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("_native", "__pycache__"))
    (copy / "_where.json").write_text(json.dumps({**places, "library": str(tree.build / "echo" / "libflagprof.so")}))
    return copy.parent


@pytest.fixture
def echo(run_torch, tree, tmp_path, adaptor_cache, echo_package):
    """echo(SCRIPT, names=[...], extras=[(key, type, value)], env={}) runs SCRIPT on the echo: a Done.

    It runs in a child of a process that has imported torch (forked.py); `own=True`: in a process of its own.
    """
    library = tree.build / "echo" / "libflagprof.so"
    if not library.exists():
        pytest.skip(f"no echo accelerator at {library}: it is built with the tests")
    preamble = f"import sys\nsys.path.insert(0, {str(echo_package)!r})\n" * bool(echo_package) + PREAMBLE

    def call(script, names=(), extras=(), env=None, own=False, **named):
        variables = {"FLAGPROF_BUILD": library.parent, "XDG_CACHE_HOME": adaptor_cache}
        if names:
            (tmp_path / "names").write_text("".join(name.hex() + "\n" for name in names))
            variables["FLAGPROF_ECHO_NAMES"] = tmp_path / "names"
        if extras:
            lines = [f"{key.hex()} {kind} {value.hex()}\n" for key, kind, value in extras]
            (tmp_path / "extras").write_text("".join(lines))
            variables["FLAGPROF_ECHO_EXTRAS"] = tmp_path / "extras"
        (tmp_path / "script.py").write_text(preamble + script)
        start = run_torch if own else run_in_child
        return start(tmp_path / "script.py", env={**variables, **(env or {})}, cwd=tmp_path, **named)

    return call


def answer(done):
    """The JSON value that a script printed last."""
    return json.loads(done.ok().stdout.splitlines()[-1])


def said(done):
    """FlagProf's own lines on standard error."""
    return [line for line in done.stderr.splitlines() if line.startswith("flagprof: ")]
