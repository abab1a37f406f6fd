# test_layouts_twins.py - the mirrors of vendors who copied CUPTI, against the CUPTI header that they copied.
#
# In:  NVIDIA's headers of 11.8 (scripts/fetch_cupti.py), renamed word by word as those vendors did; their own headers are
#      not public. Out: the derived offsets are those of the twin, and the .def files read as they should. A real header
#      is judged by the same command: make check-layouts VENDOR=metax INCLUDE=DIR.

import pathlib
import re
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "tests" / "layouts"), str(TREE / "scripts")]
import check_layouts  # noqa: E402
import fetch_cupti  # noqa: E402

TWIN = "11.8.87"
HEADERS = ("result", "activity", "callbacks", "events", "metrics", "driver_cbid", "runtime_cbid", "nvtx_cbid", "common")
# vendor: how its names begin, and the headers that its .def asks for.
VENDORS = {
    "metax": ("MCpti", "MCPTI", "mcpti", ("mcpti.h",)),
    "musa": ("MUpti", "MUPTI", "mupti", ("mupti_result.h", "mupti_activity.h", "mupti_callbacks.h")),
}


def rename(text, vendor):
    mixed, upper, lower, _ = VENDORS[vendor]
    return re.sub("cupti", lower, re.sub("CUPTI", upper, re.sub("CUpti", mixed, text)))


@pytest.fixture
def headers(tmp_path):
    def make(vendor, change=lambda text: text):
        include = fetch_cupti.folder() / TWIN / "include"
        cuda = fetch_cupti.folder() / "cuda-h" / "include"
        if not include.is_dir() or not cuda.is_dir():
            pytest.skip(f"{include} is missing: run scripts/fetch_cupti.py")
        lower = VENDORS[vendor][2]
        for name in HEADERS:
            source = include / f"cupti_{name}.h"
            if source.exists():
                (tmp_path / f"{lower}_{name}.h").write_text(rename(change(source.read_text()), vendor))
        for name in VENDORS[vendor][3]:
            if not (tmp_path / name).exists():
                (tmp_path / name).write_text(f"#include <{lower}_result.h>\n#include <{lower}_activity.h>\n")
        return [tmp_path, cuda, include]

    return make


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_mirror_has_the_offsets_and_numbers_of_the_records_that_were_copied(headers, vendor):
    report = check_layouts.check(vendor, headers(vendor))
    assert report.differing == []
    assert len(report.agreed) > 60


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_field_that_lies_elsewhere_is_named(headers, vendor):
    def move(text):
        return text.replace("  uint64_t start;", "  uint64_t somethingNew;\n  uint64_t start;")

    report = check_layouts.check(vendor, headers(vendor, move))
    assert any(".start: mirror offset 16" in line for line in report.differing)
