# _hook.py - the one thing that importing FlagProf does: torch.profiler's classes call _torch at its moments.
#
# In:  `import flagprof`, before or after `import torch`. Out: the same classes, with five methods wrapped; they can be
#      subclassed and tested with isinstance as before. torch is not imported here: where it is not there yet, its
#      profiler is wrapped when it comes.

import functools
import sys

from flagprof._say import say

_PROFILER = "torch.profiler.profiler"


def install():
    module = sys.modules.get(_PROFILER)
    if module is not None and hasattr(module, "profile"):
        _wrap(module)
    elif not any(isinstance(finder, _Watch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())


class _Watch:
    """Sees torch's profiler being imported, wraps it, and is gone."""

    def find_spec(self, name, path, target=None):
        if name != _PROFILER:
            return None
        # Whoever else finds modules here is asked in turn, as without us: an editable install has a finder of its own.
        for finder in [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                break
        else:
            return None
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        if hasattr(spec.loader, "exec_module"):
            spec.loader = _Wrapping(spec.loader)
        else:
            say("torch's profiler is imported in a way that is not known: devices are not recorded")
        return spec


class _Wrapping:
    """A loader in another's place for one module, which then looks as if it had never been: loaders may be shared."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        create = getattr(self._loader, "create_module", None)
        return create(spec) if create else None

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _wrap(module)


def _wrap(module):
    try:
        import torch.autograd.profiler as autograd

        wrapped = [
            (module._KinetoProfile, "__init__", _made),
            (autograd.profile, "_prepare_trace", _prepared),
            (autograd.profile, "_start_trace", _started),
            (autograd.profile, "__exit__", _ended),
            (autograd.profile, "export_chrome_trace", _exported),
        ]
        originals = [getattr(owner, name) for owner, name, _ in wrapped]
    except (ImportError, AttributeError) as error:
        say(f"this torch is not known ({error}): devices are not recorded")
        return
    for (owner, name, around), original in zip(wrapped, originals):
        if not hasattr(original, "_flagprof"):
            setattr(owner, name, _around(original, around))


def _around(original, around):
    @functools.wraps(original)
    def method(self, *arguments, **named):
        return around(original, self, *arguments, **named)

    method._flagprof = True
    return method


# ---- The moments. What FlagProf does there never raises (_torch), so that the original's own errors are all there are.


def _made(original, self, *arguments, **named):
    from flagprof import _torch

    activities = named.get("activities")
    if hasattr(activities, "__next__"):  # looked at twice below, and it can be read once
        activities = named["activities"] = list(activities)
    if activities is not None:
        named["activities"] = _torch.made(self, activities)
    else:
        _torch.made(self, None)
    return original(self, *arguments, **named)


def _prepared(original, self, *arguments, **named):
    from flagprof import _torch

    with _torch.gate(self):
        return original(self, *arguments, **named)


def _started(original, self, *arguments, **named):
    from flagprof import _torch

    result = original(self, *arguments, **named)
    _torch.began(self)
    return result


def _ended(original, self, *arguments, **named):
    from flagprof import _torch

    try:
        return original(self, *arguments, **named)
    finally:
        _torch.ended(self)


def _exported(original, self, path, *arguments, **named):
    from flagprof import _export

    before = _export.identity(path)
    result = original(self, path, *arguments, **named)
    _export.add_findings(self, path, before)
    return result
