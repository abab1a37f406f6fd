# test_contract.py - twelve cases of contract and seven assertions of parity, for each vendor that can be had here.
#
# A vendor can be had when its simulated library is built, or, with FLAGPROF_PARITY_DEVICE=cuda, on the machine itself.
# One process a row of python/flagprof/conformance/vendors.json records two sessions, which serve every test of that row:
# what a row needs in its environment it gives to that process alone. A case that a row says cannot be had is
# judged all the same, and skipped with the row's reason only when what it can assert holds. The table of all outcomes goes
# to FLAGPROF_TABLE, which tests/run.py prints, and to standard output. Where pytest runs in several processes these share
# what was recorded, and the table is made of what all of them found.

import contextlib
import fcntl
import json
import os
import pathlib
import sys

import pytest
from conftest import TREE
from echo_accelerator import adaptor_cache  # noqa: F401
from simulated import DEVICE, device_environment, run_on_device  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFORMANCE = ROOT / "python" / "flagprof" / "conformance"
sys.path.insert(0, str(CONFORMANCE))

import assertions  # noqa: E402
import equal  # noqa: E402
from cases import CASES  # noqa: E402
from rows import ROWS  # noqa: E402
from structure import Trace  # noqa: E402

HERE = {name: row for name, row in ROWS.items() if DEVICE in ("flagos", row.accelerator)}
JUDGES = [("contract", case) for case in CASES] + [("parity", one) for one in assertions.ASSERTIONS]
outcomes = {}  # "KIND JUDGE ROW" of this process: pass, FAIL, or skip with its reason


def strict(text):
    def constant(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=constant)


@pytest.fixture(scope="module")
def common(tmp_path_factory):
    """A folder that all processes of this run of pytest have, and no other run."""
    number = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if not number:
        return tmp_path_factory.mktemp("contract")
    folder = tmp_path_factory.getbasetemp().parent / f"contract-{number}"
    folder.mkdir(exist_ok=True)
    return folder


@contextlib.contextmanager
def locked(folder, name):
    with open(folder / f"{name}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Recorded:
    """Two sessions of one process on a row's device, and torch's tables of the first."""

    def __init__(self, row, folder):
        self.row = row
        self.sessions = [Trace(strict((folder / f"{name}.json").read_text())) for name in ("first", "second")]
        self.tables = json.loads((folder / "first.tables.json").read_text())

    def judge(self, kind, judge):
        if kind == "contract":
            return judge(self.sessions, self.tables, self.row)
        return judge(self.sessions[0], self.tables, self.row.baseline())


@pytest.fixture(scope="module")
def recorded(tree, device_environment, common):  # noqa: F811
    """recorded(NAME): what was recorded on that row's device, once; skips where the device cannot be had."""
    known = {}

    def capture(row):
        folder = common / row.name
        with locked(common, row.name):
            if not (folder / "second.tables.json").exists():
                folder.mkdir(exist_ok=True)
                environment = {**device_environment, **row.variables(tree.build / "sim")}
                run_on_device(CONFORMANCE / "capture.py", DEVICE, folder, "first", "second", env=environment).ok()
        return Recorded(row, folder)

    def call(name):
        row = ROWS[name]
        if DEVICE == "flagos" and not tree.installed and not (tree.build / "sim" / row.facade).is_dir():
            pytest.skip(f"{name}: no simulated library in {tree.build / 'sim' / row.facade}")
        if name not in known:
            known[name] = None  # one that failed is not tried again
            known[name] = capture(row)
        assert known[name], f"{name} could not be recorded: see its first test"
        return known[name]

    return call


def table(outcomes):
    lines = []
    for kind, judge in JUDGES:
        marks = (outcomes.get(f"{kind} {judge.__name__} {name}", "-").split(":")[0] for name in HERE)
        lines.append(f"{kind:<9} {judge.__name__:<40}" + " ".join(f"{mark:<14}" for mark in marks).rstrip())
    reasons = [f"{key}: {said.split(': ', 1)[1]}" for key, said in sorted(outcomes.items()) if ": " in said]
    return "\n".join([f"{'':<50}" + " ".join(f"{name:<14}" for name in HERE).rstrip(), *lines, *reasons])


@pytest.fixture(scope="module", autouse=True)
def printed_table(common):
    yield
    with locked(common, "outcomes"):
        path = common / "outcomes.json"
        known = {**(json.loads(path.read_text()) if path.exists() else {}), **outcomes}
        path.write_text(json.dumps(known))
        if known and os.environ.get("FLAGPROF_TABLE"):
            pathlib.Path(os.environ["FLAGPROF_TABLE"]).write_text(table(known) + "\n")
    if known:
        print(f"\n{table(known)}")


# A row's judges stand together, so that where pytest runs in two processes each records other rows.
@pytest.mark.parametrize("kind, judge", JUDGES, ids=lambda one: getattr(one, "__name__", one))
@pytest.mark.parametrize("name", HERE)
def test_what_is_promised_holds(recorded, name, kind, judge):
    key = f"{kind} {judge.__name__} {name}"
    outcomes[key] = "FAIL"
    wrong = recorded(name).judge(kind, judge)
    assert not wrong, f"{judge.__doc__} {len(wrong)} violations:\n" + "\n".join(wrong[:20])
    reason = kind == "contract" and ROWS[name].cannot.get(judge.__name__)
    outcomes[key] = f"skip: {reason}" if reason else "pass"
    if reason:
        pytest.skip(reason)


@pytest.mark.parametrize("name", HERE)
def test_the_trace_says_which_tracer_made_it_and_on_what(recorded, name):
    said = recorded(name).sessions[0].header["flagprof"]
    assert said["tracer"] == ROWS[name].tracer
    assert bool(said.get("simulated")) == (DEVICE == "flagos"), said
    assert recorded(name).sessions[0].header["flagprof_ledger"]["complete"]


def test_there_are_twelve_cases_and_seven_assertions():
    assert len(CASES) == len({case.__name__ for case in CASES}) == 12
    assert len(assertions.ASSERTIONS) == 7


def test_no_vendor_is_excused_from_a_case_but_ascend_whose_library_interposes():
    excused = {name: set(row.cannot) for name, row in ROWS.items() if row.cannot}
    assert excused == {"ascend+preload": {"memset_events"}, "ascend": {"memcpy_events", "memset_events"}}


def test_what_a_row_does_not_promise_has_a_name_that_exists_and_a_reason():
    cases = {case.__name__ for case in CASES}
    for row in ROWS.values():
        assert set(row.cannot) <= cases, row.name
        keys = row.baseline()["categories"]
        for what, reason in {**row.lacks, **row.cannot}.items():
            assert len(reason) > 5, (row.name, what)
        for what in row.lacks:
            category, _, key = what.partition(": ")
            assert not key or category not in keys or key in [*keys[category], "direction"], f"{row.name}: {what} is no field of the baseline"


# ---- Equal work gives equal structure


@pytest.mark.parametrize("name", [name for name in HERE if name != "cuda"])
def test_the_same_program_gives_the_same_structure_as_on_cuda(recorded, name):
    first, other = recorded("cuda"), recorded(name)
    wrong = equal.differences(first.sessions[0], first.row, other.sessions[0], other.row)
    assert not wrong, "\n".join(wrong)


def test_the_page_of_fields_is_what_the_traces_have(recorded, torch_version):
    if DEVICE != "flagos" or TREE.installed or not torch_version.startswith("2.13."):
        pytest.skip("docs/fields.md is made with torch 2.13, from the simulated vendors of a source tree")
    shown = equal.matrix({name: recorded(name).sessions[0] for name in HERE}, HERE)
    page = (ROOT / "docs" / "fields.md").read_text()
    begin = page.index("| category |")
    made = TREE.build / "fields.md"
    made.write_text(page[:begin] + shown)
    print(shown)
    assert page[begin:] == shown, f"docs/fields.md is not what the traces have: cp {made} docs/fields.md"
