# test_adaptor_build.py - building and keeping libraries for the torch that is installed, in every unlucky place.
#
# A source of one line stands for the adaptor: what is tested is the place, the key, the lock and the words, not the
# compiler.

import os
import subprocess

import pytest
from echo_accelerator import adaptor_cache, answer, echo, echo_package, said  # noqa: F401
from forked import run_in_child

BUILD = """
import sys
import torch
from flagprof import _build
from pathlib import Path
source = Path(sys.argv[1])
try:
    against = list(map(Path, sys.argv[2:]))
    print(_build.compile_against_torch([source], [source], title="a test library", against=against))
except _build.BuildFailed as failed:
    print("failed:", failed)
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "one.cc"
    path.write_text('extern "C" int one() { return 1; }\n')
    return path


@pytest.fixture
def build(torch_version, source, tmp_path):
    (tmp_path / "script.py").write_text(BUILD)

    def call(*against, env=None):
        environment = {"XDG_CACHE_HOME": tmp_path / "cache", **(env or {})}
        return run_in_child(tmp_path / "script.py", source, *against, env=environment, cwd=tmp_path).ok()

    return call


def built(done):
    return done.stdout.splitlines()[-1]


def test_a_library_is_built_once_and_again_when_a_source_changes(build, source, tmp_path, torch_version):
    first = build()
    assert built(first).startswith(str(tmp_path / "cache" / "flagprof" / "adaptors" / torch_version))
    assert [line for line in said(first) if "building a test library" in line], first
    again = build()
    assert built(again) == built(first) and said(again) == []
    source.write_text('extern "C" int one() { return 2; }\n')
    other = build()
    assert built(other) != built(first) and len(said(other)) == 1
    assert not [path for path in (tmp_path / "cache" / "flagprof" / "adaptors").iterdir() if path.suffix == ".all"]


def test_a_library_under_another_name_asks_for_a_build_of_its_own_and_one_elsewhere_does_not(build, tmp_path):
    places = [tmp_path / folder / name for folder, name in (("a", "libx.so.0"), ("b", "libx.so.0"), ("c", "libx.so"))]
    for place in places:
        place.parent.mkdir()
        subprocess.run(["cc", "-shared", "-o", place, "-x", "c", "/dev/null", f"-Wl,-soname,{place.name}"], check=True)
    tree, same, wheel = (built(build(place)) for place in places)
    assert tree == same != wheel


def test_the_key_names_torch_its_commit_its_abi_and_python(build, tmp_path):
    (tmp_path / "key.py").write_text(
        "import json, torch, sys\n"
        "print(json.dumps([torch.__version__, torch.version.git_version[:12],"
        " f'cxx11abi{int(torch._C._GLIBCXX_USE_CXX11_ABI)}', f'cp{sys.version_info.major}{sys.version_info.minor}']))"
    )
    key = run_in_child(tmp_path / "key.py", cwd=tmp_path).json()
    folder = os.path.basename(os.path.dirname(built(build())))
    assert folder.startswith("-".join(key) + "-"), folder


def test_two_processes_at_once_build_once(tree, source, tmp_path, build):
    counter = tmp_path / "c++"
    counter.write_text(f'#!/bin/sh\necho run >> {tmp_path}/runs\nsleep 1\nexec c++ "$@"\n')
    counter.chmod(0o755)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, tree.pythonpath)),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "CXX": str(counter),
    }
    command = [tree.python, "-c", BUILD, source]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = [process.communicate(timeout=120)[0].splitlines()[-1] for process in both]
    assert paths[0] == paths[1] and os.path.exists(paths[0]), paths
    assert (tmp_path / "runs").read_text().split() == ["run"]


def test_without_a_compiler_the_words_say_what_to_install(build, tmp_path):
    assert "install" in built(build(env={"PATH": str(tmp_path), "CXX": None}))


def test_a_compiler_that_fails_leaves_nothing_behind(build, tmp_path):
    assert built(build(env={"CXX": "false"})).startswith("failed: compiling failed")
    assert not list((tmp_path / "cache" / "flagprof" / "adaptors").glob("*/"))
    assert built(build()).endswith("adaptor.so")


def test_where_home_cannot_be_written_the_temporary_folder_serves(build, tmp_path):
    (tmp_path / "blocked").write_text("a file where a folder should be")
    done = build(env={"XDG_CACHE_HOME": tmp_path / "blocked", "TMPDIR": tmp_path})
    assert built(done).startswith(str(tmp_path / f"flagprof-{os.getuid()}"))


def test_a_temporary_folder_that_others_may_write_to_is_not_trusted(build, tmp_path):
    (tmp_path / "blocked").write_text("")
    folder = tmp_path / f"flagprof-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    done = build(env={"XDG_CACHE_HOME": tmp_path / "blocked", "TMPDIR": tmp_path})
    assert built(done).startswith("failed: neither")


def test_without_a_compiler_the_cpu_is_profiled_all_the_same(echo, tmp_path):
    done = echo(
        """
import flagprof, torch
for turn in range(2):
    prof = record(lambda: torch.ones(3))
print(json.dumps(sum(e.key == "aten::ones" for e in prof.key_averages())))
""",
        env={"XDG_CACHE_HOME": tmp_path / "cache", "PATH": str(tmp_path), "CXX": None},
    )
    assert answer(done) == 1
    lines = said(done)
    assert len([line for line in lines if "compiler" in line]) == 1, lines


def test_an_adaptor_of_another_torch_is_refused(echo):
    done = echo(
        """
import torch
torch.__version__ = "2.99.0"
from flagprof import _adaptor, _build
try:
    _adaptor.Adaptor(sys.argv[1] if len(sys.argv) > 1 else os.environ["ADAPTOR"])
    print(json.dumps("loaded"))
except _build.BuildFailed as failed:
    print(json.dumps(str(failed)))
""",
        env={"ADAPTOR": newest_adaptor(echo)},
    )
    assert "was made for torch" in answer(done)


def newest_adaptor(echo):
    done = echo("import torch\nfrom flagprof import _build\nprint(json.dumps(str(_build.adaptor())))")
    return answer(done)
