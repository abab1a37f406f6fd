# test_contract.py - the vendor contract in torch's form: twelve cases for each vendor that can be had here.
#
# A vendor can be had when its simulated library is built, or, with FLAGPROF_PARITY_DEVICE=cuda, on the machine itself.
# What a vendor does not promise stands in tests/contract/capabilities.json, with its reason.

import json
import pathlib
import sys

import pytest
from conftest import python_environment, run
from echo_accelerator import adaptor_cache  # noqa: F401
from simulated import DEVICE, device_environment  # noqa: F401

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "parity"), str(TESTS / "contract")]

from cases import CASES  # noqa: E402
from structure import Trace  # noqa: E402

CAPABILITIES = json.loads((TESTS / "contract" / "capabilities.json").read_text())


def strict(text):
    def constant(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=constant)


@pytest.fixture(scope="module", params=CAPABILITIES)
def vendor(request, tree, device_environment, tmp_path_factory):  # noqa: F811
    """(Traces of two sessions, torch's tables of the first, the vendor's row)."""
    row = CAPABILITIES[request.param]
    if DEVICE == "flagos" and not tree.installed and not (tree.build / "sim" / row["simulated_by"]).exists():
        pytest.skip(f"{request.param}: no simulated library {tree.build / 'sim' / row['simulated_by']}")
    if DEVICE != "flagos" and DEVICE != request.param:
        pytest.skip(f"{request.param}: the device here is {DEVICE}")
    folder = tmp_path_factory.mktemp("contract")
    environment = {**device_environment, "FLAGOS_ACCELERATOR": request.param}
    command = [tree.python, TESTS / "parity" / "capture.py", DEVICE, folder, "first", "second"]
    run(command, env=python_environment(environment), timeout=300).ok()
    sessions = [Trace(strict((folder / f"{name}.json").read_text())) for name in ("first", "second")]
    assert sessions[0].header["flagprof"]["tracer"] == row["tracer"]
    return sessions, json.loads((folder / "first.tables.json").read_text()), row


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_contract_holds(vendor, case):
    sessions, tables, row = vendor
    if row["why_not"].get(case.__name__):
        print(f"not promised: {row['why_not'][case.__name__]}")
    wrong = case(sessions, tables, row)
    assert not wrong, f"{case.__doc__} {len(wrong)} violations:\n" + "\n".join(wrong[:20])


def test_there_are_twelve_cases():
    assert len(CASES) == len({case.__name__ for case in CASES}) == 12
