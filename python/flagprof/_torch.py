# _torch.py - what FlagProf does at the four moments of a profile that _hook wraps.
#
# In:  profiles being made, prepared, started, ended. Out: for those that name PrivateUse1 the device is renamed if it
#      has no name yet, given a guard and a synchronize() if it has none, the adaptor is loaded, and its gate is open while
#      torch prepares. On CUDA nothing is renamed: the profile is made of CUDA. Nothing here raises into the program: what
#      goes wrong is said in one line, and the profile goes on without the device.

import atexit
import contextlib
import json
import os
import weakref

from flagprof import _adaptor, _build, _core, _device
from flagprof._say import say_once

UNNAMED = "privateuseone"
NAME = "flagos"
# Accelerators that are CUDA devices to torch: naming another one leaves torch's own CUDA recording alone.
CUDA_ACCELERATORS = ("cuda", "ppu")


class _State:
    adaptor = None  # loaded and registered
    failed = ""  # why it could not be; said, and not tried again
    cuda_asked = False  # use_cuda()
    cuda_ours = False  # Kineto keeps its hands off CUDA
    running = None  # the profile of ours that records now
    exit_hooked = False
    why = ""  # why the device of the last profile that wanted it could not be recorded
    without = weakref.WeakKeyDictionary()  # such profiles (torch.profiler.profile) and their reasons
    not_recorded = ""  # the reason of the last profile that ran, "" where its device was recorded


# ---- Whose profile it is


def _privateuse1():
    import torch

    return torch.profiler.ProfilerActivity.PrivateUse1


def _cuda():
    import torch

    return torch.profiler.ProfilerActivity.CUDA


def names_our_device(activities):
    try:
        wanted = _privateuse1()
        return any(item == wanted or (isinstance(item, dict) and wanted in item) for item in activities)
    except TypeError:
        return False  # not iterable: the original says so


# After use_cuda a profile of CUDA is ours like one of PrivateUse1: Kineto itself would find nothing there.
def _gate_of(profile):
    wanted = getattr(profile, "kineto_activities", ())
    if _State.cuda_ours and _cuda() in wanted:
        return _adaptor.CUDA
    return _adaptor.PRIVATEUSE1 if _privateuse1() in wanted else _adaptor.SHUT


# ---- CUDA, which changes only when asked


def _cuda_recorded_by_torch():
    import torch

    return torch.profiler.ProfilerActivity.CUDA in torch.autograd._supported_activities()


def _cuda_wanted():
    return _State.cuda_asked or _core.switch("FLAGOS_USE_CUDA")


# A backend of another vendor on a CUDA build: its device is recorded, CUDA stays torch's.
def _another_device(name):
    accelerator = os.environ.get("FLAGOS_ACCELERATOR", "").lower()
    return name != UNNAMED and accelerator and accelerator not in CUDA_ACCELERATORS


def _refuse(key, reason, sentence="the device is not recorded, the CPU is: {}"):
    _State.why = reason
    say_once(key, sentence.format(reason))


def _take_cuda():
    if not _State.cuda_ours and not _State.adaptor.keep_cpu_only():
        _refuse(
            "cuda too late",
            "call flagprof.use_cuda() (or set FLAGOS_USE_CUDA=1) before this process's first profile: use_cuda came after "
            "it, and it gave CUDA to torch",
        )
        return False
    _State.cuda_ours = True
    return True


def ask_for_cuda():
    _State.cuda_asked = True
    with _nothing_raised("use_cuda"):
        if _cuda_recorded_by_torch() and _load():
            _take_cuda()


# ---- Getting ready


@contextlib.contextmanager
def _nothing_raised(what):
    try:
        yield
    except Exception as error:  # a fault of ours must not become the program's
        _refuse(f"failed {what}", f"{what} failed: {type(error).__name__}: {error}", "{}. The device is not recorded")


def _load():
    if _State.adaptor is None and not _State.failed:
        try:
            adaptor = _adaptor.load()
        except (_build.BuildFailed, _core.Missing) as error:
            _State.failed = str(error)
            _refuse("no adaptor", _State.failed)
            return False
        adaptor.register()
        _State.adaptor = adaptor
    _State.why = _State.failed
    return _State.adaptor is not None


def _get_cuda_ready():
    if not _cuda_wanted():
        _refuse(
            "cuda not asked",
            "call flagprof.use_cuda() (or set FLAGOS_USE_CUDA=1) before the first profile to have PrivateUse1 mean the "
            "CUDA devices: this torch records CUDA by itself",
        )
        return False
    return _load() and _take_cuda()


def _usable():
    try:
        _core.Accelerator()
        return True
    except _core.Refused as refusal:
        _refuse("no accelerator", str(refusal), "no usable accelerator, the device is not recorded: {}")
        return False


# The device without a name gets one only when there is something to record: torch takes a named PrivateUse1 for the
# accelerator of the whole process, and asks its guard in every backward().
def _get_ready():
    import torch

    name = torch._C._get_privateuse1_backend_name()
    if name == UNNAMED:
        if not _usable() or not _load():
            return False
        _State.adaptor.guard()
        torch.utils.rename_privateuse1_backend(NAME)
        name = NAME
    elif not _load():
        return False
    _device.complete(name)
    return True


def _cuda_is_meant():
    import torch

    return _cuda_recorded_by_torch() and not _another_device(torch._C._get_privateuse1_backend_name())


def make_ready():
    """Everything that a profile of our device needs; True when the device can be recorded. Cheap after the first."""
    ready = False
    with _nothing_raised("getting ready to record"):
        ready = _get_cuda_ready() if _cuda_is_meant() else _get_ready()
    return ready


# torch knows PrivateUse1 only by a name of its own. Where it has none, the profile is made of what it stands for: CUDA, so
# that nothing else in the process changes; or nothing, and the CPU is profiled alone.
def _stand_in(activities, ready):
    import torch

    if not _cuda_is_meant() and torch._C._get_privateuse1_backend_name() != UNNAMED:
        return activities
    kept = [item for item in activities if item != _privateuse1()]
    if ready and _cuda_is_meant():
        kept += [] if _cuda() in kept else [_cuda()]
    return kept or [torch.profiler.ProfilerActivity.CPU]


def made(profile, activities):
    """A profile is being made; the activities to make it of."""
    with _nothing_raised("looking at a profile"):
        if activities is not None and names_our_device(activities):
            ready = make_ready()
            if not ready and _State.why:
                _State.without[profile] = _State.why
            return _stand_in(activities, ready)
        if os.environ.get("FLAGOS_USE_CUDA") and not _State.cuda_ours and _core.switch("FLAGOS_USE_CUDA"):
            # Whatever this first profile is of, it would give CUDA to torch for the life of the process.
            ask_for_cuda()
    return activities


# What a file says whose device was to be recorded and was not: Kineto, which was not asked for it, says nothing.
def _members_of(reason):
    own = {"not_recorded": reason}
    with contextlib.suppress(_core.Missing):
        own = {"version": _core.version(), **own}
    return json.dumps({"flagprof": own, "flagprof_ledger": {"not_recorded": reason}})[1:-1]


@contextlib.contextmanager
def gate(profile):
    """Opens the adaptor's gate while torch prepares `profile`, if it is for our device."""
    device = _adaptor.SHUT
    with _nothing_raised("opening the gate"):
        reason = next((why for outer, why in _State.without.items() if getattr(outer, "profiler", None) is profile), "")
        if _gate_of(profile) != _adaptor.SHUT and make_ready():
            device = _gate_of(profile)
            profile.__dict__.pop("_flagprof_findings", None)
            _State.not_recorded = ""
            _State.adaptor.gate(device)
        elif reason:
            _State.not_recorded = reason
            profile._flagprof_findings = _members_of(reason)
    try:
        yield
    finally:
        if device != _adaptor.SHUT:
            _State.adaptor.gate(_adaptor.SHUT)


# ---- Recording


# Stock torch dies by SIGSEGV when a program exits inside a profile: the recording is ended before torch's own end.
def _end_at_exit():
    if _State.running is None:
        return
    import torch

    _State.running = None
    with contextlib.suppress(Exception):
        torch.autograd._disable_profiler()


def _forget_in_child():
    _State.running = None


def began(profile):
    with _nothing_raised("watching a profile"):
        if _State.adaptor is None or _gate_of(profile) == _adaptor.SHUT:
            return
        _State.running = profile
        if not _State.exit_hooked:
            _State.exit_hooked = True
            atexit.register(_end_at_exit)
            os.register_at_fork(after_in_child=_forget_in_child)


def ended(profile):
    with _nothing_raised("watching a profile"):
        if _State.running is profile:
            _State.running = None
        if _State.adaptor is not None and _gate_of(profile) != _adaptor.SHUT:
            profile._flagprof_findings = _State.adaptor.findings()


def ledger():
    if _State.not_recorded:
        return {"not_recorded": _State.not_recorded}
    found = _State.adaptor.findings() if _State.adaptor is not None else ""
    return json.loads("{" + found + "}").get("flagprof_ledger", {})
