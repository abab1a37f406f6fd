"""FlagProf: `import flagprof`, then torch.profiler as you know it, on any accelerator.

    import flagprof, torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as prof:
        step()
    prof.export_chrome_trace("trace.json")

Importing hooks torch.profiler.profile and does nothing else: no thread, no vendor library, nothing renamed, nothing
built. The rest happens when the first profile that names PrivateUse1 is made.
"""

from flagprof import _hook
from flagprof._api import accelerator, last_ledger, prepare, use_cuda

__all__ = ["accelerator", "last_ledger", "prepare", "use_cuda"]

_hook.install()


def __getattr__(name):
    if name == "__version__":
        from flagprof import _core

        return _core.version()
    raise AttributeError(f"module 'flagprof' has no attribute '{name}'")
