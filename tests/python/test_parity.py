# test_parity.py - a FlagProf trace has torch-cuda's structure: seven assertions on one capture, and proof that they bite.
#
# The device is the simulated one, or the CUDA one where FLAGPROF_PARITY_DEVICE=cuda says so. The baseline was recorded by
# torch's own CUDA profiler (tests/parity/baseline_generator.py); pytest -s shows its versions and known gaps.

import json
import pathlib
import sys

import pytest
from conftest import python_environment, run
from echo_accelerator import adaptor_cache  # noqa: F401
from simulated import BUILD_LIMIT_S, DEVICE, device_environment  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFORMANCE = ROOT / "python" / "flagprof" / "conformance"
sys.path.insert(0, str(CONFORMANCE))

import assertions  # noqa: E402
from structure import Trace  # noqa: E402

BASELINE = json.loads((CONFORMANCE / "baseline.json").read_text())
REGENERATE = "python tests/parity/baseline_generator.py"


@pytest.fixture(scope="module")
def capture_in(tree, device_environment, tmp_path_factory):  # noqa: F811
    """capture_in(*FAULTS, env={}): {fault: (Trace, what torch's tables said)} of one run of capture.py."""
    def call(*faults, env=None):
        folder = tmp_path_factory.mktemp("capture")
        command = [tree.python, CONFORMANCE / "capture.py", DEVICE, folder, *faults]
        run(command, env=python_environment({**device_environment, **(env or {})}), timeout=300).ok()
        read = lambda name: json.loads((folder / name).read_text())  # noqa: E731
        return {fault: (Trace(read(f"{fault}.json")), read(f"{fault}.tables.json")) for fault in faults or ["none"]}

    return call


@pytest.fixture(scope="module")
def capture(capture_in):
    made_by = ", ".join(f"{key} {value}" for key, value in BASELINE["made_by"].items())
    print(f"\nbaseline of {made_by}; known gaps: {BASELINE['gaps']}")
    return capture_in()["none"]


def shown(wrong):
    return f"{len(wrong)} violations:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("assertion", assertions.ASSERTIONS, ids=lambda one: one.__name__)
def test_the_trace_has_torch_cudas_structure(capture, assertion):
    wrong = assertion(*capture, BASELINE)
    assert not wrong, f"{assertion.__doc__} {shown(wrong)}"


def test_the_trace_says_what_it_was_recorded_on(capture):
    said = capture[0].header["flagprof"]
    assert bool(said.get("simulated")) == (DEVICE != "cuda"), said
    assert capture[0].header["flagprof_ledger"]["complete"], capture[0].header["flagprof_ledger"]


def test_on_hardware_the_baseline_is_of_this_torch(torch_version):
    if DEVICE != "cuda":
        pytest.skip("the baseline's torch matters on an NVIDIA machine only; the device here is simulated")
    minor = [version.split(".")[:2] for version in (torch_version, BASELINE["made_by"]["torch"])]
    assert minor[0] == minor[1], f"the baseline is of torch {BASELINE['made_by']['torch']}: {REGENERATE}"


# ---- Each fault that the suite exists for makes an assertion fail that can be named

ABLATIONS = {
    "swap_arrow": assertions.arrows,
    "swap_link": assertions.device_time,
    "drop_linked": assertions.device_time,
    "one_argument": assertions.window,
}


UNFILTERED, FILTERED = "early_start,no_window", "early_start"


@pytest.fixture(scope="module")
def ablated(tree, torch_version, device_environment, capture_in):  # noqa: F811
    """A capture for each fault, through the adaptor that can have it."""
    if tree.installed:
        pytest.skip("the adaptor with test faults is built from the source tree only")
    code = "import torch; from flagprof import _build; print(_build.adaptor(ablation=True))"
    path = run([tree.python, "-c", code], env=python_environment(device_environment), timeout=BUILD_LIMIT_S).ok().stdout.splitlines()[-1]
    faults = [fault for fault in ABLATIONS if not (fault == "swap_arrow" and dies_of_equal_arrows(torch_version))]
    return capture_in(*faults, UNFILTERED, FILTERED, env={"FLAGOS_TEST_ADAPTOR": path})


# torch up to 2.11 raises at stop when an arrow's id is used twice.
def dies_of_equal_arrows(version):
    return [int(part) for part in version.split(".")[:2]] <= [2, 11]


@pytest.mark.parametrize("fault", ABLATIONS)
def test_a_fault_makes_its_assertion_fail(ablated, fault):
    if fault not in ablated:
        pytest.skip("this torch raises at stop on arrow ids used twice, so that there is no trace to look at")
    assert ABLATIONS[fault](*ablated[fault], BASELINE), f"{fault} went unnoticed"


# Recording from the warm-up on, as a tracer that arms early does, makes strays: all the warm-up's device work.
def test_without_the_window_filter_strays_come_through_and_with_it_they_do_not(ablated):
    through = assertions.window(*ablated[UNFILTERED], BASELINE)
    assert any("outside" in line for line in through), f"no stray came through: {shown(through)}"
    trace, averages = ablated[FILTERED]
    assert trace.header["flagprof_ledger"]["kinds"]["kernel"]["outside_window"] > 0, "there was no stray to leave out"
    assert not assertions.window(trace, averages, BASELINE)
