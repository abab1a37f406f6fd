# test_parity.py - a FlagProf trace has torch-cuda's structure: seven assertions on one capture, and proof that they bite.
#
# The device is the simulated one, or the CUDA one where FLAGPROF_PARITY_DEVICE=cuda says so. The baseline was recorded by
# torch's own CUDA profiler (tests/parity/baseline_generator.py); its versions and known gaps are printed with each run.

import json
import os
import pathlib
import sys

import pytest
from conftest import python_environment, run
from echo_accelerator import adaptor_cache  # noqa: F401
from simulated import BUILD_LIMIT_S, DEVICE, device_environment, run_on_device  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFORMANCE = ROOT / "python" / "flagprof" / "conformance"
sys.path.insert(0, str(CONFORMANCE))

import assertions  # noqa: E402
from structure import Trace, correlation  # noqa: E402

BASELINE = json.loads((CONFORMANCE / "baseline.json").read_text())
REGENERATE = "python tests/parity/baseline_generator.py"
MADE_BY = "baseline of " + ", ".join(f"{key} {value}" for key, value in BASELINE["made_by"].items())


@pytest.fixture(scope="module")
def capture_in(device_environment, tmp_path_factory):  # noqa: F811
    """capture_in(*FAULTS, env={}): ({fault: (Trace, what torch's tables said)}, Done) of one run of capture.py."""
    def call(*faults, env=None):
        folder = tmp_path_factory.mktemp("capture")
        environment = {**device_environment, **(env or {})}
        done = run_on_device(CONFORMANCE / "capture.py", DEVICE, folder, *faults, env=environment).ok()
        read = lambda name: json.loads((folder / name).read_text())  # noqa: E731
        return {fault: (Trace(read(f"{fault}.json")), read(f"{fault}.tables.json")) for fault in faults or ["none"]}, done

    return call


@pytest.fixture(scope="module")
def capture(capture_in):
    return capture_in()[0]["none"]


# To standard output, and to FLAGPROF_TABLE, which tests/run.py prints below the suite's line.
def test_the_baselines_versions_and_gaps_are_printed(capsys):
    gaps = {**BASELINE["gaps"], **BASELINE["absent"]}
    lines = [MADE_BY, *(f"    known gap: {what}: {reason}" for what, reason in gaps.items())]
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    if os.environ.get("FLAGPROF_TABLE"):
        pathlib.Path(os.environ["FLAGPROF_TABLE"]).write_text("\n".join(lines) + "\n")
    assert {"torch", "cuda", "driver", "driver_cuda", "cupti", "device"} <= set(BASELINE["made_by"])
    assert all(len(reason) > 20 for reason in gaps.values())


@pytest.mark.parametrize("assertion", assertions.ASSERTIONS, ids=lambda one: one.__name__)
def test_the_trace_has_torch_cudas_structure(capture, assertion):
    wrong = assertion(*capture, BASELINE)
    assert not wrong, f"{assertion.__doc__} {wrong[:5]}"


def test_the_trace_says_what_it_was_recorded_on(capture):
    said = capture[0].header["flagprof"]
    assert bool(said.get("simulated")) == (DEVICE != "cuda"), said
    assert capture[0].header["flagprof_ledger"]["complete"], capture[0].header["flagprof_ledger"]


def of_another_torch(device, version):
    """Why the baseline says nothing about this torch's traces; None: it does."""
    minor = [text.split(".")[:2] for text in (version, BASELINE["made_by"]["torch"])]
    if device != "cuda" or minor[0] == minor[1]:
        return None
    return f"the {MADE_BY}, and this is torch {version}. Make it again: {REGENERATE}"


def test_on_hardware_the_baseline_is_of_this_torch(torch_version):
    assert not of_another_torch(DEVICE, torch_version), of_another_torch(DEVICE, torch_version)


def test_a_baseline_of_another_torch_is_refused_on_hardware_with_the_command_that_makes_it():
    made = BASELINE["made_by"]["torch"]
    assert REGENERATE in of_another_torch("cuda", "2.99.0+cu130") and made in of_another_torch("cuda", "2.99.0+cu130")
    assert of_another_torch("cuda", made) is None and of_another_torch("cuda", made.split("+")[0] + "+cpu") is None
    assert of_another_torch("flagos", "2.99.0") is None
    assert (ROOT / REGENERATE.split()[1]).exists()


def test_a_range_is_there_with_torch_cudas_keys(capture):
    ranges = [event for event in capture[0].events if event["cat"] == "gpu_user_annotation"]
    annotations = [event["args"]["External id"] for event in capture[0].events if event["cat"] == "user_annotation"]
    assert ranges and all(event["args"]["External id"] in annotations for event in ranges)


# ---- Each fault that the suite exists for makes assertions fail, and in words that name it

NAMED = (
    ("swap_arrow", assertions.arrows, "its device events are at"),
    ("swap_link", assertions.device_time, "no aten::mm owns any device time"),
    ("drop_linked", assertions.device_time, "no aten::mm owns any device time"),
    ("one_argument", assertions.device_time, "no aten::mm owns any device time"),
    ("one_argument", assertions.window, "the file does not say the window"),
)
ABLATIONS = tuple(dict.fromkeys(fault for fault, _, _ in NAMED))
WHOLE = {"swap_arrow": (assertions.device_time, assertions.window), "drop_linked": (assertions.arrows, assertions.window)}
NO_RESOLVER = "torch gave no way to find operators by their id"

UNFILTERED, FILTERED = "early_start,no_window", "early_start"


@pytest.fixture(scope="module")
def faulty_adaptor(tree, device_environment):  # noqa: F811
    """The environment that has a program use the adaptor with test faults."""
    if tree.installed:
        pytest.skip("the adaptor with test faults is built from the source tree only")
    code = "import torch; from flagprof import _build; print(_build.adaptor(ablation=True))"
    built = run([tree.python, "-c", code], env=python_environment(device_environment), timeout=BUILD_LIMIT_S).ok()
    return {"FLAGOS_TEST_ADAPTOR": built.stdout.splitlines()[-1]}


@pytest.fixture(scope="module")
def ablated(torch_version, capture_in, faulty_adaptor):
    """(a capture for each fault, what the process that made them wrote)."""
    faults = [fault for fault in ABLATIONS if not (fault == "swap_arrow" and dies_of_equal_arrows(torch_version))]
    return capture_in(*faults, UNFILTERED, FILTERED, env=faulty_adaptor)


# torch up to 2.11 raises at stop when an arrow's id is used twice.
def dies_of_equal_arrows(version):
    return [int(part) for part in version.split(".")[:2]] <= [2, 11]


@pytest.mark.parametrize("fault, assertion, words", NAMED, ids=lambda one: getattr(one, "__name__", str(one).split(" ")[0]))
def test_a_fault_makes_its_assertion_fail_by_name(ablated, fault, assertion, words):
    if fault not in ablated[0]:
        pytest.skip("this torch raises at stop on arrow ids used twice, so that there is no trace to look at")
    wrong = assertion(*ablated[0][fault], BASELINE)
    assert any(words in line for line in wrong), f"{fault} went unnoticed: {shown(wrong)}"
    for other in WHOLE.get(fault, ()):
        assert not other(*ablated[0][fault], BASELINE), f"{fault} also broke {other.__name__}, which has nothing to do with it"


def test_an_empty_linked_activity_callback_is_said_and_nothing_else(ablated):
    told = [line for line in ablated[1].stderr.splitlines() if line.startswith("flagprof") and "building" not in line]
    assert len(told) == 1 and NO_RESOLVER in told[0], told


# Recording from the warm-up on, as a tracer that arms early does, makes strays: all the warm-up's device work.
def test_without_the_window_filter_strays_come_through_and_with_it_they_do_not(ablated):
    through = assertions.window(*ablated[0][UNFILTERED], BASELINE)
    assert any("outside" in line for line in through), f"no stray came through: {shown(through)}"
    trace, averages = ablated[0][FILTERED]
    assert trace.header["flagprof_ledger"]["kinds"]["kernel"]["outside_window"] > 0, "there was no stray to leave out"
    assert not assertions.window(trace, averages, BASELINE)


# ---- Device work before the window, and across its start

EARLY, EARLY_ALL, EARLY_BLIND = "early_start", "early_start,no_window", "early_start,one_argument"


@pytest.fixture(scope="module")
def strays(device_environment, faulty_adaptor, tmp_path_factory):  # noqa: F811
    if DEVICE != "flagos":
        pytest.skip("only the simulated device has a kernel that runs until it is told to end")
    folder = tmp_path_factory.mktemp("strays")
    environment = {**device_environment, **faulty_adaptor}
    run_on_device(ROOT / "tests" / "workloads" / "strays.py", folder, EARLY, EARLY_ALL, EARLY_BLIND, env=environment).ok()
    return {path.stem: Trace(json.loads(path.read_text())) for path in folder.glob("*.json")}


def kernels(trace):
    return sorted(event["name"].split("::")[-1].split("<")[0] for event in trace.device)


def test_what_ended_before_the_window_is_left_out_and_what_crosses_its_start_is_kept_whole(strays):
    trace = strays[EARLY]
    assert kernels(trace) == ["gate", "mul"]
    wrong = assertions.window(trace, None, BASELINE)
    assert len(wrong) == 1 and wrong[0].startswith("kernel gate overruns: ") and wrong[0].endswith(" 0 ns after"), wrong
    row = trace.header["flagprof_ledger"]["kinds"]["kernel"]
    assert (row["seen"], row["kept"], row["outside_window"]) == (3, 2, 1)


def test_a_device_event_whose_call_lies_before_the_window_has_no_half_of_an_arrow(strays):
    (gate,) = (event for event in strays[EARLY].device if event["name"] == "gate")
    called = {correlation(event) for event in strays[EARLY].host}
    assert correlation(gate) not in called
    assert correlation(gate) not in {half["id"] for half in strays[EARLY].arrows}
    assert strays[EARLY].header["flagprof_ledger"]["complete"], "its launch was seen, outside the window"


def test_strays_come_through_without_the_filter_and_without_the_window(strays):
    assert kernels(strays[EARLY_ALL]) == kernels(strays[EARLY_BLIND]) == ["add", "gate", "mul"]
    assert any("add" in line and "outside" in line for line in assertions.window(strays[EARLY_ALL], None, BASELINE))
    assert assertions.window(strays[EARLY_BLIND], None, BASELINE) == ["the file does not say the window: None"]
