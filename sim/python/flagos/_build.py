# _build.py - the torch backend's library for the torch that runs, built at its first use.
#
# In:  torch's headers and libraries, the sources in sim/torch, a C++ compiler (CXX, else g++, c++ or clang++).
# Out: the path of a library whose name says torch's commit, its C++ ABI, and the sources it was made from, so that an
#      upgraded torch or a changed source never meets an old library.
#
# Two processes may build at once: each works in a folder of its own and moves the result into place in one step, and
# the second waits for the first. A cache that cannot be written is replaced by a temporary one of this process.

import concurrent.futures
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from . import _places

# Files compiled together, since reading torch's headers takes longer than anything else; the longest unit first.
UNITS = (
    ("copies.cpp", "fallback.cpp", "sizes.cpp", "autocast.cpp"),
    ("memory.cpp", "device.cpp", "interface.cpp", "kernels.cpp"),
)


class BuildError(RuntimeError):
    """The backend cannot be built here; the text says why and what to do."""


def _key(torch, source):
    digest = hashlib.sha256()
    for path in [source / "flagsim.h", *sorted((source / "torch").glob("*.*"))]:
        digest.update(path.read_bytes())
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    version = torch.__version__.split("+")[0]
    commit = (torch.version.git_version or "unknown")[:12]
    return f"flagos-torch{version}-{commit}-abi{abi}-{digest.hexdigest()[:12]}.so"


def _compiler():
    wanted = [os.environ["CXX"]] if os.environ.get("CXX") else ["g++", "c++", "clang++"]
    for name in wanted:
        if shutil.which(name.split()[0]):
            return name.split()
    raise BuildError(f"flagos: no C++ compiler ({', '.join(wanted)}) found; install one (Debian: g++) or set CXX")


def _standard(torch):
    major, minor = (int(part) for part in torch.__version__.split(".")[:2])
    return "-std=c++20" if (major, minor) >= (2, 12) else "-std=c++17"


def _run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        shown = "\n".join(done.stdout.splitlines()[:30])
        raise BuildError(f"flagos: building the torch backend failed: {' '.join(command)}\n{shown}")


def flags(torch):
    """All that a compiler needs to read the backend's sources with this torch."""
    include = pathlib.Path(torch.__file__).resolve().parent / "include"
    return [
        _standard(torch), "-O1", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        "-isystem", str(include), "-isystem", str(include / "torch" / "csrc" / "api" / "include"),
    ]  # fmt: skip


def _compile(torch, source, work, target):
    home = pathlib.Path(torch.__file__).resolve().parent
    compiler = _compiler()
    objects, commands = [], []
    for number, files in enumerate(UNITS):
        unit = work / f"unit{number}.cpp"
        unit.write_text("".join(f'#include "{source / "torch" / name}"\n' for name in files))
        objects.append(unit.with_suffix(".o"))
        commands.append([*compiler, *flags(torch), "-c", str(unit), "-o", str(objects[-1])])
    with concurrent.futures.ThreadPoolExecutor(min(len(commands), os.cpu_count() or 1)) as workers:
        list(workers.map(_run, commands))
    libraries = _places.libraries()
    _run([
        *compiler, "-shared", "-o", str(target), *map(str, objects),
        f"-L{home / 'lib'}", "-ltorch_cpu", "-lc10", str(libraries / "libflagsim.so"),
    ])  # fmt: skip


def _writable(folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return pathlib.Path(tempfile.mkdtemp(prefix="flagos-"))


def library(torch):
    """The backend's path for this torch; builds it if need be, and then says so in one line."""
    source = _places.sources()
    name = _key(torch, source)
    found = _places.cache() / name
    if found.exists():
        return found
    folder = _writable(_places.cache())
    with open(folder / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / name).exists():
            return folder / name
        print(
            f"flagos: building the simulated device for torch {torch.__version__} (once, about half a minute)",
            file=sys.stderr,
            flush=True,
        )
        with tempfile.TemporaryDirectory(dir=folder, prefix=".work-") as work:
            made = pathlib.Path(work) / name
            _compile(torch, source, pathlib.Path(work), made)
            os.replace(made, folder / name)
    return folder / name
