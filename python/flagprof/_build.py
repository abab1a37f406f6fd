"""Builds the adaptor to torch.profiler, once for each build of torch, and keeps it.

In:  the torch that is installed (its headers, version and commit), the adaptor's sources. Out: the path of a shared
     library made for exactly that torch, in

         ${XDG_CACHE_HOME:-~/.cache}/flagprof/adaptors/VERSION-COMMIT12-cxx11abiN-cpXY-SOURCE12/adaptor.so

     Another torch, another Python or other sources are another folder. Where the cache cannot be written, it is below
     the temporary folder. Two processes at once: one builds, the other waits and finds it. A build is complete or absent,
     since it is made beside its place and then renamed.

`python -m flagprof._build` builds it now. `compile_against_torch` serves other small C++ libraries (the simulated
accelerator's torch backend) in the same way.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

from flagprof import _paths
from flagprof._say import say

SOURCES = ("text.cc", "fields.cc", "rows.cc", "handover.cc", "session.cc", "adaptor.cc")
COMPILE_LIMIT_S = 600
STANDARD = "-std=c++20"


class BuildFailed(Exception):
    """No library: the text says why and what to do."""


# ---- The torch that is there


class Torch:
    """What of a torch build decides whether a library fits it."""

    def __init__(self):
        try:
            import torch
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise BuildFailed(f"there is no torch in {sys.executable}, and the adaptor is made for one: install torch") from None

        self.folder = pathlib.Path(torch.__file__).resolve().parent
        self.version = torch.__version__
        self.commit = torch.version.git_version or "unknown"
        self.cxx11_abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)

    def key(self):
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        return f"{self.version}-{self.commit[:12]}-cxx11abi{self.cxx11_abi}-{python}"

    def flags(self):
        include = self.folder / "include"
        return [
            f"-D_GLIBCXX_USE_CXX11_ABI={self.cxx11_abi}",
            "-isystem", include / "kineto",
            "-isystem", include,
            "-isystem", include / "torch" / "csrc" / "api" / "include",
            f"-L{self.folder / 'lib'}",
            "-ltorch_cpu",
            "-lc10",
        ]  # fmt: skip


# ---- Where libraries are kept


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "flagprof" / "adaptors"


def _writable(folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


# In a folder that all may write to, one made by somebody else could hold somebody else's code.
def _own(folder):
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    return folder.is_dir() and not folder.is_symlink() and status.st_uid == os.getuid() and not status.st_mode & 0o022


def _places():
    yield cache_folder()
    fallback = pathlib.Path(tempfile.gettempdir()) / f"flagprof-{os.getuid()}"
    if _own(fallback):
        yield fallback / "adaptors"


# ---- Compiling


def _compiler():
    chosen = os.environ.get("CXX")
    if chosen:
        return shlex.split(chosen)
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return [name]
    raise BuildFailed("there is no C++ compiler (c++, g++ or clang++): install one, for instance the package g++")


def _run_compiler(command):
    try:
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, errors="replace", timeout=COMPILE_LIMIT_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildFailed(f"the compiler could not be run: {error}") from error
    if done.returncode != 0:
        told = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        raise BuildFailed(f"compiling failed: {' '.join(told[:1]) or 'exit ' + str(done.returncode)}")


# One translation unit: torch's headers are most of the time, and they are read once.
def _compile(torch, sources, arguments, output):
    unit = output.with_suffix(".all.cc")
    unit.write_text("".join(f'#include "{source}"\n' for source in sources))
    _run_compiler(
        [*_compiler(), STANDARD, "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-o", output, unit]
        + [*arguments, *torch.flags()]
    )
    unit.unlink()


def _digest(paths, arguments):
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update("\0".join(map(str, arguments)).encode())
    return digest.hexdigest()[:12]


@contextlib.contextmanager
def _locked(path):
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_at(place, name, make):
    folder = place / name
    library = folder / "adaptor.so"
    if library.exists():
        return library
    if not _writable(place):
        return None
    with _locked(place / f"{name}.lock"):
        if library.exists():
            return library
        work = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}.", dir=place))
        try:
            make(work / "adaptor.so")
            shutil.rmtree(folder, ignore_errors=True)
            work.chmod(0o755)
            work.rename(folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return library


def compile_against_torch(sources, watched, arguments=(), title="", places=None, found_at=(), against=()):
    """The path of a shared library made of `sources` for the torch that is installed, built now if it is not there.

    `watched`: every file whose change asks for another build. `arguments`: further ones for the compiler; `found_at`: those
    that only say where files lie, so that the same sources elsewhere need no other build. `against`: the libraries among
    them, by whose names the linker has the result ask for them. `title`: how the result is called in the line that says
    that it is being built. Raises BuildFailed.
    """
    torch = Torch()
    arguments = list(arguments)
    try:
        name = f"{torch.key()}-{_digest(watched, [*arguments, *(path.resolve().name for path in against)])}"
    except OSError as error:
        raise BuildFailed(f"a source file is missing: {error}. Install FlagProf again") from error

    def make(output):
        say(f"building {title} for torch {torch.version}, once (a few seconds)")
        _compile(torch, sources, [*arguments, *found_at, *against], output)

    for place in places or _places():
        library = _build_at(place, name, make)
        if library is not None:
            return library
    raise BuildFailed(f"neither {cache_folder()} nor {tempfile.gettempdir()} can be written")


def _arguments(torch, ablation):
    return [
        "-Wall", "-Wextra", "-DFMT_HEADER_ONLY", "-DKINETO_NAMESPACE=libkineto",
        f'-DFLAGPROF_TORCH_VERSION="{torch.version}"',
        f'-DFLAGPROF_TORCH_GIT="{torch.commit}"',
        *(["-DFLAGPROF_ABLATION"] if ablation else []),
    ]  # fmt: skip


def adaptor_flags(torch, ablation=False):
    """All that a compiler needs to read the adaptor's sources, for those who look at them and build nothing."""
    places = [f"-I{_paths.source()}", f"-I{_paths.include()}"]
    return [STANDARD, *_arguments(torch, ablation), *places, *torch.flags()]


def adaptor(ablation=False):
    """The path of the adaptor for the torch that is installed. `ablation`: the test build, whose faults can be chosen."""
    source, include, library = _paths.source(), _paths.include(), _paths.library()
    if source is None or include is None or library is None:
        raise BuildFailed("this installation has no adaptor sources: install FlagProf again")
    arguments = _arguments(Torch(), ablation)
    kineto = source / "kineto"
    watched = sorted(kineto.glob("*.cc")) + sorted(kineto.glob("*.h")) + sorted((include / "flagprof").glob("*.h"))
    title = "the adaptor to torch.profiler" + (" with test faults" if ablation else "")
    found_at = [f"-I{source}", f"-I{include}"]
    # A wheel's library has another soname than a build tree's: an adaptor made for one does not load with the other.
    return compile_against_torch(
        [f"kineto/{name}" for name in SOURCES], watched, arguments, title, found_at=found_at, against=[library]
    )


if __name__ == "__main__":
    try:
        print(adaptor())
    except BuildFailed as failed:
        sys.exit(f"flagprof: {failed}")
