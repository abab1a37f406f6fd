# test_conformance.py - `flagprof conformance`: what it prints, what it leaves, and that its cases bite.
#
# The C form runs for every row in the C tests (tests/c/contract.cmake); here faults of the simulator must make a case fail
# that can be named, and one row goes through torch, as on a machine with a device.

import json
import re
import shutil
import struct

import pytest
from conftest import ROOT, TREE, run
from echo_accelerator import adaptor_cache  # noqa: F401
from simulated import device_environment  # noqa: F401
from test_verbs_schema import fits

CASES = 12
ROW = "metax"
ROWS = json.loads((ROOT / "python" / "flagprof" / "conformance" / "vendors.json").read_text())


@pytest.fixture
def native(run_cli, tmp_path):
    if TREE.installed or not (TREE.build / "sim" / "workload").is_dir():
        pytest.skip("the workload for the simulated vendors is not built")

    def call(*arguments, faults="", row=ROW, **environment):
        return run_cli("conformance", "--native", "--row", row, "--json", *arguments, cwd=tmp_path,
                       env={"FLAGOS_SIM_FAULTS": faults, "FLAGOS_ACCELERATOR": None, **environment})  # fmt: skip

    return call


def results(done):
    return {case["case"]: case["result"] for case in json.loads(done.stdout)["cases"]}


def test_a_row_says_what_it_ran_on_and_what_was_seen(native, tree, tmp_path):
    report = native().json()
    fits(report, json.loads((tree.root / "docs" / "schema" / "flagprof-conformance-1.json").read_text()))
    assert len(report["cases"]) == CASES and report["failed"] == 0
    assert all(case["seen"] for case in report["cases"])
    (row,) = report["rows"]
    assert (row["row"], row["form"], row["ran_on"], row["tracer"]) == (ROW, "C", "simulation", "mcpti")
    assert any("SIMULATION" in note and "no hardware" in note for note in report["notes"])
    assert list(tmp_path.iterdir()) == [], "nothing is left behind where nothing failed"


# A fault of the vendor's library, and the case that must see it.
BITES = {
    "lose_records=5": "kernel_events",
    "drop_records=4": "repeated_sessions",
    "timing_zero=3": "kernel_events",
    "name_null=2": "kernel_events",
    "push_fails=3": "device_time_goes_to_the_right_operator",
    "no_external_records=2": None,  # MUSA's tracer helps itself: nothing may fail
}


@pytest.mark.parametrize("fault", BITES)
def test_a_fault_makes_its_case_fail(native, fault):
    done = native(faults=fault, row="musa" if fault.startswith("no_external") else ROW)
    failed = {case for case, result in results(done).items() if result == "FAIL"}
    assert (BITES[fault] in failed) if BITES[fault] else not failed, done
    assert done.returncode == (1 if failed else 0)


# What a vendor's library may do without losing anything, by row: nothing may fail.
BORNE = {
    "ascend+preload": ("many_workers", "null_completion", "old_release", "no_node_api", "own_stacks", "wide_ids",
                       "clock_behind"),  # fmt: skip
    "ascend": ("many_workers", "null_completion", "old_release", "no_node_api", "own_stacks"),
    "cuda": ("refused_crash_before_12_9",),
    "gcu": ("empty_buffers", "completed_zero"),
}


@pytest.mark.parametrize("row, fault", [(row, fault) for row, faults in BORNE.items() for fault in faults])
def test_a_fault_that_loses_nothing_changes_nothing(native, tree, row, fault):
    if row == "cuda" and not (tree.build / "sim" / "cupti-13.0").is_dir():
        pytest.skip("the simulated CUPTI needs NVIDIA's headers")
    report = native(faults=fault, row=row).json()
    assert report["failed"] == 0 and report["passed"] >= 10, report


# FLAGOS_TRACE tells of each record that is decoded, whoever's it is (CUPTI's: test_adaptor_environment.py).
RECORDS = {
    "ascend": r"mspti: record of kind 2, 56 bytes",
    "dcu": r"roctracer: record of domain \d+, kind \d+, operation \d+",
    "gcu": r"topspti: record of kind \d+, [1-9]\d* bytes to the next",
    "metax": r"mcpti: record of kind \d+, [1-9]\d* bytes to the next",
    "musa": r"mupti: record of kind \d+, [1-9]\d* bytes to the next",
}


@pytest.mark.parametrize("row", RECORDS)
def test_the_trace_of_our_own_work_tells_of_each_record(native, row):
    done = native(row=row, FLAGOS_TRACE="1")
    assert len(re.findall(RECORDS[row], done.stderr)) >= 6, done.stderr[-2000:]


def test_a_failed_row_leaves_the_vendors_bytes_and_their_strings(native, tmp_path):
    done = native("--save", "left", faults="lose_records=5")
    assert done.returncode == 1 and "send that folder" in done.stdout
    (buffers,) = (tmp_path / "left" / ROW).glob("*.bin")
    data, sizes = buffers.read_bytes(), []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        sizes.append(size)
        assert len(data) >= 8 + size
        data = data[8 + size :]
    assert sizes and sum(sizes) > 0
    strings = buffers.with_suffix(".strings").read_text()
    assert "contract_kernel_3" in strings
    for line in strings.splitlines():
        number, offset, text = line.split(" ", 2)
        assert int(offset) < sizes[int(number)] and text


# The row, and whether copies and fills are among its records and whether kernels have a grid.
LEFT = {"cuda": (True, True), "ppu": (True, True), "metax": (True, True), "musa": (True, True), "dcu": (True, True),
        "ascend+preload": (True, False), "ascend": (False, False), "gcu": (True, False)}  # fmt: skip


@pytest.mark.parametrize("row", LEFT)
def test_what_a_failed_row_leaves_can_be_read_again_without_its_library(native, tree, tmp_path, row):
    copies, grid = LEFT[row]
    if not (tree.build / "sim" / ROWS[row]["facade"]).is_dir():
        pytest.skip(f"the simulated library of {row} is not built")
    assert native("--save", "left", row=row, faults="lose_records=5").returncode == 1
    folder = tmp_path / "left" / row
    story = (folder / "story.tsv").read_text()
    assert f"fact\trow\t{row}\n" in story and re.search(r"^case\tkernel_events\tFAIL\t.+", story, re.MULTILINE)
    lines = [line.split("\t") for line in run([tree.build / "tests" / "c" / "replay_kept", folder]).ok().stdout.splitlines()]
    kernels = [line for line in lines if line[0] == "kernel"]
    assert 20 <= len(kernels) < 28 and all("contract_kernel_" in line[1] and int(line[2]) < int(line[3]) for line in kernels), lines
    assert not [line for line in lines if line[0] == "lost"], lines
    assert [line for line in lines if line[0] == "runtime"]
    assert bool([line for line in lines if line[0] == "memcpy" and line[-1] in ("4096 bytes", "2048 bytes")]) == copies, lines
    if grid:
        (third, *_) = [line for line in kernels if "contract_kernel_3P" in line[1]]
        assert "grid 4 2 1" in third and "block 64 4 1" in third


def test_texts_are_kept_whole_across_pages(native, tmp_path):
    native("--save", "left", faults="name_8k=2,lose_records=5")
    (strings,) = (tmp_path / "left" / ROW).glob("*.strings")
    assert max(len(line) for line in strings.read_text().splitlines()) > 8000


def test_on_ascends_hardware_the_rows_process_is_started_with_the_machines_library(run_cli, tree, tmp_path):
    sim = tree.build / "sim"
    if TREE.installed or not (sim / "mspti").is_dir():
        pytest.skip("the simulated MSPTI is not built")
    # As on hardware: a workload is given, and the library is found as a machine's would be.
    for row, skipped in (("ascend+preload", set()), ("ascend", {"memcpy_events", "memset_events"})):
        done = run_cli("conformance", "--row", row, "--workload", sim / "workload" / "libflagprof_workload.so", "--json", cwd=tmp_path,
                       env={"FLAGOS_SIM_DIR": sim, "FLAGOS_ACCELERATOR": "ascend",
                            "FLAGOS_TRACER_LIBRARY": sim / "mspti" / "libmspti.so"})  # fmt: skip
        found = results(done)
        assert {case for case, result in found.items() if result == "FAIL"} == set(), done
        assert {case for case, result in found.items() if result == "skip"} == skipped, done


def test_a_row_whose_process_dies_is_a_failed_row(native):
    report = json.loads(native("--workload", "/no/such/library.so").stdout)
    assert report["failed"] == 1 and report["rows"][0]["ran_on"] == "nothing"


def one_line(done):
    """What is said to the person where nothing could be run: one line, and nothing else."""
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr, done
    (line,) = done.stderr.splitlines()
    assert line.startswith("flagprof conformance: "), line
    return line


def test_a_row_that_is_none_is_one_line_with_those_that_are(run_cli):
    line = one_line(run_cli("conformance", "--row", "nosuch"))
    assert "'nosuch'" in line and "ascend+preload" in line and "--workload" in line


def test_where_nothing_can_be_run_one_line_tells_what_is_missing(run_cli, tmp_path):
    if TREE.installed:
        pytest.skip("an installed command has the simulator beside it")
    alone = tmp_path / "flagprof"
    shutil.copy(TREE.cli, alone)
    environment = {"LD_LIBRARY_PATH": TREE.build, "FLAGOS_SIM_DIR": None}
    assert "--workload LIB" in one_line(run([alone, "conformance", "--native"], env=environment, cwd=tmp_path))
    line = one_line(run([alone, "conformance", "--python", "/nowhere/python"], env=environment, cwd=tmp_path))
    assert "no torch" in line and "--workload LIB" in line


def test_without_torch_the_other_form_is_run_and_the_reason_and_cure_are_said(run_cli, tmp_path):
    if TREE.installed:
        pytest.skip("runs from the source tree")
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('no torch for this test')\n")
    done = run_cli("conformance", "--row", ROW, "--python", TREE.python, cwd=tmp_path,
                   env={"PYTHONPATH": tmp_path, "FLAGOS_ACCELERATOR": None})  # fmt: skip
    said = " ".join(done.stdout.split())
    assert done.returncode == 0 and done.stderr == "", done
    assert "Without torch, for" in said and "no torch for this test" in said and "--python names" in said
    assert re.search(r"^metax +C +kernel_events +pass", done.stdout, re.MULTILINE)


def test_torchs_form_judges_contract_and_parity(run_cli, device_environment, tmp_path):  # noqa: F811
    if TREE.installed:
        pytest.skip("runs from the source tree")
    done = run_cli("conformance", "--row", ROW, "--python", TREE.python, "--json", cwd=tmp_path, timeout=200,
                   env={**device_environment, "FLAGOS_ACCELERATOR": None})  # fmt: skip
    report = done.json()
    assert report["rows"][0]["form"] == "torch" and report["rows"][0]["torch"]
    assert len(report["cases"]) == CASES + 7 and report["passed"] == CASES + 7, report
