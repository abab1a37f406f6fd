"""A simulated accelerator as a torch device: `import flagos`, then torch.ones(3, device="flagos").

Kernels are torch's own CPU kernels, run asynchronously on the threads that stand for the device's streams, on memory
that stands for the device's. It is a way to try FlagProf without hardware; it makes nothing faster.

FLAGOS_SIM_DEVICES sets the number of devices (2), FLAGOS_ACCELERATOR the vendor whose profiling library is imitated
(cuda), FLAGOS_SIM_CUPTI its release (13.0), FLAGOS_LAUNCH_BLOCKING=1 makes every launch wait, which shows a failing
operator where it is called. FLAGOS_SIM_FAULTS switches faults on: docs/simulator.md has the list.
"""

import atexit
import sys

import torch

_NAME = "flagos"


def _choose_name():
    """Names PrivateUse1 unless somebody has already; another name than ours is another backend's."""
    name = torch._C._get_privateuse1_backend_name()
    if name == "privateuseone":
        torch.utils.rename_privateuse1_backend(_NAME)
    elif name != _NAME:
        raise ImportError(f"flagos: this process already has a torch backend of its own, {name}")


_choose_name()

from . import _device  # noqa: E402  after the name: opening the backend registers with torch
from ._device import *  # noqa: E402, F401, F403
from ._native import reset_simulator_counts, simulator_counts  # noqa: E402, F401


def _register():
    # A profiler that came first may have put a stand-in there, which runs nothing.
    setattr(torch, _NAME, _device)
    sys.modules[f"torch.{_NAME}"] = _device
    if not hasattr(torch.Tensor, f"is_{_NAME}"):
        torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)


def _finish():
    # Streams run torch's code; the interpreter must not take that away under them.
    if _device._is_in_bad_fork():
        return
    try:
        for index in range(_device.device_count()):
            _device.synchronize(index)
    except RuntimeError as error:
        print(f"flagos: {error}", file=sys.stderr)


_register()
atexit.register(_finish)
