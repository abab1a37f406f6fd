# test_codegen.py - the committed tables of CUDA API names: consistent with each other, with NVIDIA's headers that
# are unpacked, with what torch-cuda shows, and with no rename that nobody reviewed.

import gzip
import json
import os
import pathlib
import re
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "codegen"), str(TREE / "scripts")]
import fetch_cupti  # noqa: E402
import gen_api_names  # noqa: E402


def included(domain):
    text = gen_api_names.include_path(domain).read_text()
    return {int(number): name for number, name in re.findall(r'^\[(\d+)\] = "(\w+)",$', text, re.M)}


def test_the_tables_in_the_source_are_what_the_committed_lists_say():
    assert gen_api_names.check() == []


def test_every_rename_among_the_releases_was_reviewed():
    lines = (TREE / "codegen" / "cupti_renames.txt").read_text().splitlines()
    reviewed = [line for line in lines if not line.startswith("#")]
    found = [line for domain in gen_api_names.DOMAINS for line in gen_api_names.renames(domain)]
    assert set(found) - set(reviewed) == set(), "new renames: see whether the id still means the same call"
    assert reviewed == found
    of_13_0 = [line for line in found if line.startswith("runtime") and line.endswith(" 13.0.85")]
    assert len(of_13_0) == 19  # NVIDIA's release took the _v2 and _v3 out of nineteen runtime entries


@pytest.mark.parametrize("domain", gen_api_names.DOMAINS)
def test_no_placeholder_and_no_suffix_is_ever_shown(domain):
    names = included(domain)
    assert len(names) > 500
    for number, name in names.items():
        assert not gen_api_names.PLACEHOLDER.match(name), f"{number}: {name}"
        assert not re.search(r"_v\d{4,}$|_pt[sd][sz]$", name), f"{number}: {name}"


# The seven releases that the tests fetch, or all sixteen where they are unpacked.
@pytest.mark.parametrize("domain", gen_api_names.DOMAINS)
def test_the_committed_list_says_of_each_release_what_its_header_says(domain):
    here = [release for release in fetch_cupti.RELEASES if (fetch_cupti.folder() / release / "include").is_dir()]
    if not here:
        pytest.skip("no CUPTI headers; scripts/fetch_cupti.py fetches them")
    committed = gen_api_names.read_text(domain)
    digests = gen_api_names.committed_digests()
    for release in here:
        calls = gen_api_names.calls_of_header(domain, fetch_cupti.folder(), release)
        assert gen_api_names.calls_of_text(committed, release) == calls, release
        assert gen_api_names.digest_line(domain, release, calls) in digests
    if here == list(fetch_cupti.RELEASES):
        text = gen_api_names.text_of(domain, gen_api_names.read_headers(domain, fetch_cupti.folder()))
        assert text == (TREE / "codegen" / f"cupti_{domain}.txt").read_text()


# Of the releases that are not fetched the digests alone speak.
@pytest.mark.parametrize("line", (100, -1))
def test_a_list_that_was_changed_by_hand_is_found_without_a_header(line, monkeypatch):
    lists = {domain: gen_api_names.read_text(domain) for domain in gen_api_names.DOMAINS}
    lists["runtime"][line].name += "x"
    monkeypatch.setattr(gen_api_names, "read_text", lists.get)
    assert any("does not say what the header said" in wrong for wrong in gen_api_names.check())


def traces():
    shared = pathlib.Path(os.environ.get("FLAGPROF_SHARED", TREE.parent / "shared")) / "traces"
    fixtures = TREE / "tests" / "fixtures"
    return sorted({path.name: path for path in [*shared.glob("h200_*.gz"), *fixtures.rglob("h200_*.gz")]}.values())


def test_names_equal_those_of_torch_on_cuda():
    if not traces():
        pytest.skip("no h200_*.json.gz trace under tests/fixtures or FLAGPROF_SHARED/traces")
    seen = set()
    for path in traces():
        with gzip.open(path) as file:
            for event in json.load(file)["traceEvents"]:
                if event.get("cat") in ("cuda_runtime", "cuda_driver"):
                    seen.add((event["cat"], event["args"]["cbid"], event["name"]))
    tables = {f"cuda_{domain}": included(domain) for domain in gen_api_names.DOMAINS}
    # torch 2.11 writes INVALID for ids that its own table does not reach; ours has their names.
    shown = {(category, number, tables[category].get(number)) for category, number, _ in seen}
    assert {row for row in seen if row[2] != "INVALID"} - shown == set()
    assert all(name is not None for _, _, name in shown)
