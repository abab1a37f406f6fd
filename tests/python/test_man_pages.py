# test_man_pages.py - every verb has a page, every page is clean, and what a page says of others is true.

import re
import shutil
import subprocess

import pytest


@pytest.fixture(scope="module")
def sources(tree):
    return sorted((tree.root / "docs" / "man").glob("*.scd"))


def verbs(run_cli):
    return re.findall(r"^  (\S+)", run_cli("--help").ok().stdout.split("verbs:\n", 1)[1], re.MULTILINE)


def test_every_verb_has_a_page_and_every_page_a_verb(run_cli, sources):
    pages = {match[1] for path in sources if (match := re.fullmatch(r"flagprof-(.+)\.1", path.stem))}
    assert pages == set(verbs(run_cli))


def test_every_page_is_understood_without_an_error(sources):
    for tool in ("scdoc", "mandoc"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool} here")
    for source in sources:
        page = subprocess.run(["scdoc"], stdin=open(source), capture_output=True, text=True, timeout=60)
        assert page.returncode == 0, f"{source.name}: {page.stderr}"
        # Warnings are about the way scdoc writes paragraphs.
        done = subprocess.run(["mandoc", "-Tlint", "-Werror"], input=page.stdout, capture_output=True, text=True, timeout=60)
        assert done.stdout == "", f"{source.name}: {done.stdout}"


def test_pages_refer_only_to_pages_that_exist(sources):
    exists = {path.stem for path in sources}
    for source in sources:
        for name, section in re.findall(r"\*(flagprof[a-z-]*)\*\((\d)\)", source.read_text()):
            assert f"{name}.{section}" in exists, f"{source.name} refers to {name}({section})"


def test_a_page_names_every_option_of_its_verb_and_no_other(run_cli, tree):
    for verb in verbs(run_cli):
        told = set(re.findall(r"--[a-z][a-z-]+", run_cli(verb, "--help").ok().stdout)) - {"--help", "--version"}
        page = (tree.root / "docs" / "man" / f"flagprof-{verb}.1.scd").read_text()
        named = set(re.findall(r"--[a-z][a-z-]+", page)) - {"--help", "--version"}
        missing = told - named - COMMON
        assert not missing and not named - told - COMMON, f"{verb}: missing {missing}, unknown {named - told - COMMON}"


# What every verb that reads traces takes; a page may name them all or point to the help.
COMMON = {"--format", "--unit", "--output", "--include", "--exclude", "--from", "--to", "--pid", "--device", "--step",
          "--salvage", "--threads"}  # fmt: skip


@pytest.mark.parametrize("verb", ["check", "stats", "diff", "merge", "cut", "fix", "convert", "view", "info"])
def test_a_page_names_the_options_that_the_help_names(run_cli, tree, verb):
    page = (tree.root / "docs" / "man" / f"flagprof-{verb}.1.scd").read_text()
    shown = run_cli(verb, "--help").ok().stdout.split("\noptions:\n", 1)[1].split("\nexamples:\n", 1)[0]
    helped = set(re.findall(r"^  (?:-o, )?--([a-z-]+)", shown, re.MULTILINE))
    paged = set(re.findall(r"\*--([a-z-]+)\*", page)) | ({"output"} if "*-o*" in page else set())
    assert helped - {"help"} == paged - {"help"}
