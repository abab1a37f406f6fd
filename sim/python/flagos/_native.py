# _native.py - the libraries underneath, loaded once, and their functions with Python's types.
#
# In:  libflagsim.so, the facade of the vendor that FLAGOS_ACCELERATOR names (default cuda), the built torch backend.
# Out: functions that raise RuntimeError with the backend's sentence, and the simulator's counts.
#
# All of them are opened with RTLD_LOCAL: a facade exports a vendor's real symbols, and nothing but a profiler that
# looks for that library may bind to them.

import ctypes
import json
import os

import torch

from . import _build, _places

_FACADES = {  # the vendor's facade: its folder below the simulator's, its variable, its default release
    "cuda": ("cupti-{}", "FLAGOS_SIM_CUPTI", "13.0"),
    "metax": ("mcpti{}", "FLAGOS_SIM_MCPTI", ""),  # "-bridge": CUPTI's spellings alone
    "musa": ("mupti{}", "FLAGOS_SIM_MUPTI", ""),  # "-limited": few exports
}


def _open(path):
    if not path.exists():
        raise ImportError(
            f"flagos: {path} is missing. Build it (cmake --build build), or name its folder in FLAGOS_SIM_DIR"
        )
    try:
        return ctypes.CDLL(str(path), mode=os.RTLD_LOCAL | os.RTLD_NOW)
    except OSError as error:
        raise ImportError(f"flagos: cannot open {path}: {error}") from None


def _open_facade():
    accelerator = os.environ.get("FLAGOS_ACCELERATOR") or "cuda"
    if accelerator not in _FACADES:
        return None
    pattern, variable, release = _FACADES[accelerator]
    folder = _places.libraries() / pattern.format(os.environ.get(variable) or release)
    libraries = sorted(folder.glob("lib*.so*"), key=lambda path: len(path.name)) if folder.exists() else []
    return [_open(path) for path in libraries if not path.is_symlink()] or None


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
