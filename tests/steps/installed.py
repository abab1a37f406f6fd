# installed.py - the step of what a stranger installs: a wheel and a source archive from a clean copy, tried without the tree.
#
# In:  what a clone would hold (the files that git knows), copied away. Out: `python -m build` makes the source archive, and
#      from that the wheel; the wheel goes below a prefix, for the venv that has torch, and tests/python runs on it. What it is
#      in a venv without torch is a test there (test_wheel.py, FLAGPROF_DIST).

import os
import shutil

from . import count, tree
from .result import Result

ALONE = ("test_wheel.py",)  # what no other step runs
# Beside it the command line, what it shows to others, and programs that import flagprof.
TESTS = (*ALONE, "test_command_line.py", "test_packaging.py", "test_walls.py", "test_parity*.py", "test_hook*.py")
PIP = ("-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check")


def lacks():
    if tree.run([tree.venv_python(), "-c", "import pytest, scikit_build_core, build"], limit_s=60).status:
        return f"no pytest, scikit-build-core and build in {tree.VENV}; scripts/venv.py --tests brings them"
    return None


# A source archive is a clean copy already, but for its build folder.
def clean_copy(folder):
    listed = tree.run(["git", "ls-files", "-co", "--exclude-standard"])
    if listed.status:
        shutil.copytree(tree.ROOT, folder, ignore=lambda at, names: {"build"} & set(names))
        return
    for name in listed.output.splitlines():
        if (tree.ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree.ROOT / name, folder / name)


def check():
    folder = tree.BUILD / "packaged"
    shutil.rmtree(folder, ignore_errors=True)
    clean_copy(folder / "clone")
    built = tree.run(
        [tree.venv_python(), "-m", "build", "--no-isolation", "--outdir", folder / "dist", folder / "clone"],
        limit_s=900,
        # NVIDIA's headers were fetched for the tree and are in no copy: with them the wheel holds the simulated CUPTI.
        env={"FLAGPROF_CUPTI_DIR": os.environ.get("FLAGPROF_CUPTI_DIR", str(tree.ROOT / "build" / "cupti"))},
    )
    if built.status:
        return Result.fail("python -m build", built.output)
    wheel = next((folder / "dist").glob("*.whl"))
    put = tree.run([tree.venv_python(), *PIP, "--prefix", folder / "prefix", wheel], limit_s=300)
    if put.status:
        return Result.fail(f"pip install {wheel.name}", put.output)
    env = {"FLAGPROF_INSTALLED": str(folder / "prefix"), "FLAGPROF_DIST": str(folder / "dist")}
    return count.pytest(TESTS, env=env).add(Result(2))
