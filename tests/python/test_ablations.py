# test_ablations.py - no countermeasure against what fails silently is left out of the tables that switch it off.
#
# In:  the tables of tests/c/*_ablation.c and the tracers' fp_ablated(...). Out: nothing; a vendor's gap is named. That each
#      row makes its scenario fail is those tables' own business.

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SILENT = {"ids", "clock", "iterator", "lost"}

# vendor: its table, the first word of its rows where several share a table, and the tracer's files.
TWINS = ("twin_session", "twin_decode")
VENDORS = {
    "cuda": ("cupti", None, ("cupti", "cupti_decode", "cupti_open")),
    "ppu": ("twin", "ppu", (*TWINS, "cupti_ppu")),
    "metax": ("twin", "mcpti", (*TWINS, "mcpti")),
    "musa": ("twin", "mupti", (*TWINS, "mupti")),
    "dcu": ("roctracer", None, ("roctracer", "roctracer_decode", "roctracer_entries", "roctracer_open")),
    "ascend": ("mspti", None, ("mspti", "mspti_decode")),
    "gcu": ("topspti", None, ("topspti", "topspti_decode", "topspti_calibrate")),
}
# The same under another name, or why there is none.
NAMED_OTHERWISE = {("ppu", "iterator"): "stride", ("dcu", "lost"): "flush"}
NONE = {
    ("musa", "iterator"): "its records are as long as the layout says, and no quirk of its iterator is known",
    ("dcu", "iterator"): "records are of one size in every release: there is nothing to step wrongly over",
}


def rows(vendor):
    table, word, _ = VENDORS[vendor]
    text = (ROOT / "tests" / "c" / f"{table}_ablation.c").read_text().split("*countermeasure", 1)[1]
    found = []
    for row in re.findall(r"^    \{ ([^\n]*\")", text, re.MULTILINE):
        names = re.findall(r'"([^"]*)"', row)
        if word is None or names[0] == word:
            found.append(names[0] if word is None else names[1])
    return set(found)


@pytest.mark.parametrize("vendor", VENDORS)
def test_ids_clock_iterator_and_lost_records_are_switched_off_for_every_vendor(vendor):
    wanted = {NAMED_OTHERWISE.get((vendor, name), name) for name in SILENT if (vendor, name) not in NONE}
    assert wanted <= rows(vendor), f"{vendor} lacks {wanted - rows(vendor)}"


def test_every_accelerator_with_a_tracer_is_among_them(tree):
    text = (ROOT / "src" / "tracers" / "table.c").read_text()
    traced = {name for name, ops in re.findall(r'\{ "(\w+)", &(\w+)', text) if "unavailable" not in ops}
    assert traced == set(VENDORS)


def test_every_countermeasure_that_can_be_switched_off_is_in_a_table_and_the_reverse():
    for table in {table for table, _, _ in VENDORS.values()}:
        mine = [vendor for vendor in VENDORS if VENDORS[vendor][0] == table]
        sources = "".join((ROOT / "src" / "tracers" / f"{name}.c").read_text() for vendor in mine for name in VENDORS[vendor][2])
        assert set(re.findall(r'fp_ablated\("(\w+)"\)', sources)) == set().union(*map(rows, mine)), table
