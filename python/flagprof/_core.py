# _core.py - libflagprof.so through ctypes: the part of flagprof.h that Python needs.
#
# In:  the library where _paths says it lies. Out: plain Python values. Loaded at the first call and then kept; loading
#      it starts nothing. The structs below mirror include/flagprof/*.h; the library checks their size, so that an older
#      mirror reads the fields it knows.

import ctypes
import errno
import functools
import os

from flagprof import _paths


class Missing(Exception):
    """The library cannot be loaded; the text says why and what to do."""


class Refused(Exception):
    """The library said no; the text is its reason."""


class _Error(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 512)]


class _Description(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("library_path", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("simulated", ctypes.c_char_p),
        ("kinds", ctypes.POINTER(ctypes.c_char_p)),
        ("runtime_kind", ctypes.c_char_p),
        ("driver_version", ctypes.c_uint64),
        ("runtime_version", ctypes.c_uint64),
        ("library_version", ctypes.c_uint64),
    ]


class _Device(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char * 256),
        ("total_memory_bytes", ctypes.c_uint64),
        ("compute_major", ctypes.c_int32),
        ("compute_minor", ctypes.c_int32),
        ("max_threads_per_block", ctypes.c_int32),
        ("max_threads_per_multiprocessor", ctypes.c_int32),
        ("registers_per_block", ctypes.c_int32),
        ("registers_per_multiprocessor", ctypes.c_int32),
        ("warp_size", ctypes.c_int32),
        ("shared_per_block_bytes", ctypes.c_int64),
        ("shared_per_multiprocessor_bytes", ctypes.c_int64),
        ("shared_per_block_optin_bytes", ctypes.c_int64),
        ("multiprocessors", ctypes.c_int32),
    ]


_SIGNATURES = {
    "fp_version": (ctypes.c_char_p, []),
    "fp_env_switch": (ctypes.c_bool, [ctypes.c_char_p]),
    "fp_accelerator_choose": (ctypes.c_int, [ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(_Error)]),
    "fp_accelerator_name": (ctypes.c_char_p, [ctypes.c_void_p]),
    "fp_accelerator_tracer": (ctypes.c_char_p, [ctypes.c_void_p]),
    "fp_accelerator_describe": (ctypes.c_int, [ctypes.c_void_p, ctypes.POINTER(_Description)]),
    "fp_accelerator_device_count": (ctypes.c_int, [ctypes.c_void_p]),
    "fp_accelerator_device": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(_Device)]),
    "fp_accelerator_synchronize": (ctypes.c_int, [ctypes.c_void_p, ctypes.POINTER(_Error)]),
    "fp_accelerator_prepare": (ctypes.c_int, [ctypes.c_void_p, ctypes.POINTER(_Error)]),
}


@functools.lru_cache(maxsize=None)
def _load(path):
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def library():
    path = _paths.library()
    if path is None or not path.exists():
        raise Missing(f"libflagprof.so is not at {path}: build it (make) or install FlagProf again")
    try:
        return _load(path)
    except (OSError, AttributeError) as error:
        raise Missing(f"{path} cannot be loaded: {error}") from error


def version():
    return library().fp_version().decode()


def switch(name):
    """A FLAGOS_ switch, read as the library reads every one of them."""
    if not os.environ.get(name):
        return False
    return bool(library().fp_env_switch(name.encode()))


def _text(value):
    return None if value is None else value.decode(errors="replace")


class Accelerator:
    """The accelerator that recordings use; choosing it opens the vendor's library and arms nothing."""

    def __init__(self):
        self._library = library()
        self._handle = ctypes.c_void_p()
        error = _Error()
        if self._library.fp_accelerator_choose(ctypes.byref(self._handle), ctypes.byref(error)) != 0:
            raise Refused(_text(error.text))

    def describe(self):
        description = _Description(size=ctypes.sizeof(_Description))
        self._library.fp_accelerator_describe(self._handle, ctypes.byref(description))
        kinds = []
        while description.kinds and description.kinds[len(kinds)] is not None:
            kinds.append(_text(description.kinds[len(kinds)]))
        return {
            "accelerator": _text(self._library.fp_accelerator_name(self._handle)),
            "tracer": _text(self._library.fp_accelerator_tracer(self._handle)),
            "library": _text(description.library_path),
            "library_version": _text(description.version),
            "simulated": _text(description.simulated),
            "kinds": kinds,
            "devices": self._devices(),
        }

    def _devices(self):
        names = []
        for ordinal in range(max(0, self._library.fp_accelerator_device_count(self._handle))):
            device = _Device(size=ctypes.sizeof(_Device))
            known = self._library.fp_accelerator_device(self._handle, ordinal, ctypes.byref(device)) == 0
            names.append(_text(device.name) if known else None)
        return names

    def synchronize(self):
        """Waits for the devices; False where the accelerator has no way to."""
        return self._library.fp_accelerator_synchronize(self._handle, None) == 0

    def prepare(self):
        error = _Error()
        result = self._library.fp_accelerator_prepare(self._handle, ctypes.byref(error))
        if result not in (0, -errno.ENOSYS, -errno.ENOTSUP):
            raise Refused(_text(error.text) or os.strerror(-result))
