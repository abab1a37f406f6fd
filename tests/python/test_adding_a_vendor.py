# test_adding_a_vendor.py - docs/adding-a-vendor.md is true: its example is built as it stands there, with FlagProf's headers
# alone, and records.
#
# In:  the code blocks of the document, each of which names its file; the built library and its headers. Out: what `flagprof
#      info` and the example's own program say, and what becomes of plug-ins that are none.

import json
import os
import pathlib
import re
import shutil

import pytest
from conftest import run

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "adding-a-vendor.md"
BLOCK = re.compile(r"^```(?:c|sh) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CLEAN = {name: None for name in ("FLAGOS_ACCELERATOR", "FLAGOS_TRACER_PLUGIN", "FLAGOS_TRACER_LIBRARY", "FLAGOS_TRACER_PLUGIN_DIR")}


@pytest.fixture(scope="module")
def example(tree, tmp_path_factory):
    """The folder with what the document's commands made of the document's code."""
    folder = tmp_path_factory.mktemp("acme")
    blocks = dict(BLOCK.findall(DOCUMENT.read_text()))
    assert {"acme.h", "acme.c", "acme_tracer.c", "acme_work.c", "try.c", "build.sh"} <= set(blocks)
    for name, text in blocks.items():
        (folder / name).write_text(text)
    # As installed: the headers alone, in a folder of their own.
    if tree.installed:
        library = next(iter(sorted(tree.installed.rglob("libflagprof.so"))))
        headers = next(iter(sorted(tree.installed.rglob("tracer_plugin.h")))).parent
    else:
        library, headers = tree.build / "libflagprof.so", tree.root / "include" / "flagprof"
    if not library.exists():
        pytest.skip(f"{library} is not built")
    shutil.copytree(headers, folder / "include" / "flagprof")
    if (generated := tree.build / "include" / "flagprof").is_dir() and not tree.installed:
        shutil.copytree(generated, folder / "include" / "flagprof", dirs_exist_ok=True)
    environment = {**CLEAN, "INCLUDE": folder / "include", "LIBFLAGPROF": library}
    run(["sh", "-e", "build.sh"], cwd=folder, env=environment).ok()
    (folder / "library").symlink_to(library.parent)
    return folder


def environment(folder, **more):
    paths = f"{folder}:{folder / 'library'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    return {**CLEAN, "LD_LIBRARY_PATH": paths, **more}


def rows_of(run_cli, folder, **more):
    table = json.loads(run_cli("info", "--json", env=environment(folder, **more)).stdout)["accelerators"]
    return {row["accelerator"]: row for row in table}


def test_the_plugin_of_the_document_records_and_keeps_operators_apart(example):
    plugin = example / "acme_tracer.so"
    done = run([example / "try"], env=environment(example, FLAGOS_TRACER_PLUGIN=plugin)).ok()
    assert done.stdout.splitlines() == [
        "axpy(float*, int) of operator 0", "axpy(float*, int) of operator 1", "of_nobody of operator nobody", "acme: complete",
    ]  # fmt: skip
    assert done.stderr == ""


def test_the_plugin_of_the_document_keeps_the_contract(example, run_cli):
    more = {"FLAGOS_TRACER_PLUGIN": example / "acme_tracer.so", "FLAGOS_TRACER_LIBRARY": example / "libacme.so"}
    arguments = ("conformance", "--row", "acme", "--workload", example / "acme_work.so", "--json")
    done = run_cli(*arguments, env=environment(example, **more))
    cases = json.loads(done.stdout)["cases"]
    assert [(case["case"], case["seen"]) for case in cases if case["result"] != "pass"] == []
    assert len(cases) == 12 and done.returncode == 0


def test_info_shows_a_plugin_first_and_gives_it_its_library(example, run_cli):
    more = {"FLAGOS_TRACER_PLUGIN": example / "acme_tracer.so", "FLAGOS_TRACER_LIBRARY": example / "libacme.so"}
    rows = rows_of(run_cli, example, **more)
    assert next(iter(rows)) == "acme"
    assert (rows["acme"]["state"], rows["acme"]["tracer"]) == ("used", "acme")
    assert rows["acme"]["library"] == str(example / "libacme.so")
    assert [name for name, row in rows.items() if row["owns_library"]] == ["acme"]


def test_a_folder_of_plugins_comes_after_what_is_built_in_and_before_what_cannot_be_traced(example, run_cli, tmp_path):
    shutil.copy(example / "acme_tracer.so", tmp_path / "b.so")
    (tmp_path / "a.so").write_text("no object at all")
    (tmp_path / "notes.txt").write_text("not looked at")
    rows = rows_of(run_cli, example, FLAGOS_TRACER_PLUGIN_DIR=tmp_path)
    names = list(rows)
    assert names.index("dcu") < names.index("a.so") < names.index("acme") < names.index("bpu")
    assert rows["acme"]["state"] == "used"
    assert rows["a.so"]["state"] == "refused" and rows["a.so"]["reason"]
    assert "notes.txt" not in rows


def test_a_plugin_that_lies_below_the_prefix_is_found_by_the_command_and_by_the_library(example, tree, tmp_path):
    library = (example / "library" / "libflagprof.so").resolve()
    for folder, files in (("bin", [tree.cli]), ("lib", [library]), ("lib/flagprof/tracers", [example / "acme_tracer.so"])):
        (tmp_path / folder).mkdir(parents=True)
        for file in files:
            shutil.copy(file, tmp_path / folder)
    for name in library.parent.glob("libflagprof.so*"):
        if not (tmp_path / "lib" / name.name).exists():
            (tmp_path / "lib" / name.name).symlink_to(library.name)
    paths = {**environment(example), "LD_LIBRARY_PATH": f"{tmp_path / 'lib'}:{example}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    rows = json.loads(run([tmp_path / "bin" / "flagprof", "info", "--json"], env=paths).stdout)["accelerators"]
    assert [row["state"] for row in rows if row["accelerator"] == "acme"] == ["used"]
    assert run([example / "try"], env=paths).ok().stdout.endswith("acme: complete\n")


BROKEN = {
    "another version": ("FP_TRACER_PLUGIN_VERSION,", "FP_TRACER_PLUGIN_VERSION + 1,", "was compiled for version 2"),
    "no drain": (".drain = acme_drain,", "", "has no drain"),
    "ops of an older header without drain": (".size = sizeof ops,", ".size = offsetof(struct fp_tracer_ops, drain),", "has no drain"),
    "half of a pair": (".pop = acme_pop_id,", "", "one of push and pop"),
    "nothing": ("    return &plugin;", "    (void)plugin;\n    return NULL;", "factory gives nothing"),
    "a size that says nothing": (".size = sizeof plugin,", ".size = 0,", "factory gives nothing"),
    "no operations": (".ops = &ops,", "", "gives no operations"),
    "a size without operations": (".size = sizeof plugin,", ".size = offsetof(struct fp_tracer_plugin, ops),", "gives no operations"),
    "no name": ('.accelerator = "acme",', '.accelerator = "a b",', "name is no word"),
    "no factory": ("fp_tracer_plugin_get(void) {", "somebody_else(void);\nconst struct fp_tracer_plugin *somebody_else(void) {",
                   "exports no fp_tracer_plugin_get"),
}  # fmt: skip


@pytest.mark.parametrize("flaw", BROKEN)
def test_a_plugin_that_is_none_is_refused_with_the_reason_and_the_program_goes_on(example, run_cli, tmp_path, flaw):
    old, new, reason = BROKEN[flaw]
    source = (example / "acme_tracer.c").read_text()
    assert source.count(old) == 1
    (tmp_path / "broken.c").write_text(source.replace(old, new))
    flags = ["-std=c11", "-D_GNU_SOURCE", "-w", "-fPIC", "-shared", f"-I{example}", f"-I{example / 'include'}"]
    run(["cc", *flags, "-o", tmp_path / "broken.so", tmp_path / "broken.c"]).ok()
    done = run_cli("info", "--json", env=environment(example, FLAGOS_TRACER_PLUGIN=tmp_path / "broken.so"))
    rows = {row["accelerator"]: row for row in json.loads(done.stdout)["accelerators"]}
    assert rows["broken.so"]["state"] == "refused" and reason in rows["broken.so"]["reason"]
    assert done.stderr.count("is not used") == 1 and reason in done.stderr
    assert "cuda" in rows


def compile_changed(example, tmp_path, old, new):
    source = (example / "acme_tracer.c").read_text()
    assert source.count(old) == 1
    (tmp_path / "changed.c").write_text(source.replace(old, new))
    flags = ["-std=c11", "-D_GNU_SOURCE", "-w", "-fPIC", "-shared", f"-I{example}", f"-I{example / 'include'}"]
    run(["cc", *flags, "-o", tmp_path / "changed.so", tmp_path / "changed.c"]).ok()
    return tmp_path / "changed.so"


@pytest.fixture
def real(example, tmp_path):
    """The document's tracer as it would be on hardware."""
    return compile_changed(example, tmp_path, '    found.simulated = "acme.c"; // NULL where there is hardware\n', "")


def test_what_says_that_it_is_no_simulation_is_reported_as_hardware(example, run_cli, real):
    more = {"FLAGOS_TRACER_PLUGIN": real, "FLAGOS_TRACER_LIBRARY": example / "libacme.so"}
    arguments = ("conformance", "--row", "acme", "--workload", example / "acme_work.so", "--json")
    report = json.loads(run_cli(*arguments, env=environment(example, **more)).stdout)
    assert report["rows"][0]["ran_on"] == "hardware" and report["rows"][0]["device"] == "Acme One"
    assert any(note.startswith("acme: HARDWARE, Acme One. Library ") for note in report["notes"]), report["notes"]


def test_an_accelerator_that_is_there_comes_before_a_simulated_one_whatever_the_order(example, run_cli, tree, real, tmp_path):
    facades = sorted(tree.build.glob("sim/ppu/libhgpti.so"))
    if not facades:
        pytest.skip("no simulated library is built")
    (tmp_path / "tracers").mkdir()
    shutil.copy(real, tmp_path / "tracers" / "acme.so")
    more = {"FLAGOS_TRACER_PLUGIN_DIR": tmp_path / "tracers", "LD_PRELOAD": facades[0]}
    rows = rows_of(run_cli, example, **more)
    assert list(rows).index("ppu") < list(rows).index("acme")
    assert (rows["ppu"]["state"], rows["acme"]["state"]) == ("usable", "used")
    shutil.copy(example / "acme_tracer.so", tmp_path / "tracers" / "acme.so")
    rows = rows_of(run_cli, example, **more)
    assert (rows["ppu"]["state"], rows["acme"]["state"]) == ("used", "usable"), "of two simulated ones the first"


def test_a_tracer_that_opens_and_gives_none_is_refused(example, run_cli, tmp_path):
    plugin = compile_changed(example, tmp_path, "    *tracer = acme;\n", "")
    rows = rows_of(run_cli, example, FLAGOS_TRACER_PLUGIN=plugin, FLAGOS_TRACER_LIBRARY=example / "libacme.so")
    assert rows["acme"]["state"] == "refused" and "gives no tracer" in rows["acme"]["reason"]


def test_a_plugin_that_ends_the_process_is_the_last_thing_that_the_story_tells(example, run_cli, tmp_path):
    plugin = compile_changed(example, tmp_path, "    return &plugin;", "    __builtin_trap();\n    return &plugin;")
    done = run_cli("info", env=environment(example, FLAGOS_TRACER_PLUGIN=plugin, FLAGOS_TRACE="1"))
    assert done.returncode < 0 and f"loading {plugin}" in done.stderr.splitlines()[-1], done


def test_a_folder_of_plugins_that_is_not_there_is_said(example, run_cli):
    done = run_cli("info", env=environment(example, FLAGOS_TRACER_PLUGIN_DIR="/nowhere/tracers"))
    assert done.stderr.count("/nowhere/tracers: No such file") == 1
    assert "FLAGOS_TRACER_PLUGIN_DIR is set to /nowhere/tracers" in " ".join(done.stdout.split())


def test_a_plugin_without_what_came_later_works(example, tmp_path):
    source = (example / "acme_tracer.c").read_text()
    shorter = source.replace(".size = sizeof ops,", ".size = offsetof(struct fp_tracer_ops, to_epoch),")
    shorter = shorter.replace(".size = sizeof plugin,", ".size = offsetof(struct fp_tracer_plugin, library_symbol),")
    (tmp_path / "old.c").write_text(shorter)
    flags = ["-std=c11", "-D_GNU_SOURCE", "-w", "-fPIC", "-shared", f"-I{example}", f"-I{example / 'include'}"]
    run(["cc", *flags, "-o", tmp_path / "old.so", tmp_path / "old.c"]).ok()
    done = run([example / "try"], env=environment(example, FLAGOS_TRACER_PLUGIN=tmp_path / "old.so")).ok()
    assert done.stdout.endswith("acme: complete\n")
