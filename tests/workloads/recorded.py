"""Programs on the simulated device, recorded by FlagProf in one process: what tests/python/test_adaptor_recorded.py reads.

    python tests/workloads/recorded.py FOLDER

Writes FOLDER/NAME.json (or .json.gz) for each trace, and on the last line one JSON object with what torch's tables said.
"""

import contextlib
import ctypes
import json
import pathlib
import sys
import threading

import flagprof
import torch

import flagos

from flagprof import _core
from torch.profiler import ProfilerActivity, profile, schedule

DEVICE = "flagos"
BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
LIMIT_S = 60


class _KernelInfo(ctypes.Structure):  # struct flagsim_kernel_info
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("registers", ctypes.c_uint32),
        ("shared", ctypes.c_uint32 * 2),
        ("local", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("min_duration_ns", ctypes.c_uint32),
    ]


class Gate:
    """A kernel that runs until it is opened, so that a test knows what is in flight, however slow the machine is."""

    NAME = b"gate"

    def __init__(self):
        self.running, self.opened = threading.Event(), threading.Event()
        self._function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._run)
        one = (ctypes.c_uint32 * 3)(1, 1, 1)
        self._info = _KernelInfo(name=self.NAME, grid=one, block=one)
        launch = flagos._native.simulator.flagsim_launch
        assert launch(None, self._function, None, ctypes.c_size_t(0), ctypes.byref(self._info)) == 0
        assert self.running.wait(LIMIT_S), "the kernel does not start"

    def _run(self, argument):
        self.running.set()
        self.opened.wait(LIMIT_S)


@contextlib.contextmanager
def opened_by(owner, name, gates):
    """Opens the gates when `owner.name` is called: whoever calls it waits for kernels that are running."""
    original = getattr(owner, name)

    def waits(*arguments):
        for gate in gates:
            gate.opened.set()
        return original(*arguments)

    setattr(owner, name, waits)
    yield
    setattr(owner, name, original)


# ---- The programs


def options(folder):
    """record_shapes, with_stack and profile_memory together."""
    first, second = torch.ones(4, 8, device=DEVICE), torch.ones(16, 8, device=DEVICE)
    weight = torch.ones(8, 2, device=DEVICE)
    with profile(activities=BOTH, record_shapes=True, with_stack=True, profile_memory=True) as prof:
        first @ weight
        second @ weight
        kept = torch.empty(1000, device=DEVICE)
        flagos.synchronize()
    del kept
    prof.export_chrome_trace(str(folder / "options.json"))
    shaped = [
        [row.input_shapes, row.self_device_time_total] for row in prof.key_averages(group_by_input_shape=True) if row.key == "aten::mm"
    ]
    memory = {row.key: row.self_device_memory_usage for row in prof.key_averages()}
    return {"shaped": shaped, "memory": memory, "table": prof.key_averages().table(sort_by="self_device_time_total")}


def graph(folder):
    """A graph of three kernels, launched twice."""
    x = torch.ones(8, device=DEVICE)
    captured = flagos.Graph()
    with flagos.graph(captured):
        ((x + 1) * 2).relu()
    with profile(activities=BOTH) as prof:
        captured.replay()
        captured.replay()
    prof.export_chrome_trace(str(folder / "graph.json"))


def in_flight(folder):
    """A kernel runs while the profile ends, on a device whose backend has no synchronize(): FlagProf's own stands in."""
    own = flagos._device.synchronize
    del flagos._device.synchronize
    gates = []
    with opened_by(_core.Accelerator, "synchronize", gates):
        with profile(activities=BOTH) as prof:
            gates.append(Gate())
    stood_in = torch.flagos.synchronize is not own
    flagos._device.synchronize = own
    prof.export_chrome_trace(str(folder / "in_flight.json"))
    return stood_in and gates[0].opened.is_set()


def boundaries(folder):
    """Two cycles of a schedule, each left with a kernel in flight; each written compressed by on_trace_ready."""
    gates, names = [], []

    def ready(prof):
        names.append(f"cycle{len(names)}.json.gz")
        prof.export_chrome_trace(str(folder / names[-1]))

    x = torch.ones(8, device=DEVICE)
    plan = schedule(wait=1, warmup=1, active=1, repeat=2)
    with opened_by(flagos._device, "synchronize", gates):
        with profile(activities=BOTH, schedule=plan, on_trace_ready=ready) as prof:
            for step in range(6):
                x + 1
                if step % 3 == 2:
                    gates.append(Gate())
                prof.step()
    return names


def main():
    folder = pathlib.Path(sys.argv[1])
    said = {program.__name__: program(folder) for program in (options, graph, in_flight, boundaries)}
    print(json.dumps({**said, "last_ledger": flagprof.last_ledger()}))


if __name__ == "__main__":
    main()
