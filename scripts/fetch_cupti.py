#!/usr/bin/env python3
# fetch_cupti.py - brings NVIDIA's own CUPTI headers and libraries, for the tests and the simulator alone.
#
# In:  release names as the wheels carry them (13.0.85); nothing: the set that `make test` needs; --all: all sixteen.
#      FLAGPROF_CUPTI_DIR names the folder (default: build/cupti of this tree), so that several trees can share one.
# Out: <folder>/<release>/{include,lib} and <folder>/cuda-h/include, which holds the cuda.h that CUPTI's headers need.
#      FlagProf itself is built without any of them.
# A release is complete or absent: it is unpacked aside and renamed, so an interrupted or a second run does no harm.

import argparse
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

RELEASES = (
    "11.8.87",
    "12.0.146", "12.1.105", "12.2.142", "12.3.101", "12.4.127", "12.5.82", "12.6.80", "12.8.90", "12.9.79",
    "13.0.85", "13.1.115", "13.2.86", "13.3.75", "13.4.92", "13.5.25",
)  # fmt: skip
DEFAULT = ("11.8.87", "12.1.105", "12.4.127", "12.8.90", "13.0.85", "13.2.86", "13.5.25")

# The package's name changed with the CUDA major; from 13 on it has no suffix.
PACKAGE_OF_MAJOR = {"11": "nvidia-cuda-cupti-cu11", "12": "nvidia-cuda-cupti-cu12", "13": "nvidia-cuda-cupti"}

# cuda.h and what it includes. Those of 13.5 compile with the CUPTI headers of all sixteen releases.
CUDA_H = "cuda-h"
CUDA_H_PACKAGES = ("nvidia-cuda-runtime==13.5.37", "nvidia-cuda-crt==13.5.37")


class FetchError(Exception):
    pass


def folder():
    named = os.environ.get("FLAGPROF_CUPTI_DIR")
    tree = pathlib.Path(__file__).resolve().parent.parent
    return pathlib.Path(named).absolute() if named else tree / "build" / "cupti"


def packages_of(release):
    if release == CUDA_H:
        return CUDA_H_PACKAGES
    return (f"{PACKAGE_OF_MAJOR[release.split('.')[0]]}=={release}",)


def download(packages, into):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--dest", str(into), *packages]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    except subprocess.TimeoutExpired:
        raise FetchError(f"{', '.join(packages)}: no answer from the package index within 15 minutes") from None
    if done.returncode != 0:
        said = [line for line in done.stdout.splitlines() if line.startswith("ERROR")] or done.stdout.splitlines()
        raise FetchError(f"{', '.join(packages)}: {said[-1] if said else 'pip failed and said nothing'}")
    return sorted(into.glob("*.whl"))


# What a wheel's file becomes below the release's folder; None: not wanted. Of the libraries libcupti alone is kept:
# it opens the others (70 % of the size) only to profile counters on a real device.
def place_of(member):
    parts = pathlib.PurePosixPath(member).parts
    for top in ("include", "lib"):
        if top in parts and ".." not in parts and not member.endswith("/"):
            below = parts[parts.index(top) :]
            if below[-1] == "__init__.py" or (top == "lib" and not below[-1].startswith("libcupti.so")):
                return None
            return pathlib.Path(*below)
    return None


def unpack(wheel, into):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            place = place_of(member)
            if place is None:
                continue
            target = into / place
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink)


def fetch(release, root):
    final = root / release
    if final.is_dir():
        return False
    with open(root / f".{release}.lock", "w") as lock, tempfile.TemporaryDirectory(dir=root) as aside:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if final.is_dir():  # another run brought it while this one waited
            return False
        aside = pathlib.Path(aside)
        for wheel in download(packages_of(release), aside):
            unpack(wheel, aside / "tree")
        if not (aside / "tree" / "include").is_dir():
            raise FetchError(f"{release}: the wheel holds no include folder")
        (aside / "tree").rename(final)
    return True


def main():
    parser = argparse.ArgumentParser(description="Fetch NVIDIA's CUPTI headers and libraries from the package index.")
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help=f"one of {', '.join(RELEASES)}, {CUDA_H}")
    parser.add_argument("--all", action="store_true", help="all sixteen releases")
    options = parser.parse_args()
    unknown = [release for release in options.releases if release not in (*RELEASES, CUDA_H)]
    if unknown:
        parser.error(f"unknown release {', '.join(unknown)}; known are {', '.join(RELEASES)} and {CUDA_H}")

    root = folder()
    wanted = RELEASES if options.all else options.releases or DEFAULT
    try:
        root.mkdir(parents=True, exist_ok=True)
        for release in dict.fromkeys((CUDA_H, *wanted)):
            print(f"{root / release}{'' if fetch(release, root) else ' (there already)'}", flush=True)
    except (FetchError, OSError) as error:
        print(
            f"fetch_cupti.py: {error}. The layout tests and the simulator's CUPTI need it; with a network, "
            "run this script again.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
