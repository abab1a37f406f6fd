#!/usr/bin/env python3
# fetch_roctracer.py - brings AMD's own headers of ROCtracer and HIP, for the tests and the simulator alone. Optional.
#
# In:  FLAGPROF_ROCTRACER_DIR names the folder (default: build/roctracer of this tree).
# Out: <folder>/include, HIP 7.1's. They come out of PyPI's triton wheel (200 MB), of which nothing else is kept.

import os
import pathlib
import shutil
import sys
import tempfile
import zipfile

import fetch_cupti

PACKAGE = "triton==3.7.0"
INSIDE = "triton/backends/amd/include/"


def folder():
    named = os.environ.get("FLAGPROF_ROCTRACER_DIR")
    tree = pathlib.Path(__file__).resolve().parent.parent
    return pathlib.Path(named).absolute() if named else tree / "build" / "roctracer"


def fetch(root):
    if (root / "include").is_dir():
        return False
    with tempfile.TemporaryDirectory(dir=root) as aside:
        aside = pathlib.Path(aside)
        for wheel in fetch_cupti.download((PACKAGE,), aside):
            with zipfile.ZipFile(wheel) as archive:
                for member in archive.namelist():
                    if member.startswith(INSIDE) and ".." not in member and not member.endswith("/"):
                        target = aside / "include" / member.removeprefix(INSIDE)
                        target.parent.mkdir(parents=True, exist_ok=True)
                        with archive.open(member) as source, open(target, "wb") as sink:
                            shutil.copyfileobj(source, sink)
        if not (aside / "include" / "roctracer" / "roctracer.h").is_file():
            raise fetch_cupti.FetchError(f"{PACKAGE}: the wheel holds no roctracer.h")
        (aside / "include").rename(root / "include")
    return True


def main():
    root = folder()
    try:
        root.mkdir(parents=True, exist_ok=True)
        print(f"{root / 'include'}{'' if fetch(root) else ' (there already)'}")
    except (fetch_cupti.FetchError, OSError) as error:
        print(f"fetch_roctracer.py: {error}. Only the judging of ROCtracer's layout needs it.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
