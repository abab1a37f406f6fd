# _torch.py - what FlagProf does at the four moments of a profile that _hook wraps.
#
# In:  profiles being made, prepared, started, ended. Out: for those that name PrivateUse1 the device is renamed if it
#      has no name yet, given a synchronize() if it has none, the adaptor is loaded, and its gate is open while torch
#      prepares. Nothing here raises into the program: what goes wrong is said in one line, and the profile goes on
#      without the device.

import atexit
import contextlib
import os

from flagprof import _adaptor, _build, _core, _device
from flagprof._say import say_once

UNNAMED = "privateuseone"
NAME = "flagos"
# Accelerators that are CUDA devices to torch: naming another one leaves torch's own CUDA recording alone.
CUDA_ACCELERATORS = ("cuda", "ppu")


class _State:
    adaptor = None  # loaded and registered
    failed = False  # it could not be; said, and not tried again
    cuda_asked = False  # use_cuda()
    cuda_ours = False  # Kineto keeps its hands off CUDA
    running = None  # the profile of ours that records now
    exit_hooked = False


# ---- Whose profile it is


def _privateuse1():
    import torch

    return torch.profiler.ProfilerActivity.PrivateUse1


def names_our_device(activities):
    try:
        wanted = _privateuse1()
        return any(item == wanted or (isinstance(item, dict) and wanted in item) for item in activities)
    except TypeError:
        return False  # not iterable: the original says so


def _is_ours(profile):
    return _privateuse1() in getattr(profile, "kineto_activities", ())


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


def _take_cuda():
    if not _State.cuda_ours and not _State.adaptor.keep_cpu_only():
        say_once(
            "cuda too late",
            "use_cuda came after this process's first profile, which gave CUDA to torch: call flagprof.use_cuda() (or "
            "set FLAGOS_USE_CUDA=1) before it. The device is not recorded",
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
        say_once(f"failed {what}", f"{what} failed: {type(error).__name__}: {error}. The device is not recorded")


def _load():
    if _State.adaptor is None and not _State.failed:
        try:
            adaptor = _adaptor.load()
        except (_build.BuildFailed, _core.Missing) as error:
            _State.failed = True
            say_once("no adaptor", f"the device is not recorded, the CPU is: {error}")
            return False
        adaptor.register()
        _State.adaptor = adaptor
    return _State.adaptor is not None


def _get_ready():
    import torch

    name = torch._C._get_privateuse1_backend_name()
    if _cuda_recorded_by_torch() and not _another_device(name):
        if not _cuda_wanted():
            say_once(
                "cuda not asked",
                "this torch records CUDA by itself: call flagprof.use_cuda() (or set FLAGOS_USE_CUDA=1) before the "
                "first profile to have PrivateUse1 mean the CUDA devices. The device is not recorded",
            )
            return False
        if not _load() or not _take_cuda():
            return False
    elif not _load():
        return False
    if name == UNNAMED:
        torch.utils.rename_privateuse1_backend(NAME)
        name = NAME
    _device.complete(name)
    return True


def make_ready():
    """Everything that a profile of PrivateUse1 needs; True when the device can be recorded. Cheap after the first."""
    ready = False
    with _nothing_raised("getting ready to record"):
        ready = _get_ready()
    return ready


def made(activities):
    """A profile is being made."""
    with _nothing_raised("looking at a profile"):
        if activities is not None and names_our_device(activities):
            make_ready()
        elif os.environ.get("FLAGOS_USE_CUDA") and not _State.cuda_ours and _core.switch("FLAGOS_USE_CUDA"):
            # Whatever this first profile is of, it would give CUDA to torch for the life of the process.
            ask_for_cuda()


@contextlib.contextmanager
def gate(profile):
    """Opens the adaptor's gate while torch prepares `profile`, if it is for our device."""
    is_open = False
    with _nothing_raised("opening the gate"):
        is_open = _is_ours(profile) and make_ready()
        if is_open:
            profile.__dict__.pop("_flagprof_findings", None)
            _State.adaptor.gate(True)
    try:
        yield
    finally:
        if is_open:
            _State.adaptor.gate(False)


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
        if _State.adaptor is None or not _is_ours(profile):
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
        if _State.adaptor is not None and _is_ours(profile):
            profile._flagprof_findings = _State.adaptor.findings()


def findings():
    return _State.adaptor.findings() if _State.adaptor is not None else ""
