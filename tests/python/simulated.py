# simulated.py - which device the torch suites use, and what a process needs in its environment to have it.

import os

import pytest

# flagos: the simulated accelerator. cuda: the machine's own, through flagprof.use_cuda().
DEVICE = os.environ.get("FLAGPROF_PARITY_DEVICE", "flagos")


def device_environment(tree, cache):
    """The environment of a program that records on DEVICE; skips where it is not built."""
    environment = {"XDG_CACHE_HOME": cache}
    if not tree.installed:
        environment["FLAGPROF_BUILD"] = tree.build
        if DEVICE == "flagos" and not list((tree.build / "sim").glob("*.so*")):
            pytest.skip(f"no simulated accelerator in {tree.build / 'sim'}")
    return environment
