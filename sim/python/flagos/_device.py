# _device.py - the module that torch knows as torch.flagos: the functions that torch's own code and users expect of a
# device's module, after the model of torch.cuda.
#
# In:  device arguments as torch takes them: None, a number, "flagos", "flagos:1", a torch.device.
# Out: what torch.cuda gives for the same call, as far as a simulated device has it.

import collections
import contextlib
import ctypes
import os

import torch

from . import _native

_TYPE = "flagos"


def _index(device=None):
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device if device >= 0 else current_device()
    device = torch.device(device)
    if device.type not in (_TYPE, "privateuseone"):
        raise ValueError(f"expected a {_TYPE} device, got {device}")
    return current_device() if device.index is None else device.index


def is_available():
    return device_count() > 0


def is_initialized():
    return True


def init():
    pass


def _lazy_init():
    pass


_process = os.getpid()


def _is_in_bad_fork():
    """Whether this is a child forked from the process that uses the device: it cannot use it itself."""
    return os.getpid() != _process


def device_count():
    return _native.call("flagos_device_count")


def current_device():
    return _native.call("flagos_current_device")


def set_device(device):
    _native.call("flagos_set_device", _native.index(_index(device)))


class device:
    """Makes a device current for a `with` block."""

    def __init__(self, device):
        self._index = _index(device)
        self._before = None

    def __enter__(self):
        self._before = current_device()
        set_device(self._index)

    def __exit__(self, *error):
        set_device(self._before)


class device_of(device):
    """Makes the device of a tensor current for a `with` block."""

    def __init__(self, tensor):
        super().__init__(tensor.device if tensor.device.type == _TYPE else None)


def get_device_name(device=None):
    return f"simulated accelerator {_index(device)}"


def get_device_capability(device=None):
    return (9, 0)


def synchronize(device=None):
    """Waits for all work on the device. Raises what a kernel failed with in the meantime."""
    _native.call("flagos_synchronize", _native.index(_index(device)))


# ---- streams and events


class Stream(torch.Stream):
    """A stream of the device: a thread that runs kernels in order."""

    def __new__(cls, device=None, priority=0, **kwargs):
        if kwargs:
            return super().__new__(cls, **kwargs)
        return super().__new__(cls, device=torch.device(_TYPE, _index(device)), priority=priority)


def Event(enable_timing=False, blocking=False, interprocess=False):
    """A point in a stream, for waiting and for measuring time: a torch.Event of the device."""
    return torch.Event(device=_TYPE, enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)


def _stream(device, stream_id):
    kind = torch._C._autograd.DeviceType.PrivateUse1
    return torch.Stream(stream_id=stream_id, device_index=device, device_type=int(kind))


def current_stream(device=None):
    index = _index(device)
    return _stream(index, _native.call("flagos_current_stream_id", _native.index(index)))


def default_stream(device=None):
    return _stream(_index(device), 0)


def set_stream(stream):
    if stream is not None:
        _native.call("flagos_set_stream", _native.index(stream.device_index), _native.index(stream.stream_id))


@contextlib.contextmanager
def stream(stream):
    """Makes a stream current for a `with` block; None changes nothing."""
    if stream is None:
        yield
        return
    before = current_stream(stream.device_index)
    set_stream(stream)
    try:
        yield
    finally:
        set_stream(before)


# ---- graphs


class Graph:
    """Work that was described once and is started by one call, as torch.cuda.CUDAGraph.

    What it reads and writes are the tensors that were used while it was captured. What the host must see, or makes
    it wait, cannot be captured.
    """

    def __init__(self):
        self._handle = None
        self._complete = False

    def capture_begin(self, *unused, **unused_too):
        begin = _native.backend.flagos_graph_begin
        begin.restype = ctypes.c_void_p
        self._device = current_device()
        self._handle = begin(_native.index(self._device))
        if not self._handle:
            raise RuntimeError(_native.backend.flagos_error_text().decode(errors="replace"))

    def capture_end(self):
        _native.call("flagos_graph_end", ctypes.c_void_p(self._handle))
        self._complete = True

    def replay(self):
        if not self._complete:
            raise RuntimeError("flagos: this graph was not captured to the end")
        _native.call("flagos_graph_replay", ctypes.c_void_p(self._handle), _native.index(self._device))

    def reset(self):
        if self._handle:
            _native.call("flagos_graph_destroy", ctypes.c_void_p(self._handle))
        self._handle, self._complete = None, False

    def __del__(self):
        self.reset()


@contextlib.contextmanager
def graph(graph, stream=None):
    """Captures what the block does on a stream of its own into the graph."""
    synchronize()
    with globals()["stream"](stream or Stream()):
        graph.capture_begin()
        try:
            yield
        finally:
            graph.capture_end()


# ---- memory


def empty_cache():
    _native.call("flagos_empty_cache")


def memory_stats(device=None):
    numbers = (ctypes.c_int64 * 8)()
    _native.call("flagos_memory_stats", _native.index(_index(device)), numbers)
    stats = collections.OrderedDict()
    for i, what in enumerate(("allocated_bytes", "reserved_bytes")):
        for j, part in enumerate(("current", "peak", "allocated", "freed")):
            stats[f"{what}.all.{part}"] = numbers[4 * i + j]
    return stats


def memory_allocated(device=None):
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device=None):
    return memory_stats(device)["allocated_bytes.all.peak"]


def memory_reserved(device=None):
    return memory_stats(device)["reserved_bytes.all.current"]


def max_memory_reserved(device=None):
    return memory_stats(device)["reserved_bytes.all.peak"]


def reset_peak_memory_stats(device=None):
    _native.call("flagos_reset_peak_memory_stats", _native.index(_index(device)))


def mem_get_info(device=None):
    numbers = (ctypes.c_int64 * 2)()
    _native.call("flagos_memory_info", _native.index(_index(device)), numbers)
    return tuple(numbers)


# ---- random numbers


def manual_seed(seed):
    _native.call("flagos_manual_seed", _native.index(current_device()), ctypes.c_uint64(int(seed) % 2**64))


def manual_seed_all(seed):
    for index in range(device_count()):
        _native.call("flagos_manual_seed", _native.index(index), ctypes.c_uint64(int(seed) % 2**64))


def initial_seed(device=None):
    seed = ctypes.c_uint64()
    _native.call("flagos_initial_seed", _native.index(_index(device)), ctypes.byref(seed))
    return seed.value


def get_rng_state(device=None):
    index = _native.index(_index(device))
    state = torch.empty(_native.call("flagos_get_rng_state", index, None, _native.index(0)), dtype=torch.uint8)
    _native.call("flagos_get_rng_state", index, ctypes.c_void_p(state.data_ptr()), _native.index(state.numel()))
    return state


def set_rng_state(new_state, device=None):
    state = new_state.cpu().contiguous()
    _native.call(
        "flagos_set_rng_state",
        _native.index(_index(device)),
        ctypes.c_void_p(state.data_ptr()),
        _native.index(state.numel()),
    )


def get_rng_state_all():
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(states):
    for index, state in enumerate(states):
        set_rng_state(state, index)


# ---- what autocast asks


def get_amp_supported_dtype():
    return [torch.bfloat16, torch.float16]


def is_bf16_supported(including_emulation=True):
    return True
