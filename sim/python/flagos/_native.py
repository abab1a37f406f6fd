# _native.py - the libraries underneath, loaded once, and their functions with Python's types.
#
# In:  libflagsim.so, the facade of the vendor that FLAGOS_ACCELERATOR names (default cuda), the built torch backend.
# Out: functions that raise RuntimeError with the backend's sentence, and the simulator's counts.
#
# All of them but AscendCL's are opened with RTLD_LOCAL: a facade exports a vendor's real symbols, and nothing but a profiler
# that looks for that library may bind to them.

import ctypes
import json
import os
import sys

import torch

from . import _build, _places

# An accelerator's vendor library: its name, which is also the facade's folder, and the variant taken by default.
# FLAGOS_SIM_<NAME> names another variant: FLAGOS_SIM_CUPTI=12.8 is the folder cupti-12.8.
_FACADES = {
    "cuda": ("cupti", "13.0"),
    "ppu": ("ppu", ""),
    "metax": ("mcpti", ""),
    "dcu": ("roctracer", ""),
    "ascend": ("mspti", ""),
    "musa": ("mupti", ""),
    "gcu": ("topspti", ""),
}


# Libraries whose functions are called as a linked program calls them: what was put before them (LD_PRELOAD) comes first.
_GLOBAL = ("libascendcl.so",)


def _open(path):
    if not path.exists():
        raise ImportError(
            f"flagos: {path} is missing. Build it (cmake --build build), or name its folder in FLAGOS_SIM_DIR"
        )
    try:
        scope = os.RTLD_GLOBAL if path.name in _GLOBAL else os.RTLD_LOCAL
        return ctypes.CDLL(str(path), mode=scope | os.RTLD_NOW)
    except OSError as error:
        raise ImportError(f"flagos: cannot open {path}: {error}") from None


def _folder(accelerator):
    """Where the facade of that accelerator lies, and the variant that was asked for, if any."""
    name, usual = _FACADES[accelerator]
    chosen = os.environ.get(f"FLAGOS_SIM_{name.upper()}")
    variant = usual if chosen is None else chosen
    return _places.libraries() / (f"{name}-{variant}" if variant else name), chosen


def _say(text):
    print(f"flagos: {text}", file=sys.stderr)


# CUPTI's facade is compiled against NVIDIA's headers, which an install may lack; the others need nothing.
def _another():
    there = [name for name in _FACADES if any(_folder(name)[0].glob("lib*.so*"))]
    if there:
        _say(
            f"no simulated CUPTI in {_folder('cuda')[0]}: NVIDIA's headers were not there when it was built "
            f"(scripts/fetch_cupti.py brings them). {there[0]} is simulated instead; FLAGOS_ACCELERATOR names another"
        )
    return there[0] if there else "cuda"


def _open_facade():
    named = os.environ.get("FLAGOS_ACCELERATOR", "").lower()
    accelerator = named or "cuda"
    if accelerator not in _FACADES:
        return None
    folder, chosen = _folder(accelerator)
    if not named and chosen is None and not any(folder.glob("lib*.so*")):
        folder, chosen = _folder(accelerator := _another())
    found = sorted(folder.glob("lib*.so*"), key=lambda path: len(path.name))
    if found:
        return [_open(path) for path in found if not path.is_symlink()]
    name = _FACADES[accelerator][0]
    if chosen is not None:
        there = sorted(path.name for path in _places.libraries().glob(f"{name}*") if any(path.glob("lib*.so*")))
        raise ImportError(
            f"flagos: FLAGOS_SIM_{name.upper()}={chosen}: no library in {folder}; there is {', '.join(there) or 'none'}"
        )
    _say(f"no simulated {name} in {folder}, so FlagProf cannot record this device (docs/simulator.md)")
    return None


simulator = _open(_places.libraries() / "libflagsim.so")
facade = _open_facade()
backend = _open(_build.library(torch))

_backend_int64 = ctypes.c_int64
backend.flagos_error_text.restype = ctypes.c_char_p
simulator.flagsim_truth_json.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def call(name, *arguments):
    """Calls the backend's C function; a negative result becomes a RuntimeError with its text."""
    function = getattr(backend, name)
    function.restype = _backend_int64
    result = function(*arguments)
    if result < 0:
        raise RuntimeError(backend.flagos_error_text().decode(errors="replace"))
    return result


if facade and os.environ.get("FLAGOS_ACCELERATOR", "").lower() == "ascend":
    call("flagos_use_ascendcl")


def index(number):
    return ctypes.c_int64(number)


def simulator_counts():
    """What the simulator really did since it was last reset: a dict of counts."""
    size = simulator.flagsim_truth_json(None, 0) + 1
    text = ctypes.create_string_buffer(size + 4096)
    simulator.flagsim_truth_json(text, len(text))
    return json.loads(text.value.decode())


def reset_simulator_counts():
    simulator.flagsim_truth_reset()
