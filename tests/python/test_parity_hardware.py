# test_parity_hardware.py - FlagProf's trace of an H200 against torch's own of the same workload: committed pairs, no GPU.
#
# In:  tests/fixtures/pairs, recorded by tests/hardware/record.py. Out: tests/hardware/compare.py finds no difference, and it
#      finds one where there is one.

import gzip
import json
import sys

import pytest
from conftest import ROOT, run

CONFORMANCE = ROOT / "python" / "flagprof" / "conformance"
sys.path.insert(0, str(CONFORMANCE))

from structure import describe  # noqa: E402

COMPARE = ROOT / "tests" / "hardware" / "compare.py"
PAIRS = ROOT / "tests" / "fixtures" / "pairs"
WORKLOADS = (
    "capture", "compiled", "conv", "ddp_rank0", "ddp_rank1", "graph", "parity", "streams", "train", "two_devices"
)  # fmt: skip


def test_on_an_h200_flagprof_recorded_what_torch_recorded():
    done = run([sys.executable, COMPARE, PAIRS, *WORKLOADS], timeout=60).ok()
    for workload in WORKLOADS:
        assert f"{workload}: " in done.stdout
    assert done.stdout.count("; 0 differences") == len(WORKLOADS), done


def changed(event):
    """What each comparison must notice: a change to one event of FlagProf's trace."""
    arguments = event["args"]
    return {
        "kernels": {**event, "args": {**arguments, "grid": [99, 1, 1]}},
        "launching call": {**event, "args": {**arguments, "correlation": 0}},
        "owner": {**event, "args": {**arguments, "External id": 0}},
        "args of kernel": {**event, "args": {key: value for key, value in arguments.items() if key != "queued"}},
    }


def write_pair(folder, workload, change):
    """The committed pair, with `change` made to FlagProf's trace."""
    name = f"{workload}.{{}}.json.gz"
    (folder / name.format("torch")).write_bytes((PAIRS / name.format("torch")).read_bytes())
    trace = json.loads(gzip.open(PAIRS / name.format("flagprof")).read())
    change(trace)
    with gzip.open(folder / name.format("flagprof"), "wt") as file:
        json.dump(trace, file)


def forget_a_group(trace):
    kernels = [event["args"] for event in trace["traceEvents"] if event.get("cat") == "kernel"]
    next(arguments for arguments in kernels if "Group size" in arguments).pop("Group size")


def forget_a_range(trace):
    ranges = [event for event in trace["traceEvents"] if event.get("cat") == "gpu_user_annotation"]
    trace["traceEvents"].remove(ranges[0])


def list_a_device_twice(trace):
    trace["deviceProperties"] += trace["deviceProperties"][:1]


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("collectives", forget_a_group),
        ("ranges on the device", forget_a_range),
        ("devices of the header", list_a_device_twice),
    ],
)
def test_a_difference_between_ranks_is_found_and_named(tmp_path, what, change):
    write_pair(tmp_path, "ddp_rank0", change)
    done = run([sys.executable, COMPARE, tmp_path], timeout=60)
    assert done.returncode == 1 and f"  {what}: " in done.stdout, done


@pytest.mark.parametrize("what", ("kernels", "launching call", "owner", "args of kernel"))
def test_a_difference_is_found_and_named(tmp_path, what):
    def change(trace):
        events = trace["traceEvents"]
        wanted = [at for at, event in enumerate(events) if event.get("cat") == "kernel"]
        for at in wanted if what == "args of kernel" else wanted[:1]:
            events[at] = changed(events[at])[what]

    write_pair(tmp_path, "parity", change)
    done = run([sys.executable, COMPARE, tmp_path], timeout=60)
    assert done.returncode == 1 and f"  {what}: " in done.stdout, done


# What the parity workload has none of is held against the same program's trace by torch-cuda here.
def test_categories_that_the_baselines_workload_lacks_are_on_an_h200_as_torch_cuda_writes_them():
    absent = json.loads((CONFORMANCE / "baseline.json").read_text())["absent"]
    read = lambda by: describe(json.loads(gzip.open(PAIRS / f"train.{by}.json.gz").read()))["categories"]  # noqa: E731
    ours, theirs = read("flagprof"), read("torch")
    assert set(absent) == {"cuda_driver", "gpu_user_annotation"} and set(absent) <= set(theirs)
    for category in absent:
        assert set(theirs[category]) <= set(ours.get(category, [])), category
