# echo_accelerator.py - records torch on an accelerator that answers each operator with one call and one kernel.
#
# In:  a script, what the echo is to do (names, extras, refusals). Out: what the script wrote. No backend is needed, so
#      that hook, adaptor and build are tested apart from the simulated accelerator (tests/echo/echo_accelerator.c).

import json

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


@pytest.fixture
def echo(run_torch, tree, tmp_path, adaptor_cache):
    """echo(SCRIPT, names=[...], extras=[(key, type, value)], env={}) runs SCRIPT on the echo: a Done.

    It runs in a child of a process that has imported torch (forked.py); `own=True`: in a process of its own.
    """
    library = tree.build / "echo" / "libflagprof.so"
    if tree.installed or not library.exists():
        pytest.skip(f"no echo accelerator at {library}: it is built with the tests and never installed")

    def call(script, names=(), extras=(), env=None, own=False, **named):
        variables = {"FLAGPROF_BUILD": library.parent, "XDG_CACHE_HOME": adaptor_cache}
        if names:
            (tmp_path / "names").write_text("".join(name.hex() + "\n" for name in names))
            variables["FLAGPROF_ECHO_NAMES"] = tmp_path / "names"
        if extras:
            lines = [f"{key.hex()} {kind} {value.hex()}\n" for key, kind, value in extras]
            (tmp_path / "extras").write_text("".join(lines))
            variables["FLAGPROF_ECHO_EXTRAS"] = tmp_path / "extras"
        (tmp_path / "script.py").write_text(PREAMBLE + script)
        start = run_torch if own else run_in_child
        return start(tmp_path / "script.py", env={**variables, **(env or {})}, cwd=tmp_path, **named)

    return call


def answer(done):
    """The JSON value that a script printed last."""
    return json.loads(done.ok().stdout.splitlines()[-1])


def said(done):
    """FlagProf's own lines on standard error."""
    return [line for line in done.stderr.splitlines() if line.startswith("flagprof: ")]
