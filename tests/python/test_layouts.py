# test_layouts.py - our mirror of CUPTI against NVIDIA's own headers and libraries, release by release.
#
# In:  the releases that scripts/fetch_cupti.py brought (FLAGPROF_CUPTI_DIR, else build/cupti); those absent are skipped
#      with that reason. FLAGPROF_ALL_RELEASES=1 (make test-layouts) asks for all sixteen, and then absence is a failure.
# Libraries are opened and asked for symbols; of those to 13.1, which bear it without a driver, the iterator is run too.

import os
import pathlib
import re
import subprocess
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "tests" / "layouts"), str(TREE / "scripts")]
import check_layouts  # noqa: E402
import fetch_cupti  # noqa: E402

ALL = os.environ.get("FLAGPROF_ALL_RELEASES") == "1"
RELEASES = fetch_cupti.RELEASES if ALL else ("11.8.87", "12.1.105", "12.4.127", "12.8.90", "13.0.85", "13.5.25")
MIRROR = (TREE / "src" / "tracers" / "cupti_abi.h").read_text()

# The columns of fp_cupti_releases, as the header names the records, without the version number behind.
SHAPES = (
    "Kernel", "Memcpy", "MemcpyPtoP", "Memset", "API", "ExternalCorrelation", "Overhead", "Synchronization",
    "GraphTrace", "Context", "Device", "CudaEvent", "Memory",
)  # fmt: skip


def numbers(release):
    return [int(part) for part in release.split(".")]


def folder_of(release):
    folder = fetch_cupti.folder() / release
    if not folder.is_dir():
        if ALL:
            pytest.fail(f"{folder} is missing: run scripts/fetch_cupti.py --all")
        pytest.skip(f"{folder} is missing: run scripts/fetch_cupti.py")
    return folder


def includes_of(release):
    return [folder_of(release) / "include", folder_of("cuda-h") / "include"]


def compiled(source, binary, *arguments):
    command = [os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", *arguments, "-o", str(binary), str(source)]
    subprocess.run([*command, "-ldl"], check=True, timeout=120)
    return binary


@pytest.fixture(scope="module")
def library_tool(tmp_path_factory):
    binary = tmp_path_factory.mktemp("library") / "cupti_library"
    return compiled(TREE / "tests" / "layouts" / "cupti_library.c", binary, f"-I{TREE / 'src'}")


@pytest.fixture(scope="module")
def reports():
    return {}


def report_of(reports, release):
    if release not in reports:
        reports[release] = check_layouts.check("nvidia", includes_of(release))
    return reports[release]


@pytest.mark.parametrize("release", RELEASES)
def test_every_field_number_and_prototype_agrees_with_the_real_header(release, reports):
    assert report_of(reports, release).differing == []


def test_every_line_of_the_definition_was_judged_by_some_release(reports):
    judged = {what for release in RELEASES for what in report_of(reports, release).agreed}
    absent = {what for release in RELEASES for what in report_of(reports, release).absent}
    # Named by no release with that struct version; later versions of the struct name it.
    padding = {"CUpti_ActivityMemcpy5.isDeviceLaunched"}
    assert absent - judged - padding == set()


def test_every_member_of_the_mirror_is_compared():
    compared = check_layouts.Definition("nvidia").fields
    records = dict(re.findall(r"^FP_CUPTI_RECORD (\w+) \{(.*?)^\};", MIRROR, re.M | re.S))
    assert len(records) >= 10
    for record, body in records.items():
        members = set(re.findall(r"^    \w+ (\w+)(?:\[\d+\])?;", body, re.M))
        uncompared = {name for name in members - compared[record] if "pad" not in name}
        assert uncompared == set(), f"{record}: add {uncompared} to nvidia.def"


# sizeof of the newest CUpti_Activity<shape><number> that the header declares.
def newest_sizes(release, work):
    include = folder_of(release) / "include"
    text = "".join(path.read_text() for path in include.glob("cupti_activity*.h"))
    lines = ["#include <stdio.h>"]
    lines += [f"#include <{name}>" for name in check_layouts.Definition("nvidia").includes]
    lines += ["int main(void) {", '    printf("%d", CUPTI_API_VERSION);']
    for shape in SHAPES:
        numbers = [int(number or 1) for number in re.findall(rf"}} CUpti_Activity{shape}(\d*);", text)]
        newest = f"CUpti_Activity{shape}{max(numbers) if max(numbers) > 1 else ''}"
        lines += [f'    printf(" %zu", sizeof({newest}));']
    (work / "sizes.c").write_text("\n".join([*lines, "    return 0;", "}"]))
    binary = compiled(work / "sizes.c", work / "sizes", "-w", *(f"-I{path}" for path in includes_of(release)))
    return subprocess.run([str(binary)], capture_output=True, text=True, check=True, timeout=60).stdout.strip()


@pytest.mark.parametrize("release", RELEASES)
def test_the_size_table_has_the_row_of_this_release(release, tmp_path, library_tool):
    table = subprocess.run([str(library_tool)], capture_output=True, text=True, check=True, timeout=60).stdout
    assert newest_sizes(release, tmp_path) in table.splitlines()


def library_of(release):
    (library,) = (folder_of(release) / "lib").glob("libcupti.so.*")
    return library


# Without a driver 13.2 dies of any call, and 13.3 and later refuse it.
@pytest.mark.parametrize("release", [name for name in RELEASES if numbers(name) < [13, 2]])
def test_the_real_iterator_steps_by_the_sizes_in_the_table(release, library_tool):
    command = [str(library_tool), "probe", str(library_of(release))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    table = subprocess.run([str(library_tool)], capture_output=True, text=True, check=True, timeout=60).stdout
    assert done.stdout.strip() in table.splitlines()


@pytest.mark.parametrize("release", RELEASES)
def test_the_real_library_has_every_function_that_the_tracer_binds(release, library_tool):
    done = subprocess.run([str(library_tool), str(library_of(release))], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    per_call = ["optional cuptiActivityEnableRuntimeApi", "optional cuptiActivityEnableDriverApi"]
    assert done.stdout.splitlines() == (per_call if numbers(release) < [12, 5] else [])


def test_a_field_that_moved_is_reported_with_both_offsets(tmp_path):
    folder = tmp_path / "include"
    folder.mkdir()
    moved = 0
    for path in (folder_of("13.0.85") / "include").glob("*.h"):
        text = path.read_text()
        changed = re.sub(r"(uint32_t runtimeCorrelationId;)", r"uint64_t inserted; \1", text)
        moved += changed != text
        (folder / path.name).write_text(changed)
    for name in ("Openacc", "Openmp"):
        (folder / name).symlink_to(folder_of("13.0.85") / "include" / name)
    assert moved > 0
    report = check_layouts.check("nvidia", [folder, folder_of("cuda-h") / "include"])
    assert "CUpti_ActivityMemcpy6.graphNodeId: mirror offset 64 size 8, header offset 72 size 8" in report.differing


def test_a_header_of_an_installed_toolkit_never_answers_instead_of_the_given_ones(tmp_path, monkeypatch):
    (tmp_path / "cuda.h").write_text('#error "the toolkit of this machine was read"\n')
    monkeypatch.setenv("C_INCLUDE_PATH", str(tmp_path))
    monkeypatch.setenv("CPATH", str(tmp_path))
    with pytest.raises(check_layouts.LayoutError, match="cuda.h: No such file"):
        check_layouts.check("nvidia", [folder_of("13.0.85") / "include"])


def test_a_vendor_header_outside_the_given_folders_is_refused(tmp_path):
    definition = check_layouts.Definition("nvidia")
    stray = tmp_path / "cuda-99" / "cuda.h"
    stray.parent.mkdir()
    stray.write_text("")
    with pytest.raises(check_layouts.LayoutError, match="none of the given folders"):
        check_layouts.refuse_foreign(definition, [tmp_path / "given"], f"layouts: \\\n {stray}\n")
    check_layouts.refuse_foreign(definition, [stray.parent], f"layouts: {stray}\n")
