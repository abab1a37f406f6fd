# test_layouts_standin.py - `make check-layouts` tells which field differs, for vendors whose headers nobody here has.
#
# In:  small headers of ours under each vendor's names (tests/layouts/standin_*.h, tests/standin), as they are and with one
#      field moved. Out: what the command prints and its status. What CUPTI's copies really are is test_layouts_twins.py's
#      business; NVIDIA's own headers serve in test_layouts.py, AMD's in test_layouts_amd.py.

import pathlib
import re
import sys

import pytest
from conftest import run

TESTS = pathlib.Path(__file__).resolve().parents[1]
LAYOUTS = TESTS / "layouts"
# Copies of CUPTI: how the vendor's names begin, its versions of Kernel, Memcpy and Memset, the headers that its .def asks for.
COPIES = {
    "metax": ("MCpti", (8, 5, 4), ("mcpti.h",)),
    "musa": ("MUpti", (6, 4, 3), ("mupti_result.h", "mupti_activity.h", "mupti_callbacks.h")),
    "ppu": ("HGpti", (9, 6, 4), ("hgpti_result.h", "hgpti_activity.h")),
}
# The others: the stand-in, the header whose place it takes, and those that are asked for beside it.
OTHERS = {
    "ascend": (LAYOUTS / "standin_mspti.h", "mspti_activity.h", ("mspti_result.h",)),
    "gcu": (TESTS / "standin/topspti/topspti_activity.h", "topspti_activity.h", ("topspti.h", "topspti_callbacks.h")),
    "dcu": (LAYOUTS / "standin_roctracer.h", "roctracer/roctracer.h",
            ("hip/hip_runtime_api.h", "hip/amd_detail/hip_prof_str.h", "roctracer/roctracer_hip.h")),
}  # fmt: skip
VENDORS = (*COPIES, *OTHERS)


def copy_of_cupti(vendor, change):
    mixed, versions, headers = COPIES[vendor]
    text = change((LAYOUTS / "standin_activity.h").read_text())
    for shape, version in zip(("KERNEL", "MEMCPY", "MEMSET"), versions, strict=True):
        text = text.replace(f"{shape}_VERSION", str(version))
        text = text.replace(f"Activity{shape.capitalize()}N", f"Activity{shape.capitalize()}{version}")
    text = re.sub("VPTI_", f"{mixed.upper()}_", re.sub("Vpti_", f"{mixed}_", text))
    return {**dict.fromkeys(headers, ""), headers[len(headers) // 2]: text}


def stand_in(folder, vendor, change=lambda text: text):
    if vendor in COPIES:
        files = copy_of_cupti(vendor, change)
    else:
        source, name, beside = OTHERS[vendor]
        there = {other: source.parent / other for other in beside}
        files = {other: path.read_text() if path.exists() else "" for other, path in there.items()}
        files[name] = change(source.read_text())
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return run([sys.executable, LAYOUTS / "check_layouts.py", vendor, folder])


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_header_that_agrees_is_said_to_agree(tmp_path, vendor):
    done = stand_in(tmp_path, vendor).ok()
    agreed, differing = re.search(r"(\d+) agree, (\d+) differ", done.stdout).groups()
    assert int(agreed) > 25 and differing == "0", str(done)


# What is moved, the field that is then named, and its two offsets. Of GCU no offset is known: what is held to a place is the
# words of a kernel's grid, which must lie in a row.
MOVES = {
    "metax": ("const char *name;", "uint64_t somethingNew; const char *name;", r"ActivityKernel\d*.name", 104, 112),
    "musa": ("streamId, correlationId, runtime", "correlationId, streamId, runtime", r"ActivityMemcpy\d*.correlationId", 44, 40),
    "ppu": ("uint32_t processId, threadId,", "uint32_t threadId, processId,", r"ActivityAPI.threadId", 28, 24),
    "ascend": ("msptiProcessThread pt;", "uint32_t somethingNew; msptiProcessThread pt;", r"ActivityApi.pt.threadId", 24, 28),
    "gcu": ("int32_t gridX, gridY,", "int32_t gridX, somethingNew, gridY,", r"ActivityKernel.gridY", 48, 52),
    "dcu": ("int device_id;", "uint64_t somethingNew; int device_id;", r"roctracer_record_t.device_id", 40, 48),
}


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_field_that_was_moved_is_named_with_both_places(tmp_path, vendor):
    old, new, field, ours, theirs = MOVES[vendor]

    def change(text):
        assert text.count(old) == 1
        return text.replace(old, new)

    done = stand_in(tmp_path, vendor, change)
    lines = [line for line in done.stdout.splitlines() if re.search(rf"{field}:", line)]
    assert done.returncode == 1
    # Each field behind it is named too, and not the first alone.
    assert done.stdout.count("mirror offset") >= 2, str(done)
    assert len(lines) == 1 and f"mirror offset {ours} " in lines[0] and f"header offset {theirs} " in lines[0], str(done)
    assert not re.search(r"\.(start|end):", done.stdout), str(done)


def test_an_argument_of_a_call_that_lies_elsewhere_is_named_with_both_places(tmp_path):
    done = stand_in(tmp_path, "dcu", lambda text: text.replace("void *dst;\n            const void *src;", "void *dst, *somethingNew;\n            const void *src;"))
    lines = [line for line in done.stdout.splitlines() if "argument" in line and "judged" not in line]
    assert done.returncode == 1
    assert lines == ["hipMemcpy's argument sizeBytes: mirror offset 32, header offset 40",
                     "hipMemcpy's argument kind: mirror offset 40, header offset 48"], str(done)  # fmt: skip


@pytest.fixture
def complaint(tmp_path):
    def call(*arguments):
        done = run([sys.executable, LAYOUTS / "check_layouts.py", *arguments], cwd=tmp_path)
        assert done.returncode == 2 and done.stdout == "", str(done)
        (line,) = done.stderr.splitlines()
        return line.removeprefix("check-layouts: ")

    return call


def test_headers_that_are_not_there_are_one_line_with_the_folder_to_give(complaint, tmp_path):
    assert complaint("musa", "/nowhere").startswith("/nowhere is no folder")
    assert complaint("musa", tmp_path).startswith(f"mupti_result.h: No such file in {tmp_path} or up to three folders below")
    (tmp_path / "kit" / "include").mkdir(parents=True)
    (tmp_path / "kit" / "include" / "mupti_result.h").write_text("")
    assert f"but in {tmp_path}/kit/include" in complaint("musa", tmp_path)
    (tmp_path / "mcpti.h").write_text("struct {\nthis is no C\n#error either\n")
    (tmp_path / "cuda.h").write_text("")
    assert "do not compile with the mirror" in complaint("metax", tmp_path)


def test_what_is_missing_on_the_command_line_is_one_line_with_the_vendors_that_are_known(complaint):
    for arguments in ((), ("musa",), ("abacus", "/tmp")):
        line = complaint(*arguments)
        assert "ascend" in line and "gcu" in line, line


def test_a_field_that_only_the_header_can_place_is_missed_where_it_is_not_there(tmp_path):
    done = stand_in(tmp_path, "gcu", lambda text: text.replace("const char *name;", "const char *title;"))
    assert done.returncode == 1 and "Topspti_ActivityKernel.name: the header has no such field" in done.stdout, str(done)


def test_a_number_that_differs_is_named_with_both_values(tmp_path):
    done = stand_in(tmp_path, "musa", lambda text: text.replace("KIND_EXTERNAL_CORRELATION = 39", "KIND_EXTERNAL_CORRELATION = 40"))
    assert done.returncode == 1
    assert "MUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: mirror 39, header 40" in done.stdout
