# test_layouts_standin.py - `make check-layouts` tells which field differs, for vendors whose headers nobody here has.
#
# In:  tests/layouts/standin_activity.h under each vendor's names, as it is and with one field moved. Out: what the command
#      prints and its status. What CUPTI's copies really are is test_layouts_twins.py's business.

import pathlib
import re
import sys

import pytest
from conftest import run

LAYOUTS = pathlib.Path(__file__).resolve().parents[1] / "layouts"
# vendor: how its names begin, its versions of Kernel, Memcpy and Memset, the headers that its .def asks for.
VENDORS = {
    "metax": ("MCpti", (8, 5, 4), ("mcpti.h",)),
    "musa": ("MUpti", (6, 4, 3), ("mupti_result.h", "mupti_activity.h", "mupti_callbacks.h")),
    "ppu": ("HGpti", (9, 6, 4), ("hgpti_result.h", "hgpti_activity.h")),
}


def stand_in(folder, vendor, change=lambda text: text):
    mixed, versions, headers = VENDORS[vendor]
    text = change((LAYOUTS / "standin_activity.h").read_text())
    for shape, version in zip(("KERNEL", "MEMCPY", "MEMSET"), versions, strict=True):
        text = text.replace(f"{shape}_VERSION", str(version))
        text = text.replace(f"Activity{shape.capitalize()}N", f"Activity{shape.capitalize()}{version}")
    for name in headers:
        (folder / name).write_text("\n")
    (folder / headers[len(headers) // 2]).write_text(re.sub("VPTI_", f"{mixed.upper()}_", re.sub("Vpti_", f"{mixed}_", text)))
    return run([sys.executable, LAYOUTS / "check_layouts.py", vendor, folder])


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_header_that_agrees_is_said_to_agree(tmp_path, vendor):
    done = stand_in(tmp_path, vendor).ok()
    agreed, differing = re.search(r"(\d+) agree, (\d+) differ", done.stdout).groups()
    assert int(agreed) > 40 and differing == "0", str(done)


MOVES = {
    "metax": ("const char *name;", "uint64_t somethingNew; const char *name;", "Kernel", "name", 104, 112),
    "musa": ("streamId, correlationId, runtime", "correlationId, streamId, runtime", "Memcpy", "correlationId", 44, 40),
    "ppu": ("uint32_t processId, threadId,", "uint32_t threadId, processId,", "API", "threadId", 28, 24),
}


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_field_that_was_moved_is_named_with_both_places(tmp_path, vendor):
    old, new, shape, field, ours, theirs = MOVES[vendor]

    def change(text):
        assert text.count(old) == 1
        return text.replace(old, new)

    done = stand_in(tmp_path, vendor, change)
    lines = [line for line in done.stdout.splitlines() if re.search(rf"Activity{shape}\d*\.{field}:", line)]
    assert done.returncode == 1
    assert len(lines) == 1 and f"mirror offset {ours} " in lines[0] and f"header offset {theirs} " in lines[0], str(done)
    assert not re.search(r"\.(start|end):", done.stdout), str(done)


def test_a_number_that_differs_is_named_with_both_values(tmp_path):
    done = stand_in(tmp_path, "musa", lambda text: text.replace("KIND_EXTERNAL_CORRELATION = 39", "KIND_EXTERNAL_CORRELATION = 40"))
    assert done.returncode == 1
    assert "MUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: mirror 39, header 40" in done.stdout
