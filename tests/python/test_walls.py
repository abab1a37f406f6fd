# test_walls.py - the house has walls: who may include whom, and what may be seen from outside.
#
# In:  the sources, and the libraries that were built. Out: nothing; a breach names the file and what it reached for.

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
sys.path.insert(0, str(ROOT / "tests"))
from steps import lint  # noqa: E402

SOURCES = sorted(path for path in SRC.rglob("*") if path.suffix in (".c", ".h", ".cc", ".cpp"))
VENDORS = sorted(path.name.removesuffix("_abi.h") for path in (SRC / "tracers").glob("*_abi.h"))

# Which rooms a room may reach into beside its own; include/flagprof is everybody's.
MAY_INCLUDE = {
    "base": set(),
    "tracers": {"base"},
    "recording": {"base", "tracers"},
    "lib": {"base", "tracers", "recording"},
    "trace": {"base", "recording"},
    "analysis": {"base", "trace"},
    "inject": {"base", "recording", "trace"},
    "cli": {"base", "tracers", "recording", "lib", "trace", "analysis", "inject"},
    "kineto": set(),  # built on the user's machine from installed headers: it can have no more than these
}

# How the names of vendors' types, constants and functions begin.
VENDOR_NAMES = re.compile(
    r"\b(CUpti_|CUPTI_|cupti[A-Z]|cuda[A-Z]\w*_t\b|cudaError|CUresult|CUcontext|mspti[A-Z]|MSPTI_|mcpti[A-Z]|MCpti|MCPTI_|"
    r"roctracer_|ROCTRACER_|hip[A-Z]\w*_t\b|mupti[A-Z]|MUpti|MUPTI_|topspti[A-Z]|TOPSPTI_|aclrt|cnpapi|CNPAPI_)\w*"
)
VENDOR_SYMBOL = re.compile(r"(cu(pti|da)?[A-Z]|mspti|mcpti|mc[A-Z]|roctracer|hip[A-Z]|hsa_|mu(pti|sa)?[A-Z]|tops|acl|cn[A-Z])")


def room_of(path):
    return path.relative_to(SRC).parts[0]


def includes(path):
    return lint.INCLUDE.findall(path.read_text())


def test_no_room_includes_one_that_stands_above_it():
    breaches = []
    for path in SOURCES:
        allowed = MAY_INCLUDE[room_of(path)] | {room_of(path), "flagprof"}
        breaches += [f"{path.relative_to(ROOT)} includes {name}" for name in includes(path)
                     if "/" in name and name.split("/")[0] not in allowed]  # fmt: skip
    assert breaches == []


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_vendors_private_headers_are_included_by_its_own_tracer_alone(vendor):
    breaches = []
    for path in SOURCES:
        own = room_of(path) == "tracers" and path.name.startswith(vendor)
        breaches += [f"{path.relative_to(ROOT)} includes {name}" for name in includes(path)
                     if name.split("/")[-1].startswith(f"{vendor}_") and not own]  # fmt: skip
    assert breaches == []


def without_comments_and_texts(source):
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(\\.|[^"\\\n])*"', " ", source, flags=re.DOTALL)


def is_a_vendors(path):
    return room_of(path) == "tracers" and path.name.startswith(tuple(VENDORS))


def test_a_vendors_types_and_functions_are_named_in_its_tracer_alone():
    breaches = []
    for path in SOURCES:
        if not is_a_vendors(path):
            found = VENDOR_NAMES.search(without_comments_and_texts(path.read_text()))
            breaches += [f"{path.relative_to(ROOT)} names {found[0]}"] if found else []
    assert breaches == []


def test_everything_but_the_tracers_compiles_with_their_private_headers_out_of_reach(tmp_path):
    for folder in ("include", "src"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for path in (tmp_path / "src" / "tracers").iterdir():
        is_door = path.name.removesuffix(".h") in VENDORS  # a tracer's ops, which the table needs
        if path.name.startswith(tuple(VENDORS)) and not is_door:
            path.unlink()
    sources = [path for path in (tmp_path / "src").rglob("*.c")]
    assert len(sources) > 10
    command = ["gcc", "-std=c11", "-fsyntax-only", "-D_GNU_SOURCE", '-DFLAGPROF_VERSION="0"', "-Iinclude", "-Isrc"]
    done = subprocess.run([*command, *sources], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def symbols(path, *options):
    shown = subprocess.run(["nm", "-D", *options, path], capture_output=True, text=True, timeout=60, check=True).stdout
    return [line.split()[-1].split("@")[0] for line in shown.splitlines()]


def library(tree):
    found = tree.build / "libflagprof.so"
    if tree.installed:
        found = next(iter(sorted(tree.installed.rglob("libflagprof.so"))), found)
    if not found.exists():
        pytest.skip(f"{found} is not built")
    return found


def test_the_library_shows_fp_names_and_nothing_else(tree):
    shown = [name for name in symbols(library(tree), "--defined-only") if not name.startswith(("fp_", "FLAGPROF_"))]
    assert shown == []


@pytest.mark.parametrize("what", ("library", "command"))
def test_no_vendor_symbol_is_needed_to_load_what_we_built(tree, what):
    path = library(tree) if what == "library" else tree.cli
    needed = [name for name in symbols(path, "--undefined-only") if VENDOR_SYMBOL.match(name)]
    assert needed == []
    linked = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, timeout=60, check=True).stdout
    assert not re.search(r"NEEDED.*(cupti|cuda|mspti|mcpti|roctracer|mupti|tops|libtorch|flagsim)", linked), linked
