# test_backend.py - the simulated device as a torch backend: what a program on it may rely on.
#
# In:  tests/workloads/backend.py, whose every check_<behaviour> becomes a test here; it runs once, in one process.
# Out: also what needs a process of its own: names, missing parts, the end of the program.

import json
import re
import textwrap

import pytest
from conftest import ROOT, TREE
from forked import run_in_child

WORKLOADS = ROOT / "tests" / "workloads"
CHECKS = re.findall(r"^def (check_\w+)\(", (WORKLOADS / "backend.py").read_text(), re.MULTILINE)


@pytest.fixture(scope="session")
def simulator(torch_version):
    if not TREE.installed and not (TREE.build / "sim" / "libflagsim.so").exists():
        pytest.skip("the simulated accelerator is not built")


@pytest.fixture(scope="module")
def results(simulator, tmp_path_factory):
    done = run_in_child(WORKLOADS / "backend.py", timeout=400, cwd=tmp_path_factory.mktemp("backend"))
    assert done.returncode == 0 and done.stdout.strip(), str(done)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("check", CHECKS)
def test_backend(results, check):
    assert check in results
    assert results[check] is None, results[check]


@pytest.fixture
def in_child(torch_version, tmp_path):
    """in_child(SCRIPT, ARGUMENT, ...): a Done of a process that has imported torch already."""

    def call(script, *arguments, env=None):
        (tmp_path / "script.py").write_text(textwrap.dedent(script))
        return run_in_child(tmp_path / "script.py", *arguments, env=env, cwd=tmp_path)

    return call


def test_the_parity_workload_gives_the_cpus_number(simulator, in_child):
    done = in_child(
        """
        import sys
        sys.path.insert(0, sys.argv[1])
        import flagos, workload
        assert "flagprof" not in sys.modules
        print(workload.run("cpu"), workload.run("flagos"))
        """,
        ROOT / "python" / "flagprof" / "conformance",
    ).ok()
    host, device = map(float, done.stdout.split())
    assert abs(host - device) <= 1e-4 * abs(host)


def test_another_backends_name_is_left_alone(simulator, in_child):
    done = in_child(
        """
        import torch
        torch.utils.rename_privateuse1_backend("somebody")
        try:
            import flagos
        except ImportError as error:
            print(error)
        """
    ).ok()
    assert "somebody" in done.stdout


def test_a_name_given_before_is_kept(simulator, in_child):
    in_child(
        """
        import torch
        torch.utils.rename_privateuse1_backend("flagos")
        import flagos
        assert torch.ones(2, device="flagos").sum().item() == 2
        """
    ).ok()


def test_a_missing_simulator_is_said_with_the_cure(in_child, tmp_path):
    done = in_child("import flagos", env={"FLAGOS_SIM_DIR": tmp_path})
    assert done.returncode != 0 and "FLAGOS_SIM_DIR" in done.stderr.splitlines()[-1], str(done)


# An install that was made without NVIDIA's headers has no simulated CUPTI.
def test_without_the_usual_facade_another_is_simulated_and_that_is_said(tree, in_child, tmp_path):
    for path in (tree.build / "sim").iterdir():
        if not path.name.startswith("cupti"):
            (tmp_path / path.name).symlink_to(path)
    record = """
import flagprof, flagos, torch
from torch.profiler import ProfilerActivity as A, profile
with profile(activities=[A.CPU, A.PrivateUse1]):
    torch.ones(8, device="flagos").relu_()
    torch.flagos.synchronize()
print(flagprof.accelerator()["accelerator"], flagprof.last_ledger().get("complete"))
"""
    done = in_child(record, env={"FLAGOS_SIM_DIR": tmp_path}).ok()
    assert "ppu True" in done.stdout.splitlines(), str(done)
    told = [line for line in done.stderr.splitlines() if "fetch_cupti.py" in line]
    assert len(told) == 1 and "ppu is simulated instead" in told[0], str(done)


def test_a_missing_compiler_is_said_with_the_cure(simulator, in_child, tmp_path):
    done = in_child("import flagos", env={"CXX": "no-such-compiler", "FLAGOS_CACHE_DIR": tmp_path})
    assert done.returncode != 0 and "set CXX" in done.stderr.splitlines()[-1], str(done)


def test_work_in_flight_at_exit_ends_quietly(simulator, run_torch):
    done = run_torch(
        """
        import flagos, torch
        x = torch.ones(800, 800, device="flagos")
        for _ in range(10):
            x = (x @ x) / 800
        """,
        timeout=300,
    )
    assert done.returncode == 0 and "flagos:" not in done.stderr, str(done)
