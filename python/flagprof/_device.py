# _device.py - the module torch.<name> of the renamed device, as far as a profile needs it.
#
# In:  the device's name. Out: torch.<name>.synchronize(), which torch calls before a profile ends and which waits for
#      the real device; without it, work in flight would be cut off. A backend that has one keeps its own.

import types

from flagprof import _core


def _synchronize(device=None):
    """Waits until the accelerator's devices have finished what was given to them."""
    try:
        _core.Accelerator().synchronize()
    except (_core.Missing, _core.Refused):
        pass  # nothing there to wait for


# torch.manual_seed warns about a device module without the first two; the last says that nothing is to run there.
def _own_module(name):
    module = types.ModuleType(f"torch.{name}", "The device that FlagProf records; it runs nothing itself.")
    module.synchronize = _synchronize
    module._is_in_bad_fork = lambda: False
    module.manual_seed_all = lambda seed: None
    module.is_available = lambda: False
    module.device_count = lambda: 0
    return module


def complete(name):
    import torch

    module = getattr(torch, name, None)
    if module is None:
        torch._register_device_module(name, _own_module(name))
    elif not hasattr(module, "synchronize"):
        module.synchronize = _synchronize
