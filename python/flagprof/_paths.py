# _paths.py - where the parts of FlagProf that are not Python lie.
#
# In:  _where.json beside this file, which an install writes: each place relative to this folder. Without it this is the
#      source tree, and the places are in its build folder (FLAGPROF_BUILD names another).
# Out: one function a place. A place that this FlagProf does not have is None; whether a file is there is not looked at.

import functools
import json
import os
import pathlib

_HERE = pathlib.Path(__file__).resolve().parent


@functools.lru_cache(maxsize=None)
def _places():
    where = _HERE / "_where.json"
    if where.exists():
        return {name: (_HERE / place).resolve() for name, place in json.loads(where.read_text()).items()}
    root = _HERE.parent.parent
    build = pathlib.Path(os.environ.get("FLAGPROF_BUILD", root / "build")).resolve()
    return {
        "library": build / "libflagprof.so",
        "command": build / "flagprof",
        "include": root / "include",
        "source": root / "src",
        "simulator": build / "sim",
        "simulator_source": root / "sim",
    }


def library():
    """libflagprof.so."""
    return _places().get("library")


def command():
    """The `flagprof` executable."""
    return _places().get("command")


def include():
    """The folder that holds flagprof/*.h."""
    return _places().get("include")


def source():
    """The folder that holds kineto/, the adaptor's sources; they include each other as "kineto/x.h"."""
    return _places().get("source")


def simulator():
    """The folder with the simulated accelerator's libraries."""
    return _places().get("simulator")


def simulator_source():
    """The folder with the sources of the simulated accelerator's torch backend."""
    return _places().get("simulator_source")


def is_source_tree():
    return not (_HERE / "_where.json").exists()
