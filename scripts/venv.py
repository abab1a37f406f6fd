#!/usr/bin/env python3
# venv.py - the Python environment of this tree: build/venv, or the folder that FLAGPROF_VENV names.
#
# In:  run by the Python that it shall be made from. --tests: what tests/requirements.txt lists too. --torch VERSION: that
#      torch and no other. FLAGPROF_VENV; pip's own configuration.
# Out: a venv that can import torch. A torch 2.10 or newer that this Python can import is used as it is; else pip brings
#      2.13.0, its CPU build where the user's index has one. What will be fetched, and how large it is, is said before.
# Nothing outside the folder is changed. A venv that has all is recognised in a tenth of a second.

import argparse
import concurrent.futures
import fcntl
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
OLDEST = (2, 10)
TORCH = "2.13.0"
NUMPY = "numpy"  # without it torch warns at every start
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")


class Failure(Exception):
    pass


def numbers(version):
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+")[0])[:2])


def folder():
    named = os.environ.get("FLAGPROF_VENV")
    return pathlib.Path(named).absolute() if named else ROOT / "build" / "venv"


def run(command, limit_s=3600, **options):
    try:
        return subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=limit_s, cwd="/", **options
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"{' '.join(map(str, command[:5]))} ... had not ended after {limit_s} s") from None


def installed(python, *names):
    """Versions of packages that a Python has of its own, without importing them; None for one that is not there."""
    code = (
        "import importlib.metadata as m, json, sys\ndef v(n):\n try: return m.version(n)\n except Exception: return None\n"
        "print(json.dumps([v(n) for n in sys.argv[1:]]))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = run([python, "-c", code, *names], 60, env=environment)
    return json.loads(done.stdout) if done.returncode == 0 else [None] * len(names)


def torch_of_this_python():
    """(version, folder of packages) of a torch that can be imported here and is new enough, or None."""
    code = "import torch, os; print(torch.__version__); print(os.path.dirname(os.path.dirname(torch.__file__)))"
    done = run([sys.executable, "-c", code], 300)
    if done.returncode != 0:
        return None
    version, packages = done.stdout.splitlines()[-2:]
    if numbers(version) < OLDEST:
        print(f"{sys.executable} has torch {version}, older than 2.10: it is left alone and not used", flush=True)
        return None
    return version, packages


# A venv sees what its base Python sees, but not what is in another venv, from which this script may be run.
def create(venv, found):
    print(f"Making {venv} from {sys.executable}", flush=True)
    options = ["--system-site-packages"] if found else []
    done = run([sys.executable, "-m", "venv", *options, venv], 300)
    if done.returncode != 0:
        raise Failure(f"{sys.executable} -m venv failed: {(done.stdout + done.stderr).strip()}. Debian: python3-venv")
    if found and installed(venv / "bin" / "python", "torch") == [None]:
        own = run([venv / "bin" / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).stdout
        (pathlib.Path(own.strip()) / "flagprof-torch.pth").write_text(found[1] + "\n")


def pip_says(done):
    lines = (done.stderr + done.stdout).splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["pip said nothing"])[0]


def plan(python, requirements):
    """What pip would fetch for the requirements: its report, or None with what it said."""
    done = run([python, *PIP, "install", "--dry-run", "--quiet", "--report", "-", *requirements])
    if done.returncode != 0:
        return None, pip_says(done)
    return json.loads(done.stdout)["install"], None


def size_of(url):
    """Bytes behind a URL of an index, or None where it does not say."""
    parts = urllib.parse.urlsplit(url)
    try:
        if parts.scheme == "file":
            return os.path.getsize(urllib.request.url2pathname(parts.path))
        certificates = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE")
        context = ssl.create_default_context(cafile=certificates or None)
        request = urllib.request.Request(url, method="HEAD")
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            return int(answer.headers["Content-Length"])
    except Exception:  # a size is a courtesy
        return None


def say_size(items):
    urls = [item["download_info"]["url"] for item in items]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(size_of, urls))
    known = sum(size for size in sizes if size is not None) / 1e6
    unknown = sizes.count(None)
    torch = next(item["metadata"]["version"] for item in items if item["metadata"]["name"] == "torch")
    more = f", and {unknown} whose size the index does not say" if unknown else ""
    print(f"Fetching torch {torch} and what it needs: {len(items)} packages, {known:,.0f} MB{more}", flush=True)


def bring_torch(python, wanted):
    print(f"Asking pip for torch {wanted}", flush=True)
    items, _ = plan(python, [f"torch=={wanted}+cpu", NUMPY])
    if items is None:
        items, said = plan(python, [f"torch=={wanted}", NUMPY])
    if items is None:
        raise Failure(
            f"pip cannot bring torch {wanted}: {said}. With a network try again, "
            f"or install PyTorch 2.10 or newer for {sys.executable}: it is used then"
        )
    say_size(items)
    exact = [f"{item['metadata']['name']}=={item['metadata']['version']}" for item in items if item["requested"]]
    install(python, exact)


def install(python, requirements):
    done = run([python, *PIP, "install", "--quiet", "--progress-bar", "off", *requirements], 7200)
    if done.returncode != 0:
        raise Failure(f"pip cannot install {' '.join(map(str, requirements))}: {pip_says(done)}")


def is_torch_right(version, wanted):
    if version is None:
        return False
    return numbers(version) >= OLDEST if wanted is None else version.split("+")[0] == wanted.split("+")[0]


def provide(venv, tests, wanted):
    python = venv / "bin" / "python"
    mark = venv / "flagprof-requirements.txt"  # the requirements that this venv was given last
    requirements = (ROOT / "tests" / "requirements.txt").read_text()
    torch, pip = installed(python, "torch", "pip") if python.exists() else (None, None)
    if is_torch_right(torch, wanted) and (not tests or mark.exists() and mark.read_text() == requirements):
        return torch
    if pip is None:
        create(venv, None if wanted else torch_of_this_python())
        torch = installed(python, "torch")[0]
    if not is_torch_right(torch, wanted):
        bring_torch(python, wanted or TORCH)
    if tests:
        install(python, ["-r", ROOT / "tests" / "requirements.txt"])
        mark.write_text(requirements)
    return installed(python, "torch")[0]


def main():
    parser = argparse.ArgumentParser(description="Make the venv of this tree, or complete it.")
    parser.add_argument("--tests", action="store_true", help="with what the tests need")
    parser.add_argument("--torch", metavar="VERSION", help=f"this torch (default: any from 2.10 on, else {TORCH})")
    options = parser.parse_args()
    venv = folder()
    venv.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(venv.parent / f".{venv.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            provide(venv, options.tests, options.torch)
    except (Failure, OSError) as error:
        print(f"venv.py: {error}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
