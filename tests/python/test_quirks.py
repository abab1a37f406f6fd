# test_quirks.py - docs/quirks.md tells of every quirk of the fact sheet and of every switch of the simulator; each switch that
# it names exists, and a test uses it.

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "quirks.md"
# Where the sheet has a table of quirks: the heading's number, as the page's headings end.
SECTIONS = ("1.7", "2.7", "3.7", "4.7", "5.7", "6", "7.9")
OF_ALL = "Faults that every library can have"


def rows(text):
    """The cells of a table's rows, its two heading lines left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def page_sections():
    """The tables by the number of the sheet's heading, and that of faults which are no vendor's."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(), flags=re.MULTILINE)
    numbers = [re.search(r"\((\d(?:\.\d)?)\)$", heading) for heading in parts[1::2]]
    return {number[1] if number else heading: rows(text)
            for number, heading, text in zip(numbers, parts[1::2], parts[2::2])}  # fmt: skip


def faults():
    return set(re.findall(r"^FAULT\((\w+)", (ROOT / "sim" / "faults.def").read_text(), re.MULTILINE))


def named():
    """The switches of the second column, and those that the third mentions among other names."""
    switches = set()
    for row in [row for part in page_sections().values() for row in part]:
        switches |= set(re.findall(r"`([a-z0-9_]+)`", row[1])) | faults() & set(re.findall(r"`([a-z0-9_]+)`", row[2]))
    return switches


def test_every_row_has_a_switch_or_says_why_it_has_none():
    assert set(page_sections()) == {*SECTIONS, OF_ALL}
    for number, part in page_sections().items():
        for row in part:
            assert len(row) == 3, (number, row)
            assert row[1] == "always" or row[1].startswith("none") or re.search(r"`[a-z0-9_]+`", row[1]), (number, row)
            # "none" says why; "always" says what is done about it or where it is seen.
            assert "`" in row[1] or len(row[1]) + len(row[2]) > 20, f"{number}: no reason for {row[0]}"


def test_every_switch_of_the_page_exists_and_every_switch_is_on_the_page():
    assert named() - faults() == set(), "the simulator has no such fault"
    assert faults() - named() == set(), "a row in docs/quirks.md must tell what the fault stands for"


def test_every_switch_is_used_by_a_test():
    tests = "\n".join(path.read_text() for folder in ("c", "python") for path in (ROOT / "tests" / folder).iterdir()
                      if path.suffix in (".c", ".h", ".py") and path.name != "test_quirks.py")  # fmt: skip
    # A word of a text, in a list of switches (commas) or of such lists (spaces), as it is given to FLAGOS_SIM_FAULTS.
    words = {word.partition("=")[0] for text in re.findall(r'"([^"\n]*)"', tests) for word in re.split("[ ,]", text)}
    unused = [name for name in sorted(named()) if name not in words and not re.search(rf"FAULT_{name}\b", tests)]
    assert unused == []


def test_no_row_of_the_fact_sheet_is_missing(shared):
    sheet = shared / "facts" / "vendor-abi.md"
    if not sheet.exists():
        pytest.skip(f"no fact sheet at {sheet}")
    text = sheet.read_text()
    for number in SECTIONS:
        part = page_sections()[number]
        # 7.9 stands on two headings; the first is the quirks'.
        section = re.search(rf"^##+ {re.escape(number)}\.? .*?$(.*?)^##+ ", text, re.MULTILINE | re.DOTALL)[1]
        wanted = rows(section)
        assert len(part) >= len(wanted), f"{number}: the sheet has {len(wanted)} rows, the page {len(part)}"
