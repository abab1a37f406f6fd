# test_demo.py - what `make demo` runs once everything is there: the build, a small training on what is found, its trace.

import json
import re

import pytest
from conftest import ROOT, TREE, python_environment, run
from echo_accelerator import adaptor_cache  # noqa: F401
from forked import run_forked
from simulated import device_environment  # noqa: F401

ROWS = json.loads((ROOT / "python" / "flagprof" / "conformance" / "vendors.json").read_text())
VENDORS = {name: row for name, row in ROWS.items() if "environment" not in row}


@pytest.fixture(scope="module")
def demo(torch_version):
    if TREE.installed or TREE.build != ROOT / "build":
        pytest.skip("scripts/demo.sh builds into build/, and the tests look at another place")
    environment = python_environment({"PYTHONPATH": None})  # torch as a user has it
    return run([ROOT / "scripts" / "demo.sh", TREE.python], env=environment, timeout=300).ok()


def test_it_shows_accelerator_times_and_ledger_and_ends_with_the_traces_path(demo):
    lines = demo.stdout.splitlines()
    assert lines[-1] == "build/demo/trace.json", demo
    said = said_by(demo)
    assert "simulated" in said["accelerator"] or "real" in said["accelerator"]
    assert said["ledger"].startswith("complete"), said
    assert "flagprof stats" in said["to look"] and "LaunchKernel" in said["calls"] and "grid" in said["kernels"]
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


def said_by(done):
    return dict(re.findall(r"^(\w[\w ]*):\s+(.*)$", done.stdout, re.MULTILINE))


@pytest.fixture(scope="module")
def vendors(device_environment, tmp_path_factory):  # noqa: F811
    """The demo's program on each simulated vendor, one step each."""
    if TREE.installed:
        pytest.skip("examples/ is not installed")
    arguments = ["train.py", "--steps", "1", "--trace", "trace.json"]
    # Small: what is asked is what it prints, and seven of them run.
    script = f"""
import sys
sys.path.insert(0, {str(ROOT / "examples")!r})
import train
sys.argv = {arguments}
train.WORDS, train.LENGTH, train.BATCH, train.WIDTH = 16, 4, 2, 8
train.main()
"""
    cases = {name: ({"FLAGOS_ACCELERATOR": name}, script) for name, row in VENDORS.items()
             if (TREE.build / "sim" / row["facade"]).is_dir()}  # fmt: skip
    return run_forked(cases, tmp_path_factory.mktemp("vendors"), python_environment(device_environment))


@pytest.mark.parametrize("vendor", VENDORS)
def test_on_each_vendor_it_prints_that_vendors_calls_and_fields(vendors, vendor):
    if vendor not in vendors:
        pytest.skip(f"the simulated library of {vendor} is not built")
    row, said = VENDORS[vendor], said_by(vendors[vendor].ok())
    assert said["accelerator"].startswith(f"{vendor} (simulated"), said
    calls = re.findall(r"(\w+) \(\d+\)", said["calls"])
    assert calls and all(re.search(row["calls"], call) for call in calls), said
    fields = set(said["kernels"].split(", "))
    lacks = {key.removeprefix("kernel: ") for key in row.get("lacks", {}) if key.startswith("kernel: ")}
    assert {"device", "correlation", "External id"} <= fields and not fields & lacks, said
    assert fields >= {"grid", "block", "stream"} - lacks, said
    assert ("flagprof env -- " in said.get("note", "")) == (vendor == "ascend"), said


def test_for_ascend_it_says_how_the_process_gets_its_library_and_records_copies_with_it(torch_version, tmp_path):
    if TREE.installed or not (TREE.build / "sim" / "mspti").is_dir():
        pytest.skip("the simulated MSPTI is not built")
    text = (ROOT / "scripts" / "demo.sh").read_text()
    (lines,) = re.findall(r"^if \[ -z .*?^exec .*?$", text, re.MULTILINE | re.DOTALL)
    script = tmp_path / "end.sh"
    script.write_text(f"set -eu\npython=$1\ncd {TREE.build.parent}\n" + lines + "\n")
    (tmp_path / "python").write_text('#!/bin/sh\necho "started with $LD_PRELOAD to run $1"\n')
    (tmp_path / "python").chmod(0o700)
    done = run(["bash", script, tmp_path / "python"], env={"FLAGOS_ACCELERATOR": "ascend", "FLAGOS_TRACER_LIBRARY": None}).ok()
    library = TREE.build / "sim" / "mspti" / "libmspti.so"
    assert f"LD_PRELOAD={library}" in said_by(done)["preload"], done
    assert done.stdout.splitlines()[-1] == f"started with {library} to run examples/train.py", done
