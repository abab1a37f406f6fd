# test_fetch_cupti.py - the script that brings NVIDIA's headers, without a network: what it says then, that what is there
# already is not fetched again, and what it unpacks from wheels of ours that look like NVIDIA's.

import os
import pathlib
import subprocess
import sys
import zipfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "fetch_cupti.py"


def start(folder, *arguments, wheels=""):
    environment = dict(os.environ, FLAGPROF_CUPTI_DIR=str(folder), PIP_NO_INDEX="1", PIP_FIND_LINKS=str(wheels))
    environment["PIP_CONFIG_FILE"] = os.devnull  # a machine's own find-links would bring the real wheels
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    stdout, stderr = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def fetch(folder, *arguments, wheels=""):
    return finish(start(folder, *arguments, wheels=wheels))


def make_wheel(folder, name, version, files):
    stem = f"{name.replace('-', '_')}-{version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{stem}.dist-info/RECORD", "")


def wheels_like_nvidias(folder):
    folder.mkdir()
    cupti = {f"nvidia/cu13/include/{name}": name for name in ("cupti_activity.h", "Openacc/cupti_openacc.h")}
    cupti |= {f"nvidia/cu13/lib/{name}": name for name in ("libcupti.so.13", "libnvperf_host.so", "__init__.py")}
    make_wheel(folder, "nvidia-cuda-cupti", "13.0.85", cupti)
    make_wheel(folder, "nvidia-cuda-runtime", "13.5.37", {"nvidia/cu13/include/cuda.h": "cuda.h"})
    make_wheel(folder, "nvidia-cuda-crt", "13.5.37", {"nvidia/cu13/include/crt/host_defines.h": "crt"})
    return folder


def test_without_an_index_it_fails_in_one_line_that_names_the_package_and_leaves_nothing_half_done(tmp_path):
    done = fetch(tmp_path, "13.0.85")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "nvidia-cuda-" in done.stderr and "network" in done.stderr
    assert [path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock")] == []


def test_what_is_there_is_not_fetched_again(tmp_path):
    for release in ("cuda-h", "13.0.85"):
        (tmp_path / release / "include").mkdir(parents=True)
    done = fetch(tmp_path, "13.0.85")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("there already") == 2


def test_an_unknown_release_is_refused_with_the_list_of_known_ones(tmp_path):
    done = fetch(tmp_path, "13.9.1")
    assert done.returncode != 0 and "13.5.25" in done.stderr


def test_two_at_once_leave_one_whole_copy_of_headers_and_libcupti_alone(tmp_path):
    wheels = wheels_like_nvidias(tmp_path / "wheels")
    both = [start(tmp_path / "cupti", "13.0.85", wheels=wheels) for _ in range(2)]
    for done in [finish(process) for process in both]:
        assert done.returncode == 0, done.stderr
    root = tmp_path / "cupti"
    files = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert {name for name in files if not name.endswith(".lock")} == {
        "cuda-h/include/cuda.h",
        "cuda-h/include/crt/host_defines.h",
        "13.0.85/include/cupti_activity.h",
        "13.0.85/include/Openacc/cupti_openacc.h",
        "13.0.85/lib/libcupti.so.13",
    }
