# test_accelerators.py - everything that belongs to an accelerator has its row: no new one can fall into the fallback.
# What cannot be traced leaves the CPU's profile as it is.
#
# In:  src/tracers (the table and the tracers), sim (the facades and what the torch backend loads). Out: a missing row by
#      name. Which tracer each row has is pinned by tests/c/test_table.c.

import pathlib
import re

import pytest
from conftest import python_environment
from forked import run_forked

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = dict(re.findall(r'{ "(\w+)", &fp_(\w+)_ops,', (ROOT / "src" / "tracers" / "table.c").read_text()))


def test_each_tracer_of_the_house_serves_a_row():
    doors = (path.read_text() for path in (ROOT / "src" / "tracers").glob("*.h"))
    tracers = {name for text in doors for name in re.findall(r"extern const struct fp_tracer_ops fp_(\w+)_ops;", text)}
    assert len(tracers) > 4
    assert tracers - set(ROWS.values()) == set()


def test_each_accelerator_that_can_be_simulated_has_a_row_with_a_tracer():
    text = (ROOT / "sim" / "python" / "flagos" / "_native.py").read_text()
    facades = dict(re.findall(r'"(\w+)": \("(\w+)", "[^"]*"\)', text))
    assert {"cuda", "ppu", "metax"} <= set(facades)
    simulated = {name for name, folder in facades.items() if (ROOT / "sim" / folder).is_dir()}
    assert simulated - set(ROWS) == set()
    assert [name for name in simulated if ROWS[name] == "unavailable"] == []


def test_each_decoder_of_a_vendors_records_has_a_fuzz_target_with_a_corpus():
    fuzz = ROOT / "tests" / "fuzz"
    texts = {path.stem: path.read_text() for path in fuzz.glob("fuzz_*.[ch]")}
    layouts = {path.name for pattern in ("*_decode.h", "*_layout.h") for path in (ROOT / "src" / "tracers").glob(pattern)}
    # What several share, and what is found out and has no table.
    layouts -= {"twin_layout.h", "topspti_layout.h"}
    assert len(layouts) >= 8
    for header in layouts:
        targets = [name for name, text in texts.items() if f'"tracers/{header}"' in text and name != "fuzz_twin"]
        assert targets or (header == "twin_decode.h" and "fuzz_twin" in texts) or header == "topspti_decode.h", header
        assert all(len(list((fuzz / "corpus" / name).iterdir())) >= 5 for name in targets), header


def test_each_row_is_told_of_in_the_support_table():
    readme = (ROOT / "README.md").read_text()
    first_cells = re.findall(r"^\| ([^|]+) \|", readme, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(first_cells))) == sorted(ROWS), "by the names that FLAGOS_ACCELERATOR takes"


def test_the_support_table_says_where_rocm_has_no_library_that_is_read():
    row = next(line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| AMD, Hygon"))
    assert "rocprofiler-sdk" in row and "unavailable" in row


WITHOUT = {
    "bpu": "no activity API of bpu",  # a platform that is known to have none
    "cuad": "FLAGOS_ACCELERATOR=cuad names no accelerator; known are: cuda, ppu, ",  # nobody's name
}


@pytest.fixture(scope="module")
def without(torch_version, tmp_path_factory):
    script = """
import flagprof, torch
from torch.profiler import ProfilerActivity, profile
for turn in range(2):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recorded:
        torch.ones(4, 4) @ torch.ones(4, 4)
    print(sum(row.key == "aten::mm" for row in recorded.key_averages()))
"""
    cases = {name: ({"FLAGOS_ACCELERATOR": name, "FLAGOS_TRACER_LIBRARY": None}, script) for name in WITHOUT}
    return run_forked(cases, tmp_path_factory.mktemp("without"), python_environment({}))


@pytest.mark.parametrize("name", WITHOUT)
def test_without_a_tracer_the_cpu_is_profiled_and_one_line_says_why_the_device_is_not(without, name):
    done = without[name].ok()
    assert done.stdout.split() == ["1", "1"]
    lines = [line for line in done.stderr.splitlines() if line.startswith("flagprof")]
    assert len(lines) == 1 and WITHOUT[name] in lines[0], str(done)
