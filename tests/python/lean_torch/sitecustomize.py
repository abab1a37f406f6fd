# sitecustomize.py - a torch without its compiler, for the programs that the tests run.
#
# In:  this folder on PYTHONPATH. Out: a torch that says that it has no `_inductor`, until something else imports that.
#
# Each start of torch.profiler asks hasattr(torch, "_inductor"), which imports 800 modules of the compiler to read one flag
# about CUDA graphs: as long as all else that a test's program does. Nothing else of torch is changed.

import sys
from importlib.machinery import PathFinder


class _LeanTorch:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(_LeanTorch)
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (execute(module), _hide_compiler(module))
        return spec


def _hide_compiler(torch):
    look_up = torch.__getattr__

    def look_up_but_inductor(name):
        if name == "_inductor" and "torch._inductor" not in sys.modules:
            raise AttributeError("hidden by the tests")
        return look_up(name)

    torch.__getattr__ = look_up_but_inductor


sys.meta_path.insert(0, _LeanTorch)
