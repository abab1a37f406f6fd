# _places.py - where the simulated accelerator's libraries, its torch backend's sources and the built backends lie.
#
# In:  FLAGOS_SIM_DIR (the folder with libflagsim.so), FLAGOS_CACHE_DIR (where backends are built); _where.json beside
#      this file, which an install writes. Without it this is the source tree and the places are in its build folder.
# Out: paths; whether a file is there is the caller's question.

import json
import os
import pathlib

_HERE = pathlib.Path(__file__).resolve().parent


def _installed():
    where = _HERE / "_where.json"
    return json.loads(where.read_text()) if where.exists() else None


def libraries():
    """The folder with libflagsim.so and the vendor facades."""
    if os.environ.get("FLAGOS_SIM_DIR"):
        return pathlib.Path(os.environ["FLAGOS_SIM_DIR"]).resolve()
    places = _installed()
    if places:
        return (_HERE / places["simulator"]).resolve()
    root = _HERE.parents[2]
    return pathlib.Path(os.environ.get("FLAGPROF_BUILD", root / "build")).resolve() / "sim"


def sources():
    """The folder that holds flagsim.h and torch/, the backend's sources."""
    places = _installed()
    return (_HERE / places["simulator_source"]).resolve() if places else _HERE.parents[1]


def cache():
    """The folder for built backends: in a source tree its build folder, else the user's cache."""
    if os.environ.get("FLAGOS_CACHE_DIR"):
        return pathlib.Path(os.environ["FLAGOS_CACHE_DIR"]) / "flagos"
    if not _installed():
        return libraries() / "torch"
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "flagprof" / "flagos"
