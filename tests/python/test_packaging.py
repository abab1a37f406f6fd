# test_packaging.py - what an install brings, and that none of it needs the tree it came from.
#
# In:  FLAGPROF_INSTALLED names what `pip install .` made (step `installed`); without it a prefix is filled by
#      `cmake --install` of the build folder, as `make install` does.

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest


@pytest.fixture(scope="module")
def prefix(tree, tmp_path_factory):
    if tree.installed:
        return tree.installed
    if not (tree.build / "cmake_install.cmake").exists():
        pytest.skip(f"{tree.build} is not configured")
    # Staged and under another name than its prefix: nothing in it may know where it will lie.
    stage = tmp_path_factory.mktemp("stage")
    command = ["cmake", "--install", tree.build, "--prefix", "/opt/some where"]
    done = subprocess.run(command, env={**os.environ, "DESTDIR": str(stage)}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return stage / "opt" / "some where"


@pytest.fixture(scope="module")
def package(prefix):
    found = list(prefix.glob("lib/python3*/*-packages/flagprof"))
    assert len(found) == 1, f"one Python package below {prefix}, not {found}"
    return found[0]


def test_every_place_that_the_package_names_is_there(package):
    places = json.loads((package / "_where.json").read_text())
    assert {"library", "command", "include", "source"} <= places.keys()
    optional = {"simulator", "simulator_source"}
    missing = [name for name, place in places.items() if name not in optional and not (package / place).exists()]
    assert missing == []


def test_nothing_installed_knows_the_tree_it_was_built_in(prefix, tree):
    told = []
    for path in prefix.rglob("*"):
        # Debug information names sources; a wheel's direct_url.json and RECORD are pip's.
        if path.is_file() and not path.is_symlink() and ".dist-info" not in str(path):
            text = path.read_bytes()
            if path.suffix in (".json", ".py", ".pc", ".h") and str(tree.root).encode() in text:
                told.append(str(path))
            if b"\x7fELF" == text[:4]:
                shown = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
                if str(tree.root) in shown:
                    told.append(f"{path}: its search path")
    assert told == []


def test_a_c_program_builds_against_what_is_installed_and_runs(prefix, package, tree, tmp_path):
    places = json.loads((package / "_where.json").read_text())
    include, library = package / places["include"], package / places["library"]
    source = tmp_path / "program.c"
    source.write_text('#include <flagprof/version.h>\n#include <stdio.h>\nint main(void) { puts(fp_version()); return 0; }\n')
    binary = tmp_path / "program"
    subprocess.run(["gcc", "-Wall", "-Werror", f"-I{include}", source, "-o", binary, library], check=True, timeout=60)
    environment = {"LD_LIBRARY_PATH": str(library.resolve().parent)}
    shown = subprocess.run([binary], env=environment, capture_output=True, text=True, timeout=60)
    assert shown.stdout.strip() == (tree.root / "VERSION").read_text().strip(), shown.stderr


@pytest.mark.parametrize("language, compiler", (("c", "gcc"), ("c++", "g++")))
def test_each_public_header_compiles_on_its_own(package, language, compiler, tmp_path):
    include = package / json.loads((package / "_where.json").read_text())["include"]
    headers = sorted((include / "flagprof").glob("*.h"))
    assert headers
    for header in headers:
        source = tmp_path / "unit"
        source.write_text(f"#include <flagprof/{header.name}>\n#include <flagprof/{header.name}>\n")
        command = [compiler, "-x", language, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", f"-I{include}", source]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{header.name}: {done.stderr}"


# Debian 12 has 3.25, and refuses things that later ones accept.
def test_the_oldest_cmake_that_the_tree_asks_for_can_configure_it(tree, tmp_path):
    if tree.installed:
        pytest.skip("the tree itself is tried")
    asked = re.search(r"cmake_minimum_required\(VERSION (\S+)\)", (tree.root / "CMakeLists.txt").read_text())[1]
    commands = {shutil.which("cmake", path=folder) for folder in os.environ["PATH"].split(os.pathsep)} - {None}
    versions = {command: subprocess.run([command, "--version"], capture_output=True, text=True).stdout.split()[2]
                for command in commands}  # fmt: skip
    oldest = [command for command, version in versions.items() if version.startswith(asked)]
    if not oldest:
        pytest.skip(f"no cmake {asked} here, only {', '.join(sorted(versions.values()))}")
    command = [oldest[0], "-S", tree.root, "-B", tmp_path, "-G", "Ninja"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_pkg_config_finds_the_headers_wherever_the_prefix_was_moved(prefix, tree):
    files = list(prefix.glob("lib*/**/pkgconfig/flagprof.pc"))
    if tree.installed and not files:
        pytest.skip("a wheel has no pkg-config file")
    text = files[0].read_text()
    up = next(line for line in text.splitlines() if line.startswith("prefix=")).removeprefix("prefix=${pcfiledir}/")
    found = pathlib.Path(os.path.normpath(files[0].parent / up))
    assert found == prefix and (found / "include" / "flagprof" / "flagprof.h").exists()


def test_the_installed_command_runs_without_the_tree_and_without_an_environment(prefix):
    done = subprocess.run([prefix / "bin" / "flagprof", "--version"], env={}, cwd="/", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --- a build for one accelerator ---


@pytest.fixture
def configure(tree, tmp_path):
    if tree.installed:
        pytest.skip("the tree itself is tried")

    def call(accelerator):
        options = ["-DCMAKE_BUILD_TYPE=None", "-DFLAGPROF_TESTS=OFF", "-DFLAGPROF_SIM=OFF"]
        command = ["cmake", "-S", tree.root, "-B", tmp_path / "build", "-G", "Ninja", *options]
        command.append(f"-DFLAGOS_ACCELERATOR={accelerator}")
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    return call


# What a tracer's functions are called by, beside the one that stands for names without a tracer.
WORDS = {
    "cupti": r"fp_cupti_ops|cupti_decode|cuda_driver",
    "cupti_ppu": r"cupti_ppu",
    "mcpti": r"mcpti",
    "mupti": r"mupti",
    "roctracer": r"roctracer|fp_roc_",
    "mspti": r"mspti",
    "topspti": r"topspti|fp_tops_",
}
TWINS = ("cupti_ppu", "mcpti", "mupti")  # which have twin_ in common


def test_a_build_for_one_accelerator_holds_its_tracer_and_no_other(configure, tree, tmp_path):
    rows = dict(re.findall(r'{ "(\w+)", &fp_(\w+)_ops,', (tree.root / "src" / "tracers" / "table.c").read_text()))
    assert set(rows.values()) == {*WORDS, "unavailable"}
    assert (done := configure("cuda")).returncode == 0, done.stderr
    build = tmp_path / "build"
    done = subprocess.run(["ninja", "-C", build, "libflagprof.so"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    # For the others the table alone is compiled anew and all is linked again, by CMake's own commands.
    shown = subprocess.run(["ninja", "-C", build, "-t", "commands", "libflagprof.so"], capture_output=True, text=True, check=True).stdout
    commands = [line for line in shown.splitlines() if re.search(r"table\.c\.o|libfp_tracers\.a|-o libflagprof", line)]
    assert "-DFP_ONLY_CUDA" in "".join(commands)
    for accelerator, tracer in rows.items():
        script = "\n".join(commands).replace("FP_ONLY_CUDA", f"FP_ONLY_{accelerator.upper()}")
        done = subprocess.run(["sh", "-e", "-c", script], cwd=build, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        names = subprocess.run(["nm", build / "libflagprof.so"], capture_output=True, text=True, check=True).stdout
        expected = {tracer, "unavailable"}
        assert set(re.findall(r" [A-Za-z] fp_(\w+)_ops$", names, re.MULTILINE)) == expected, accelerator
        held = {name for name, word in WORDS.items() if re.search(word, names)}
        assert held == expected - {"unavailable"}, accelerator
        assert ("fp_twin_" in names) == (tracer in TWINS), accelerator


def test_a_build_for_an_accelerator_that_is_in_no_row_is_refused(configure):
    done = configure("abacus")
    said = " ".join(done.stderr.split())
    assert done.returncode != 0 and "abacus names no accelerator; known are: cuda, ppu, metax," in said and "gcu" in said
