# simulated.py - which device the torch suites use, and what a process needs in its environment to have it.

import os

import pytest
from conftest import TREE, python_environment, run
from echo_accelerator import adaptor_cache  # noqa: F401
from forked import run_in_child

# flagos: the simulated accelerator. cuda: the machine's own, through flagprof.use_cuda().
DEVICE = os.environ.get("FLAGPROF_PARITY_DEVICE", "flagos")
BUILD_LIMIT_S = 900


@pytest.fixture(scope="session")
def device_environment(tree, torch_version, adaptor_cache, tmp_path_factory):  # noqa: F811
    """The environment of a program that records on DEVICE, with what that needs built; skips where it is not there."""
    environment = {"XDG_CACHE_HOME": adaptor_cache}
    if not tree.installed:
        environment["FLAGPROF_BUILD"] = tree.build
        if DEVICE == "flagos" and not list((tree.build / "sim").glob("*.so*")):
            pytest.skip(f"no simulated accelerator in {tree.build / 'sim'}")
    code = "import torch\nfrom flagprof import _build\n_build.adaptor()\n" + ("import flagos" if DEVICE == "flagos" else "")
    script = tmp_path_factory.mktemp("device") / "build.py"
    script.write_text(code)
    run_in_child(script, env=environment, timeout=BUILD_LIMIT_S, cwd=script.parent).ok()
    return environment


def run_on_device(script, *arguments, env):
    """Runs a script that records on DEVICE: a Done. A preloaded library and a real device ask for a process of its own."""
    if DEVICE != "flagos" or any(name.startswith("LD_") for name in env):
        return run([TREE.python, script, *arguments], env=python_environment(env))
    return run_in_child(script, *arguments, env=env)
