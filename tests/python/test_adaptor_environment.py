# test_adaptor_environment.py - what the environment asks of a recording, and what is said to the person: end to end.
#
# In:  small programs on the simulated device, or with NVIDIA's own library and no GPU. Out: their traces and every line that
#      FlagProf wrote. All of them are children of one process (forked.py).

import json
import pathlib
import re
import shutil

import pytest
from echo_accelerator import PREAMBLE, adaptor_cache, answer, said  # noqa: F401
from forked import run_forked
from simulated import DEVICE, device_environment  # noqa: F401

RELEASES = ("13.0.85", "13.2.86", "13.5.25")

ONCE = """
import torch, flagos, flagprof
x = torch.ones(16, device="flagos")
prof = record(lambda: x + 1)
found = trace(prof)
print(json.dumps([sum(e.get("cat") == "kernel" for e in found["traceEvents"]), found.get("flagprof_notes"),
                  flagprof.accelerator()["kinds"], flagprof.last_ledger()]))
"""

# One call each of what Kineto leaves out, which the backend itself makes at other times.
CALLS = """
import ctypes, torch, flagos, flagprof
x = torch.ones(16, device="flagos")
simulator = flagos._native.simulator
def body():
    number, event = ctypes.c_int(), ctypes.c_void_p()
    simulator.flagsim_get_device(ctypes.byref(number))
    simulator.flagsim_set_device(number)
    simulator.flagsim_get_last_error()
    simulator.flagsim_event_create(ctypes.byref(event))
    simulator.flagsim_event_destroy(event)
    x + 1
    flagos.synchronize()
found = trace(record(body))
print(json.dumps(sorted({e["name"] for e in found["traceEvents"] if e.get("cat") == "privateuse1_runtime"})))
"""

PREPARED = ONCE.replace("x = torch.ones", "flagprof.prepare()\nx = torch.ones")

WORDS = """
import flagprof
from flagprof import _core
def switch(word):
    os.environ["FLAGOS_TEST_SWITCH"] = word
    return _core.switch("FLAGOS_TEST_SWITCH")
print(json.dumps({word: switch(word) for word in sys.argv_words}))
"""
ON, OFF = ("1", "true", "on", "yes", "TRUE", "On", "yEs"), ("0", "false", "off", "no", "FALSE", "Off", "nO", "")

LATE_BACKEND = """
import flagprof, torch
record(lambda: torch.ones(3))
before = torch._C._get_privateuse1_backend_name()
import flagos
x = torch.ones(16, device="flagos")
prof = record(lambda: x + 1)
print(json.dumps([before, torch._C._get_privateuse1_backend_name(), torch.flagos is flagos._device,
                  sum("flagos::add" in e.name for e in prof.events())]))
"""

NO_GPU = """
import flagprof, torch
for turn in range(2):
    prof = record(lambda: torch.ones(3))
print(json.dumps([sum(e.key == "aten::ones" for e in prof.key_averages()), flagprof.last_ledger(),
                  torch._C._get_privateuse1_backend_name()]))
"""

CASES = {
    "story": ({"FLAGOS_TRACE": "yEs"}, ONCE + "record(lambda: torch.ones(3), activities=[torch.profiler.ProfilerActivity.CPU])\n"),
    "silent": ({"FLAGOS_TRACE": "OFF"}, ONCE),
    "bad word": ({"FLAGOS_TRACE": "maybe"}, ONCE),
    "words": ({}, WORDS.replace("sys.argv_words", repr([*ON, *OFF]))),
    "some calls": ({}, CALLS),
    "all calls": ({"FLAGOS_TRACE_ALL_CALLS": "1"}, CALLS),
    "late registration": ({"FLAGOS_SIM_FAULTS": "late_registration"}, ONCE),
    "prepared": ({"FLAGOS_SIM_FAULTS": "late_registration"}, PREPARED),
    "late backend": ({}, LATE_BACKEND),
}


def no_driver():
    return not shutil.which("nvidia-smi") and not pathlib.Path("/proc/driver/nvidia").exists()


def libraries(folder):
    found = {release: folder / release / "lib" / f"libcupti.so.{release.split('.')[0]}" for release in RELEASES}
    return {release: path for release, path in found.items() if path.exists()}


@pytest.fixture(scope="module")
def runs(device_environment, tmp_path_factory, request):  # noqa: F811
    if DEVICE != "flagos":
        pytest.skip("these programs are for the simulated device")
    cases = dict(CASES)
    if no_driver():
        for release, path in libraries(cupti_folder()).items():
            cases[release] = ({"FLAGOS_TRACER_LIBRARY": path, "FLAGOS_ACCELERATOR": "cuda"}, NO_GPU)
    cases = {name: (environment, PREAMBLE + script) for name, (environment, script) in cases.items()}
    return run_forked(cases, tmp_path_factory.mktemp("environment"), device_environment)


def cupti_folder():
    import os

    from conftest import ROOT

    return pathlib.Path(os.environ.get("FLAGPROF_CUPTI_DIR", ROOT / "build" / "cupti"))


def lines(done):
    """FlagProf's own lines, but for that of a library being built."""
    return [line for line in done.stderr.splitlines() if line.startswith("flagprof") and "building" not in line]


# ---- FLAGOS_TRACE

STORY = {
    "registration": r"kineto: registered with torch \d",
    "configure of a profile of the device": r"kineto: configure: \d+ activity types, for our device",
    "configure of a profile of the CPU": r"kineto: configure: \d+ activity types, not a profile of our device",
    "the accelerator": r"accelerator: cuda \(cupti\): usable",
    "library and version": r"cupti: bound \S+libcupti\.so\.13, API version 1300\d\d",
    "callback registration": r"cupti: registering the buffer callbacks: ok",
    "start": r"recording: start on cuda: armed",
    "a buffer requested": r"cupti: buffer 0x[0-9a-f]+ requested, [1-9]\d* bytes",
    "a buffer completed": r"cupti: buffer 0x[0-9a-f]+ completed, [1-9]\d* bytes",
    "a record": r"cupti: record of kind 10, [1-9]\d* bytes to the next",
    "drained": r"cupti: drained [1-9]\d* buffers",
    "drained at stop": r"recording: stop: [1-9]\d* records drained, ok",
    "window": r"recording: window \[\d+, \d+\]: [1-9]\d* kept, \d+ discarded, [1-9]\d* linked of [1-9]\d* candidates",
    "hand-over": r"kineto: window \[\d+, \d+\]: [1-9]\d* activities handed over in \d+ ns, [1-9]\d* of them linked",
}


@pytest.mark.parametrize("what", STORY)
def test_flagos_trace_tells(runs, what):
    told = [line for line in lines(runs["story"]) if re.match("flagprof trace: " + STORY[what], line)]
    assert told, runs["story"]


def test_flagos_trace_tells_of_each_kind_that_is_enabled_and_switched_off(runs):
    kinds = answer(runs["story"])[2]
    assert "CONCURRENT_KERNEL" in kinds and "RUNTIME" in kinds
    for kind in kinds:
        for word in ("enabling", "disabling"):
            assert f"flagprof trace: cupti: {word} {kind}: ok" in lines(runs["story"]), (word, kind)


def test_the_storys_figures_are_the_ledgers(runs):
    ledger = answer(runs["story"])[3]
    seen, kept = (sum(row[key] for row in ledger["kinds"].values()) for key in ("seen", "kept"))
    told = re.search(r"(\d+) kept, (\d+) discarded, (\d+) linked of (\d+) candidates", runs["story"].stderr)
    assert list(map(int, told.groups())) == [kept, seen - kept, ledger["linked"], ledger["linkable"]]


def test_without_flagos_trace_a_complete_recording_says_nothing(runs):
    for name in ("silent", "some calls", "all calls", "prepared"):
        runs[name].ok()
        assert lines(runs[name]) == [], name


def test_a_bad_word_is_said_once_and_reads_as_off(runs):
    runs["bad word"].ok()
    assert len(lines(runs["bad word"])) == 1 and "FLAGOS_TRACE=maybe is not one of 1, true" in lines(runs["bad word"])[0]


def test_a_switchs_words_are_understood_in_any_case(runs):
    assert answer(runs["words"]) == {**dict.fromkeys(ON, True), **dict.fromkeys(OFF, False)}
    assert lines(runs["words"]) == []


# ---- FLAGOS_TRACE_ALL_CALLS

LEFT_OUT = {"cudaGetDevice", "cudaSetDevice", "cudaGetLastError", "cudaEventCreate", "cudaEventCreateWithFlags",
            "cudaEventDestroy"}  # fmt: skip


def test_by_default_the_calls_are_torch_cudas_and_all_of_them_when_asked(runs):
    some, every = set(answer(runs["some calls"])), set(answer(runs["all calls"]))
    assert {"cudaLaunchKernel", "cudaDeviceSynchronize"} <= some
    assert not some & LEFT_OUT
    more = every - some
    assert more <= LEFT_OUT and some <= every
    assert {"cudaGetDevice", "cudaSetDevice", "cudaGetLastError", "cudaEventDestroy"} <= more
    assert more & {"cudaEventCreate", "cudaEventCreateWithFlags"}


# ---- flagprof.prepare()


def test_a_driver_that_delivers_nothing_to_latecomers_is_noticed_and_the_cure_named(runs):
    kernels, notes, _, _ = answer(runs["late registration"])
    assert kernels == 0 and "flagprof.prepare()" in notes, notes


def test_prepare_is_that_cure(runs):
    kernels, notes, _, ledger = answer(runs["prepared"])
    assert kernels == 1 and notes is None and ledger["complete"]


# ---- A backend imported late


def test_a_backend_that_comes_after_a_first_profile_names_itself_and_is_recorded(runs):
    assert answer(runs["late backend"]) == ["privateuseone", "flagos", True, 1]
    assert len(lines(runs["late backend"])) == 1 and "no usable accelerator" in lines(runs["late backend"])[0]


# ---- NVIDIA's own library on a machine without a GPU


@pytest.mark.skipif(not no_driver(), reason="this machine has an NVIDIA driver")
@pytest.mark.parametrize("release", RELEASES)
def test_with_nvidias_library_and_no_gpu_the_program_runs_on_and_is_told_once(runs, release):
    if release not in runs:
        pytest.skip(f"CUPTI {release} was not fetched; scripts/fetch_cupti.py does")
    operators, ledger, name = answer(runs[release])
    assert (operators, name, list(ledger)) == (1, "privateuseone", ["not_recorded"]), runs[release]
    assert len(lines(runs[release])) == 1, runs[release]
    assert "no usable accelerator" in lines(runs[release])[0] and "driver" in lines(runs[release])[0]
