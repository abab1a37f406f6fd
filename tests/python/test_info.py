# test_info.py - `flagprof info` tells the truth about this machine, and about libraries that it cannot use.

import json
import os
import pathlib
import re
import shutil

import pytest

RELEASES = ("13.0.85", "13.2.86", "13.5.25")


@pytest.fixture
def info(run_cli, tmp_path):
    def call(*arguments, **env):
        found = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path), **env}
        done = run_cli("info", "--json", *arguments, env=found)
        return done, json.loads(done.stdout)

    return call


@pytest.fixture
def facade(tree):
    libraries = sorted(tree.build.glob("sim/cupti-13.0/libcupti.so.13"))
    if not libraries:
        pytest.skip("no CUPTI facade is built (scripts/fetch_cupti.py brings the headers that it needs)")
    return libraries[0]


def no_driver():
    return not shutil.which("nvidia-smi") and not pathlib.Path("/proc/driver/nvidia").exists()


def row(answer, accelerator="cuda"):
    return next(row for row in answer["accelerators"] if row["accelerator"] == accelerator)


@pytest.mark.skipif(not no_driver(), reason="this machine has an NVIDIA driver")
def test_without_a_driver_every_row_has_its_reason_and_the_status_says_so(info):
    done, answer = info()
    assert done.returncode == 1
    assert answer["used"] == "none"
    assert all(row["state"] == "refused" and row["reason"] for row in answer["accelerators"])
    assert "driver" in row(answer)["reason"]


@pytest.mark.skipif(not no_driver(), reason="this machine has an NVIDIA driver")
@pytest.mark.parametrize("release", RELEASES)
def test_nvidias_own_library_without_a_driver_is_refused_and_does_no_harm(info, cupti_dir, release):
    library = cupti_dir / release / "lib" / f"libcupti.so.{release.split('.')[0]}"
    if not library.exists():
        pytest.skip(f"CUPTI {release} was not fetched")
    done, answer = info(FLAGOS_TRACER_LIBRARY=str(library))
    assert done.returncode == 1
    assert "driver" in row(answer)["reason"] and str(library) in row(answer)["reason"]


def test_a_library_that_is_not_there_is_named(info):
    done, answer = info(FLAGOS_TRACER_LIBRARY="/nowhere/libcupti.so.13", FLAGOS_ACCELERATOR="cuda")
    assert done.returncode == 1
    assert "/nowhere/libcupti.so.13" in row(answer)["reason"]


def test_the_simulated_accelerator_is_shown_as_what_it_is(info, facade):
    done, answer = info(FLAGOS_TRACER_LIBRARY=str(facade))
    assert done.returncode == 0
    assert answer["used"] == "cuda"
    assert answer["simulated"]
    assert answer["library"] == str(facade)
    assert answer["library_version"].startswith("13.0 (API 1300")
    assert {"CONCURRENT_KERNEL", "MEMCPY", "MEMSET", "RUNTIME"} <= {row["kind"] for row in answer["kinds"]}
    assert [device["ordinal"] for device in answer["devices"]] == [0, 1]
    assert all(device["memory_bytes"] > 0 and device["multiprocessors"] > 0 for device in answer["devices"])


def test_an_unknown_accelerator_is_said_with_the_names_that_are_known(info):
    done, answer = info(FLAGOS_ACCELERATOR="abacus")
    assert done.returncode == 1
    assert any("abacus" in note and "cuda" in note for note in answer["notes"])
    for said, meant in (("nvidia", "cuda"), ("CUDA", "cuda"), ("npu", "ascend"), ("rocm", "dcu")):
        _, answer = info(FLAGOS_ACCELERATOR=said)
        assert any(f"{said} is refused: set FLAGOS_ACCELERATOR={meant}: " in note for note in answer["notes"]), said


def test_adaptors_that_are_built_are_listed_and_unfinished_ones_are_not(info, tmp_path):
    for name, whole in (("2.13.0+cpu-abc-cxx11abi1-cp311-x", True), ("2.11.0-def-cxx11abi1-cp312-y", False)):
        folder = tmp_path / "cache" / "flagprof" / "adaptors" / name
        folder.mkdir(parents=True)
        if whole:
            (folder / "adaptor.so").write_bytes(b"")
    _, answer = info()
    assert [row["torch"] for row in answer["adaptors"]] == ["2.13.0+cpu"]


def test_a_person_reads_how_many_adaptors_there_are_and_where(run_cli, tmp_path):
    folder = tmp_path / "flagprof" / "adaptors"
    for name in ("2.13.0+cpu-abc-x", "2.13.0+cpu-abd-x", "2.11.0-def-y"):
        (folder / name).mkdir(parents=True)
        (folder / name / "adaptor.so").write_bytes(b"")
    shown = " ".join(run_cli("info", env={"XDG_CACHE_HOME": tmp_path, "TMPDIR": tmp_path}).stdout.split())
    assert "1 for torch 2.11.0, 2 for torch 2.13.0+cpu, in " in shown and "adaptor.so" not in shown
    shown = run_cli("info", env={"XDG_CACHE_HOME": tmp_path / "none", "TMPDIR": tmp_path / "none"}).stdout
    assert "No adaptor to torch is built yet" in " ".join(shown.split())


@pytest.mark.skipif(not no_driver(), reason="this machine has an NVIDIA driver")
def test_without_an_accelerator_the_simulated_one_is_named(run_cli):
    assert "import flagos" in run_cli("info", env={"FLAGOS_ACCELERATOR": None, "FLAGOS_TRACER_LIBRARY": None}).stdout


def test_a_person_reads_the_reason_whole(run_cli):
    done = run_cli("info", env={"FLAGOS_TRACER_LIBRARY": "/nowhere/" + "deep/" * 20 + "libcupti.so.13"})
    assert "No such file" in " ".join(done.stdout.split())  # wherever the lines are broken
    assert max(map(len, done.stdout.splitlines())) <= 140


# ---- A refusal tells what to do, whatever is wrong

CURE = re.compile(r"\bset [A-Z_]+|FLAGOS_TRACER_PLUGIN|LD_PRELOAD=|may hide it|variable that hides|driver is missing|not the driver")


@pytest.mark.skipif(not no_driver(), reason="this machine has an NVIDIA driver")
def test_each_refusal_on_a_machine_without_accelerators_tells_what_would_help(info):
    _, answer = info(FLAGOS_TRACER_LIBRARY="", FLAGOS_ACCELERATOR="")
    reasons = {row["accelerator"]: row["reason"] for row in answer["accelerators"]}
    assert "there is no NVIDIA driver" in reasons.pop("cuda")
    assert {name: reason for name, reason in reasons.items() if not CURE.search(reason)} == {}


# The fault, and a word of what is then said beside the cure.
WRONG = {"no_driver": r"driver|reports no device", "no_device": r"no device|does not initialise"}


@pytest.mark.parametrize("fault", WRONG)
def test_a_library_without_driver_or_device_is_refused_with_what_would_help(info, tree, fault):
    rows = json.loads((tree.root / "python" / "flagprof" / "conformance" / "vendors.json").read_text())
    seen = []
    for name, vendor in rows.items():
        libraries = [path for path in (tree.build / "sim" / vendor["facade"]).glob("lib*.so*")
                     if not path.name.startswith(("libamdhip", "libascendcl"))]  # fmt: skip
        if name == vendor["accelerator"] and len(libraries) == 1:
            preload = {"LD_PRELOAD": str(libraries[0].parent / "libamdhip64.so.6")} if name == "dcu" else {}
            _, answer = info(FLAGOS_TRACER_LIBRARY=str(libraries[0]), FLAGOS_ACCELERATOR=name, FLAGOS_SIM_FAULTS=fault, **preload)
            reason = row(answer, name)["reason"]
            assert reason and re.search(WRONG[fault], reason) and CURE.search(reason), (name, reason)
            seen.append(name)
    if not seen:
        pytest.skip("no simulated library is built")


def test_what_is_said_to_help_where_hip_is_not_loaded_does_help(info, tree):
    folder = tree.build / "sim" / "roctracer"
    if not folder.is_dir():
        pytest.skip("the simulated ROCtracer is not built")
    environment = {"FLAGOS_ACCELERATOR": "dcu", "FLAGOS_TRACER_LIBRARY": str(folder / "libroctracer64.so.4")}
    refused = row(info(**environment)[1], "dcu")
    assert refused["state"] == "refused" and "LD_PRELOAD=libamdhip64.so flagprof info" in refused["reason"]
    assert row(info(**environment, LD_PRELOAD=str(folder / "libamdhip64.so.6"))[1], "dcu")["state"] == "used"


def test_it_takes_no_file(run_cli):
    done = run_cli("info", os.devnull)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
