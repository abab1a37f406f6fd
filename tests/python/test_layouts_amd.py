# test_layouts_amd.py - our mirror of ROCtracer and of HIP's arguments, against AMD's own headers.
#
# In:  the headers that scripts/fetch_roctracer.py brought (FLAGPROF_ROCTRACER_DIR, else build/roctracer); skipped without.
# Out: nothing; a row of fp_hip_calls that reads another place than AMD's struct has is named.

import os
import pathlib
import re
import subprocess
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "tests" / "layouts"), str(TREE / "scripts")]
import check_layouts  # noqa: E402
import fetch_roctracer  # noqa: E402

# What a column of the table reads, by the names that HIP's functions give to it.
FIELDS = {
    "grid": ("numBlocks", "gridDim", "gridDimX", "globalWorkSizeX", "config__val"),
    "block": ("dimBlocks", "blockDimX", "localWorkSizeX"),
    "shared": ("sharedMemBytes",),
    "bytes": ("sizeBytes", "count", "width"),
    "rows": ("height",),
    "kind": ("kind",),
    "value": ("value",),
    "to_device": ("dstDeviceId",),
    "from_device": ("srcDeviceId", "srcDevice"),
}
ROWS = re.findall(r'"(hip\w+)", \d+[,)]', (TREE / "src" / "tracers" / "roctracer_abi.h").read_text())


@pytest.fixture(scope="module")
def include():
    folder = fetch_roctracer.folder() / "include"
    if not folder.is_dir():
        pytest.skip(f"{folder} is missing: run scripts/fetch_roctracer.py")
    return folder


def test_records_properties_and_numbers_are_those_of_the_header(include):
    report = check_layouts.check("amd", [include])
    assert report.differing == [] and report.absent == []
    assert len(report.agreed) > 25


def struct_of(text, name):
    return re.search(r"struct \{([^{}]*)\} " + name + ";", text)[1]


def comparisons(text):
    for name in ROWS:
        yield f'same("{name}", "id", row->id, HIP_API_ID_{name});', name
        members = re.findall(r"(\w+);", struct_of(text, name))
        for column, fields in FIELDS.items():
            field = next((field for field in fields if field in members), None)
            if field:
                yield f'same("{name}", "{column}", row->{column}, offsetof(hip_api_data_t, args.{name}.{field}));', name


def test_every_row_of_calls_reads_the_places_of_the_header(include, tmp_path):
    text = (include / "hip" / "amd_detail" / "hip_prof_str.h").read_text()
    lines = ["#include <stddef.h>", "#include <stdio.h>", "#include <string.h>", "#include <hip/hip_runtime_api.h>"]
    lines += ["#include <hip/amd_detail/hip_prof_str.h>", '#include "tracers/roctracer_abi.h"', "static int compared;"]
    lines += ["static void same(const char *call, const char *column, size_t mine, size_t theirs) {"]
    # A column of 0 is not read: the call then only tells less than it could.
    lines += ["    compared += mine != 0;", "    if (mine && mine != theirs)"]
    lines += ['        printf("%s.%s: mirror %zu, header %zu\\n", call, column, mine, theirs);', "}"]
    lines += ["static const struct fp_hip_call *find(const char *name) {"]
    lines += ["    for (size_t i = 0; i < sizeof(fp_hip_calls) / sizeof(fp_hip_calls[0]); i++)"]
    lines += ["        if (!strcmp(fp_hip_calls[i].name, name)) return &fp_hip_calls[i];", "    return NULL;", "}"]
    lines += ["int main(void) {", "    const struct fp_hip_call *row;"]
    lines += [f'    row = find("{name}"); {line}' for line, name in comparisons(text)]
    lines += ['    fprintf(stderr, "%d", compared);', "    return 0;", "}"]
    source, binary = tmp_path / "calls.c", tmp_path / "calls"
    source.write_text("\n".join(lines))
    command = [os.environ.get("CC", "cc"), "-std=gnu11", "-w", "-D__HIP_PLATFORM_AMD__", f"-I{TREE / 'src'}"]
    subprocess.run([*command, f"-I{include}", "-o", str(binary), str(source)], check=True, timeout=120)
    done = subprocess.run([str(binary)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == ""
    assert int(done.stderr) > 80
