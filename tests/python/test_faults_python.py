# test_faults_python.py - whatever happens around a recording, the program is never worse off than with torch alone.
#
# Each script runs twice on the simulated device: with FlagProf, and as a control with torch alone on the same build. What
# stock torch itself dies of is written beside the test; where FlagProf can cure it, the program's own status stands.

import json
import re
import struct
import sys

import pytest
from echo_accelerator import PREAMBLE, adaptor_cache, answer, said  # noqa: F401
from forked import run_forked, run_in_child
from simulated import device_environment  # noqa: F401

SETUP = """
import sys, os, time, signal, threading
FLAGPROF = {flagprof}
if FLAGPROF:
    import flagprof
import torch, flagos
from torch.profiler import ProfilerActivity as A, profile, schedule
BOTH = [A.CPU, A.PrivateUse1]
x = torch.ones(16, device="flagos")
"""


@pytest.fixture
def pair(run_torch, device_environment, tmp_path):  # noqa: F811
    """pair(SCRIPT): (with FlagProf, control), both Done. `own`: in processes of their own, for what is about their ends."""

    def call(script, env=None, timeout=120, control=True, own=False):
        both = []
        for flagprof in (True, False)[: 2 if control else 1]:
            path = tmp_path / f"flagprof_{flagprof}.py"
            path.write_text(PREAMBLE + SETUP.replace("{flagprof}", str(flagprof)) + script)
            start = run_torch if own else run_in_child
            both.append(start(path, env={**device_environment, **(env or {})}, timeout=timeout, cwd=tmp_path))
        return both if control else both[0]

    return call


# ---- Ends of a program


def test_a_program_that_exits_while_recording_ends_with_its_own_status(pair):
    ours, control = pair("prof = profile(activities=BOTH); prof.start(); x + 1; sys.exit(3)", own=True)
    assert ours.returncode == 3, ours
    assert control.returncode in (3, -11), "stock torch dies by SIGSEGV here"


def test_a_program_that_exits_in_the_warm_up_ends_as_without_flagprof(pair):
    ours, control = pair(
        "prof = profile(activities=BOTH, schedule=schedule(wait=0, warmup=2, active=1)); prof.start(); x + 1; sys.exit(3)",
        own=True,
    )
    assert ours.returncode == 3 or ours.returncode == control.returncode, (ours, control)


def test_sigterm_while_recording_ends_the_program_by_sigterm(pair):
    ours, control = pair("prof = profile(activities=BOTH); prof.start(); x + 1; os.kill(os.getpid(), signal.SIGTERM)", own=True)
    assert ours.returncode == control.returncode == -15, (ours, control)


def test_an_exception_inside_a_profile_stays_the_programs_own(pair):
    ours, control = pair(
        """
try:
    with profile(activities=BOTH) as prof:
        x + 1
        raise KeyError("mine")
except KeyError as error:
    print(json.dumps([str(error), len([e for e in prof.events()]) > 0]))
"""
    )
    assert answer(ours) == answer(control) == ["'mine'", True]


# A child's status; "hangs" where it is still there after so many seconds, which only a control has, after its first profile.
FORK = """
def fork(limit_s=60 if FLAGPROF else 5):
    pid = os.fork()
    if pid == 0:
        sys.exit(3)
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hangs"
def body(moment):
    x + 1
    if moment == "inside":
        found["inside"] = fork()
found = {"before": fork(60)}
with profile(activities=BOTH) as prof:
    body("")
found["after"] = fork()
with profile(activities=BOTH) as prof:
    body("inside")
found["recorded"] = any(event.name == "aten::add" for event in prof.events())
print(json.dumps(found))
"""


def test_a_forked_child_exits_with_its_own_status_and_its_parent_records_on(pair):
    ours, control = (answer(done) for done in pair(FORK, own=True))
    # In a recording the child's own `with` ends in the child, where the simulated device refuses, as CUDA does.
    assert control["before"] == 3 and control["inside"] in (3, 1, "hangs") and control["after"] in (3, "hangs"), control
    assert ours["before"] == ours["after"] == 3, ours
    assert ours["inside"] == 3 or ours["inside"] == control["inside"] or control["inside"] == "hangs", (ours, control)
    assert ours["inside"] in (3, 1) and ours["recorded"] and control["recorded"], (ours, control)


# ---- Profiles in unusual order


def test_nested_profiles_end_as_torchs_own(pair):
    script = """
try:
    with profile(activities=BOTH) as outer:
        x + 1
        with profile(activities=BOTH) as inner:
            x + 1
        x + 1
    found = [[e.name for e in prof.events() if e.name.startswith("aten::")] for prof in (outer, inner)]
except Exception as error:
    found = type(error).__name__
with profile(activities=BOTH) as after:
    x + 1
print(json.dumps([found, [e.name for e in after.events() if e.name.startswith("aten::")]]))
"""
    ours, control = pair(script)
    assert control.returncode == 0 and answer(ours) == answer(control), (ours, control)
    assert "aten::add" in answer(ours)[1], "the profile that follows is whole"


def test_start_twice_and_stop_without_start_fail_as_in_torch(pair):
    script = """
def outcome(call):
    try:
        call()
        return "ok"
    except BaseException as error:
        return type(error).__name__
found = []
prof = profile(activities=BOTH)
found.append(outcome(prof.stop))
prof = profile(activities=BOTH)
found += [outcome(prof.start), outcome(prof.start), outcome(prof.stop), outcome(prof.stop)]
with profile(activities=BOTH) as last:
    x + 1
found.append(any(e.name == "aten::add" for e in last.events()))
print(json.dumps(found))
"""
    ours, control = pair(script)
    assert control.returncode == 0 and answer(ours) == answer(control), (ours, control)
    assert answer(ours)[-1] is True, "the profile that follows is whole"


def test_an_empty_session_gives_a_whole_file(pair):
    done = pair(
        """
with profile(activities=BOTH) as prof:
    pass
found = trace(prof)
print(json.dumps([found["flagprof_ledger"]["complete"], sum(e.get("cat") == "kernel" for e in found["traceEvents"])]))
""",
        control=False,
    )
    assert answer(done) == [True, 0] and said(done) == []


def test_a_profile_of_the_device_alone_is_recorded(pair):
    done = pair(
        """
with profile(activities=[A.PrivateUse1]) as prof:
    x + 1
print(json.dumps(sum(e.get("cat") == "kernel" for e in trace(prof)["traceEvents"])))
""",
        control=False,
    )
    assert answer(done) == 1


def test_thirty_two_threads_launch_at_once_and_every_launch_keeps_its_operator(pair):
    ours, control = pair(
        """
results = []
def work():
    y = torch.ones(64, device="flagos")
    for turn in range(20):
        y = y + turn
    results.append(y.sum().item())
config = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
with profile(activities=BOTH, experimental_config=config) as prof:
    threads = [threading.Thread(target=work) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
found = trace(prof)
operators = {e["args"]["External id"]: e for e in found["traceEvents"] if e.get("cat") == "cpu_op"}
calls = {e["args"]["correlation"]: e for e in found["traceEvents"] if e.get("cat") == "privateuse1_runtime"}
wrong = 0
kernels = [e for e in found["traceEvents"] if e.get("cat") == "kernel"]
for kernel in kernels:
    call, owner = calls.get(kernel["args"]["correlation"]), operators.get(kernel["args"].get("External id"))
    wrong += call is None or owner is None or call["tid"] != owner["tid"]
print(json.dumps([results, sorted(e["name"] for e in operators.values()), len(kernels) >= 640, wrong,
                  len({e["tid"] for e in calls.values()}) >= 32, found.get("flagprof_ledger", {}).get("complete")]))
"""
    )
    ours, control = answer(ours), answer(control)
    assert ours[:2] == control[:2], "the program's own results, and torch's own operators"
    assert ours[2:] == [True, 0, True, True]


# ---- Vendor libraries that cannot be used


def foreign_elf():
    """A shared library's first bytes as another processor has them."""
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 3, 183 if sys.byteorder == "little" else 62, 1) + bytes(40)


LIBRARIES = {
    "missing": None,
    "no library at all": b"this is text\n",
    "of another processor": foreign_elf(),
    "cut off": b"\x7fELF\x02\x01\x01",
    "without the symbols": "libm.so.6",
}


UNUSABLE = """
if {flagprof}:
    import flagprof
import torch
for turn in range(2):
    prof = record(lambda: torch.ones(3))
print(json.dumps([sum(e.key == "aten::ones" for e in prof.key_averages()), torch._C._get_privateuse1_backend_name(),
                  sorted(e["name"] for e in trace(prof)["traceEvents"] if e.get("cat") == "cpu_op")]))
"""


@pytest.fixture(scope="module")
def unusable(torch_version, device_environment, tmp_path_factory):  # noqa: F811
    """A program for each library that cannot be used, and the control without FlagProf."""
    folder = tmp_path_factory.mktemp("unusable")
    cases = {"control": ({}, PREAMBLE + UNUSABLE.replace("{flagprof}", "False"))}
    for at, (what, contents) in enumerate(LIBRARIES.items()):
        path = folder / f"libcupti.so.{at}"
        if isinstance(contents, str):
            path = contents
        elif contents is not None:
            path.write_bytes(contents)
        environment = {"FLAGOS_TRACER_LIBRARY": path, "FLAGOS_ACCELERATOR": "cuda"}
        cases[what] = (environment, PREAMBLE + UNUSABLE.replace("{flagprof}", "True"))
    return run_forked(cases, folder, device_environment)


@pytest.mark.parametrize("what", LIBRARIES)
def test_a_vendor_library_that_cannot_be_used_costs_nothing_and_its_reason_is_said_once(unusable, what):
    done = unusable[what]
    assert answer(done) == answer(unusable["control"])
    lines = [line for line in said(done) if "building" not in line]
    assert len(lines) == 1 and "no usable accelerator" in lines[0], lines
    assert said(unusable["control"]) == []


# ---- Vendor libraries that misbehave: the ledger against what the simulator knows that it did

DEVICE_KINDS = (("kernel", "kernel"), ("copy", "memcpy"), ("set", "memset"))
FAULTS = """
import ctypes
from flagos import _native
def faults(text):
    assert _native.simulator.flagsim_faults_set(text.encode() if text else None) == 0, text
def body():
    for turn in range(6):
        y = torch.ones(32, device="flagos") * turn
        y = (y + y).relu()
    return y.sum().item()
def session(text):
    print(f"session {len(sessions)}", file=sys.stderr, flush=True)
    faults(text)
    flagos.reset_simulator_counts()
    with profile(activities=BOTH) as prof:
        value = body()
    truth = flagos.simulator_counts()
    path = f"{len(sessions)}.json"
    found = trace(prof, path)
    os.unlink(path)
    starts, finishes = ([e["id"] for e in found["traceEvents"] if e.get("cat") == "ac2g" and e["ph"] == half]
                        for half in "sf")
    sessions[text] = {"value": value, "truth": truth, "ledger": found["flagprof_ledger"], "last": flagprof.last_ledger(),
                      "starts": sorted(starts), "finishes": sorted(set(finishes)),
                      "lone": len(set(starts) ^ set(finishes)), "twice": len(starts) - len(set(starts)),
                      "names": sorted({e["name"] for e in found["traceEvents"] if e.get("cat") == "kernel"}),
                      "kernels": sum(e.get("cat") == "kernel" for e in found["traceEvents"])}
sessions = {}
"""
NAMES = (
    "", "late_buffers", "tiny_buffers", "drop_records", "lose_records", "out_of_order", "late_correlation", "timing_zero",
    "end_before_start", "end_zero", "too_long", "clock_domain", "unknown_kind", "name_null", "name_8k", "name_dirty",
    "flush_completion_thread", "hang_flush=50", "push_fails", "other_subscriber", "nested_driver_call", "nested_own_id",
    "tiny_buffers,late_correlation,out_of_order,late_buffers", "",
)  # fmt: skip
# Its records end in the middle of a buffer, and nobody can say how many were behind.
CUT = "broken_record"


@pytest.fixture(scope="module")
def sessions(device_environment, tmp_path_factory):  # noqa: F811
    """What each fault did: one process, one session a fault."""
    folder = tmp_path_factory.mktemp("faults")
    script = PREAMBLE + SETUP.replace("{flagprof}", "True") + FAULTS + f"for text in {(CUT, *NAMES)!r}: session(text)\n"
    (folder / "script.py").write_text(script + "print(json.dumps(sessions))\n")
    done = run_in_child(folder / "script.py", env=device_environment, cwd=folder, timeout=240)
    found = answer(done)
    told = re.split(r"^session \d+$", done.stderr, flags=re.MULTILINE)[1:]
    for text, lines in zip((CUT, *NAMES), told):
        found[text]["told"] = [line for line in lines.splitlines() if line.startswith("flagprof")]
    return found


# The reasons of the ledger, each with the fates of the simulator's records that make it.
REASONS = {"no_timing": ("no_timing",), "malformed": ("end_before_start", "no_end", "too_long")}


def expected_rows(truth):
    """What each row of the ledger must say, from what became of the simulator's records."""
    fates = truth["records"]
    rows = {}
    for theirs, ours in DEVICE_KINDS:
        row = {reason: sum(fates[fate][theirs] for fate in names) for reason, names in REASONS.items()}
        whole = fates["delivered"][theirs] - sum(row.values())
        rows[ours] = {**row, "seen": whole, "kept": whole, "outside_window": 0, "device_work_without_launch": 0}
    gone = {
        ours: sum(fates[fate][theirs] for fate in ("dropped", "lost")) + sum(rows[ours][reason] for reason in REASONS)
        for theirs, ours in DEVICE_KINDS
    }
    calls = fates["delivered"]["runtime"]
    # A copy or set of 0 bytes leaves no record either, so that one without a record proves nothing.
    rows["runtime"] = {"seen": calls, "kept": calls, "launches_without_device_work": gone.pop("kernel")}
    rows["runtime"]["moves_without_device_work"] = sum(gone.values())
    rows["overhead"] = {"seen": fates["delivered"]["overhead"]}
    return rows


@pytest.mark.parametrize("fault", NAMES[:-1], ids=lambda text: text or "none")
def test_under_a_fault_the_program_is_right_and_the_ledger_is_true(sessions, fault):
    found = sessions[fault]
    truth, ledger = found["truth"], found["ledger"]
    assert found["value"] == sessions[""]["value"], "the program's own result"
    assert found["lone"] == 0 and found["twice"] == 0, "arrows are whole"
    rows = expected_rows(truth)
    for kind, expected in rows.items():
        row = ledger["kinds"].get(kind, {})
        assert {key: row.get(key, 0) for key in expected} == expected, (fault, kind)
    # The vendor's count of dropped records is of all kinds together.
    dropped = sum(row["dropped"] for row in ledger["kinds"].values())
    assert dropped == sum(truth["records"]["dropped"].values()), (fault, ledger)
    unknown = ledger["kinds"].get("unknown", {}).get("unknown_kind", 0)
    assert unknown == sum(truth["records"]["foreign"].values()), (fault, ledger)
    assert ledger["failed_pushes"] == truth["failed_pushes"], fault
    assert ledger["correlations"] == truth["records"]["delivered"]["external"], fault
    assert ledger["launches_seen"] == truth["kernels"] + truth["copies"] + truth["sets"], fault
    unusable = sum(rows[ours][reason] for _, ours in DEVICE_KINDS for reason in REASONS)
    launches = rows["runtime"]["launches_without_device_work"]
    nothing_missing = not (unknown + dropped + unusable + launches + truth["failed_pushes"])
    assert ledger["complete"] == nothing_missing, (fault, ledger)
    assert found["kernels"] == rows["kernel"]["kept"], fault


def test_a_record_that_ends_its_buffer_costs_what_is_behind_it_and_the_ledger_says_that_nobody_can_count_it(sessions):
    found = sessions[CUT]
    fates, kinds = found["truth"]["records"], found["ledger"]["kinds"]
    assert found["value"] == sessions[""]["value"] and found["lone"] == found["twice"] == 0
    assert sum(fates["unreachable"].values()) > 0 and not found["ledger"]["complete"]
    for theirs, ours in (*DEVICE_KINDS, ("runtime", "runtime"), ("overhead", "overhead")):
        assert kinds.get(ours, {}).get("seen", 0) == fates["delivered"][theirs], ours
    assert found["kernels"] == fates["delivered"]["kernel"]
    assert (kinds["unknown"]["malformed"], kinds["unknown"]["uncounted"]) == (1, 1)


# What the sentence calls missing, from the JSON of the same ledger.
def missing(ledger):
    reasons = ("dropped", "no_timing", "malformed", "unknown_kind", "uncounted", "no_memory",
               "device_work_without_launch", "launches_without_device_work")  # fmt: skip
    counts = [row.get(reason, 0) for row in ledger["kinds"].values() for reason in reasons]
    pushes, pops = ledger["failed_pushes"], ledger["failed_pops"]
    return sorted([count for count in counts if count] + ([pushes, pops] if pushes + pops else []))


@pytest.mark.parametrize("fault", (CUT, *NAMES[:-1]), ids=lambda text: text or "none")
def test_file_call_and_line_tell_the_same_ledger(sessions, fault):
    found = sessions[fault]
    ledger = found["ledger"]
    assert found["last"] == ledger, "flagprof.last_ledger() against the file"
    assert len(found["told"]) == (0 if ledger["complete"] else 1), found["told"]
    for line in found["told"]:
        recorded, lost = line.split("MISSING:")
        kernels = re.fullmatch(r"flagprof: recorded (\d+) kernels?, (\d+) (copy|copies), .*", recorded)
        kinds = ledger["kinds"]
        assert (int(kernels[1]), int(kernels[2])) == (kinds["kernel"]["kept"], kinds["memcpy"]["kept"])
        assert f"{ledger['linked']} of {ledger['linkable']} linked to an operator" in recorded
        assert sorted(map(int, re.findall(r"\d+", lost))) == missing(ledger), line


def test_names_that_are_null_long_or_dirty_are_shown_safely(sessions):
    assert "unnamed kernel" in sessions["name_null"]["names"]
    assert any(len(name) > 1000 for name in sessions["name_8k"]["names"])
    assert not any(set(name) & set('"\\') for name in sessions["name_dirty"]["names"])


# ---- Many sessions


def test_after_a_thousand_sessions_flagprof_holds_what_it_held_after_the_first(pair, tree):
    counter = tree.build / "echo" / "libcount_allocations.so"
    if tree.installed or not counter.exists():
        pytest.skip(f"no {counter}: it is built with the tests and never installed")
    script = """
import ctypes, gc
counter = ctypes.CDLL(None)
for name in ("counted_blocks", "counted_bytes"):
    getattr(counter, name).restype = ctypes.c_int64
counter.count_library.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
def one():
    with profile(activities=BOTH) as prof:
        x + 1
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
def count_ours():
    for line in open("/proc/self/maps"):
        if "libflagprof" in line or "adaptor.so" in line:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            counter.count_library(start, end)
def level():
    gc.collect()
    return [counter.counted_blocks(), counter.counted_bytes(), len(os.listdir("/proc/self/task"))]
for turn in range(2):
    one()
count_ours()
one()
first, memory = level(), rss()
for turn in range(1000):
    one()
print(json.dumps([first, level(), rss() - memory]))
"""
    ours, control = pair(script, env={"LD_PRELOAD": counter}, timeout=400, own=True)
    first, last, growth = answer(ours)
    _, _, torchs = answer(control)
    assert last == first, f"blocks, bytes and threads: {first} after the first session, {last} after a thousand"
    assert growth - torchs < 8 << 20, f"RSS grew by {growth} bytes, by {torchs} without FlagProf"
