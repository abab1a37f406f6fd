# test_demo.py - what `make demo` runs once everything is there: the build, a small training on what is found, its trace.

import json
import re

import pytest
from conftest import ROOT, TREE, python_environment, run


@pytest.fixture(scope="module")
def demo(torch_version):
    if TREE.installed or TREE.build != ROOT / "build":
        pytest.skip("scripts/demo.sh builds into build/, and the tests look at another place")
    environment = python_environment({"PYTHONPATH": None})  # torch as a user has it
    return run([ROOT / "scripts" / "demo.sh", TREE.python], env=environment, timeout=300).ok()


def test_it_shows_accelerator_times_and_ledger_and_ends_with_the_traces_path(demo):
    lines = demo.stdout.splitlines()
    assert lines[-1] == "build/demo/trace.json", demo
    said = dict(re.findall(r"^(\w[\w ]*):\s+(.*)$", demo.stdout, re.MULTILINE))
    assert "simulated" in said["accelerator"] or "real" in said["accelerator"]
    assert said["ledger"].startswith("complete"), said
    assert "flagprof stats" in said["to look"]
    assert re.search(r"^\s*## optimizer ##.*us|^\s*void .*ms", demo.stdout, re.MULTILINE), "operators with device time"


def test_its_trace_has_the_ranges_and_an_arrow_to_every_kernel(demo):
    trace = json.loads((ROOT / "build" / "demo" / "trace.json").read_text())
    events = trace["traceEvents"]
    ranges = {event["name"] for event in events if event.get("cat") == "user_annotation"}
    assert {"## data ##", "## forward ##", "## backward ##", "## optimizer ##"} <= ranges
    kernels = {event["args"]["correlation"] for event in events if event.get("cat") == "kernel"}
    finishes = {event["id"] for event in events if event.get("cat") == "ac2g" and event["ph"] == "f"}
    assert kernels and kernels <= finishes


def test_it_learns_what_the_cpu_learns(demo):
    there = re.search(r"^losses:\s+(.*)$", demo.stdout, re.MULTILINE)[1]
    command = [TREE.python, ROOT / "examples" / "train.py", "--device", "cpu", "--trace", TREE.build / "demo" / "cpu.json"]
    done = run(command, env=python_environment({}), cwd=ROOT, timeout=300).ok()
    here = re.search(r"^losses:\s+(.*)$", done.stdout, re.MULTILINE)[1]
    assert [float(loss) for loss in there.split(",")] == pytest.approx([float(loss) for loss in here.split(",")], abs=2e-3)
