#!/usr/bin/env python3
# check_layouts.py - does a mirror of ours agree with the vendor's own header? A guess becomes a fact in one command.
#
# In:  a vendor, whose <vendor>.def beside this file lists what to compare (its first lines say how to write one), and
#      the folders with the vendor's headers. Out: each field, number and prototype that differs; status 1 if any does.
# How: C is generated with one comparison a line and compiled. A line that does not compile names something this header
#      lacks; it is taken out and the rest compiled again, so one missing field hides no other.
# Only the given folders are searched for vendor headers: an SDK that happens to be installed must not answer instead.

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parent.parent / "src"
# An accelerator as FLAGOS_ACCELERATOR names it, where the mirror is called after the company.
COMPANIES = {"cuda": "nvidia", "dcu": "amd"}
MARK = "comparison"  # the file name that #line gives to comparisons, to find them again in the compiler's errors


USAGE = "make check-layouts VENDOR=musa INCLUDE=/usr/local/musa/include"


class LayoutError(Exception):
    pass


def known_vendors():
    return sorted({path.stem for path in HERE.glob("*.def")} | set(COMPANIES))


class Comparison:
    """One line of C: what the header says against what the mirror says."""

    def __init__(self, what, header, mirror, need="may", group=None):
        self.what = what  # as a person reads it: CUpti_ActivityKernel9.start
        self.header = header  # two C expressions: offset and size, or a number and 4
        self.mirror = mirror
        self.behind = None  # (another field of this header, bytes): where this one must lie, instead of an offset of ours
        self.need = need  # may: absence is reported; must: absence is a difference, unless beyond the struct's size
        self.group = group  # the struct it belongs to
        self.absent = False
        self.is_place = False  # without a struct of its own, yet an offset


class Definition:
    def __init__(self, vendor):
        self.path = HERE / f"{COMPANIES.get(vendor, vendor)}.def"
        if not self.path.is_file():
            raise LayoutError(f"no mirror of vendor {vendor} is described in {HERE}; known are: {', '.join(known_vendors())}")
        self.mirror, self.api, self.calls = None, None, None
        self.includes, self.flags, self.foreign, self.comparisons = [], [], [], []
        self.fields = {}  # mirror type: the names of its members that are compared
        self.families = {}  # mirror type: the vendor's types that it reads
        self.read()

    def read(self):
        structs, reading_fields = [], False
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            text = line.split("#")[0].rstrip()
            if not text:
                continue
            words = text.split()
            if text[0].isspace():
                reading_fields = True
                for theirs, ours, size, expected in structs:
                    self.add_field(theirs, ours, size, expected, words)
                continue
            if words[0] == "struct":
                structs = [] if reading_fields else structs
                reading_fields = False
                structs.append(self.add_struct(*words[1:]))
            elif words[0] in ("mirror", "api"):
                setattr(self, words[0], words[1])
            elif words[0] in ("include", "flags", "foreign"):
                getattr(self, {"include": "includes"}.get(words[0], words[0])).extend(words[1:])
            elif words[0] == "value":
                self.comparisons.append(Comparison(words[1], (words[1], "4"), (words[2], "4")))
            elif words[0] == "calls":
                self.calls = words[1:]
            elif words[0] == "call":
                self.add_call(words[1], words[2:])
            elif words[0] == "function":
                self.add_function(words[1], text.split(None, 2)[2])
            else:
                raise LayoutError(f"{self.path}:{number}: unknown word {words[0]}")

    def add_struct(self, theirs, ours, size=None):
        c_type, mirror_type = type_name(theirs), type_name(ours)
        expected = {"any": "-1", None: f"sizeof({mirror_type})"}.get(size, size)
        self.families.setdefault(ours, []).append(theirs)
        self.comparisons.append(Comparison(theirs, ("0", f"sizeof({c_type})"), ("0", expected), "may", theirs))
        return theirs, ours, size, expected

    # name | name member | name =OFFSET SIZE | name =FIELD+N SIZE, each with "optional" behind it: padding that a later release named
    def add_field(self, theirs, ours, size, expected, words):
        name, rest = words[0], [word for word in words[1:] if word != "optional"]
        need = "may" if "optional" in words else "must"
        c_type, mirror_type = type_name(theirs), type_name(ours)
        header = (f"offsetof({c_type}, {name})", f"sizeof((({c_type} *)0)->{name})")
        behind = re.fullmatch(r"=([a-z]\w*)(?:\+(\d+))?", rest[0]) if rest else None
        if behind:
            mirror = ("0", rest[1])
        elif rest and rest[0].startswith("="):
            mirror = (rest[0][1:], rest[1])
        else:
            member = rest[0] if rest else name
            self.fields.setdefault(ours.split(":")[-1], set()).add(member)
            mirror = (f"offsetof({mirror_type}, {member})", f"sizeof((({mirror_type} *)0)->{member})")
        comparison = Comparison(f"{theirs}.{name}", header, mirror, need, theirs)
        comparison.expected = expected
        comparison.behind = behind and (f"{theirs}.{behind[1]}", int(behind[2] or 0))
        self.comparisons.append(comparison)

    # Where a struct with every call's arguments has those that a row of a table of ours names.
    def add_call(self, call, columns):
        union = self.calls[0]
        for column, field in zip(columns[::2], columns[1::2], strict=True):
            mirror = (f'row_of("{call}")->{column}', "4")
            comparison = Comparison(f"{call}'s argument {field}", (f"offsetof({union}.{call}.{field})", "4"), mirror)
            comparison.is_place = True
            self.comparisons.append(comparison)

    def add_function(self, symbol, mirror):
        if mirror.startswith("."):
            mirror = f"__typeof__((({type_name(self.api)} *)0)->{mirror[1:]})"
        same = f"__builtin_types_compatible_p(__typeof__(&{symbol}), {mirror})"
        self.comparisons.append(Comparison(f"{symbol}()", ("0", f"{same} ? 1 : 2"), ("0", "1")))


def type_name(word):
    return word.replace("struct:", "struct ")


def program(definition):
    lines = ["#include <stddef.h>", "#include <stdint.h>", "#include <stdio.h>"]
    lines += [f"#include <{name}>" for name in definition.includes]
    lines += [f'#include "{definition.mirror}"', "struct pair { long long offset, size; };"]
    if definition.calls:
        row, table = definition.calls[1:]
        lines += [f"static const {row.replace(':', ' ')} *row_of(const char *name) {{", "    size_t at = 0;"]
        lines += [f"    while (__builtin_strcmp({table}[at].name, name) != 0)", "        at++;"]
        lines += [f"    return &{table}[at];", "}"]
    # Not static: what a row of a table tells is no constant of C's.
    lines += ["int main(void) {", "const struct pair mirror[] = {"]
    lines += [f"    {{ {c.mirror[0]}, {c.mirror[1]} }}," for c in definition.comparisons]
    lines += ["};", "const long long limit[] = {"]
    lines += [f"    {getattr(c, 'expected', '-1')}," for c in definition.comparisons]
    lines += ["};", "const struct pair header[] = {"]
    for number, comparison in enumerate(definition.comparisons):
        pair = "-1, -1" if comparison.absent else ", ".join(comparison.header)
        lines += [f'#line {number + 1} "{MARK}"', f"    {{ {pair} }},"]
    lines += ['#line 1 "program"', "};"]
    lines += ["    for (size_t i = 0; i < sizeof(mirror) / sizeof(mirror[0]); i++)"]
    lines += ['        printf("%lld %lld %lld %lld %lld\\n", mirror[i].offset, mirror[i].size, header[i].offset,']
    lines += ["               header[i].size, limit[i]);", "    return 0;", "}"]
    return "\n".join(lines) + "\n"


def compile_and_run(definition, folders, work):
    source, binary, opened = work / "layouts.c", work / "layouts", work / "layouts.d"
    # Environment variables can add include folders behind our back.
    environment = {name: value for name, value in os.environ.items() if "INCLUDE_PATH" not in name and name != "CPATH"}
    environment["LC_ALL"] = "C"
    command = [os.environ.get("CC", "cc"), "-std=gnu11", "-w", f"-I{SOURCES}", *(f"-I{folder}" for folder in folders)]
    command += [*definition.flags, "-MD", "-MF", str(opened), "-o", str(binary), str(source)]
    for _ in range(8):  # a missing struct hides its fields' errors at most once
        source.write_text(program(definition))
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        if done.returncode == 0:
            break
        failed = {int(number) for number in re.findall(rf"^{MARK}:(\d+):\d+: error:", done.stderr, re.M)}
        if not failed:
            raise LayoutError(why_not_compiled(done.stderr, folders))
        for number in failed:
            definition.comparisons[number - 1].absent = True
    refuse_foreign(definition, folders, opened.read_text())
    ran = subprocess.run([str(binary)], capture_output=True, text=True, timeout=60, check=True)
    return [tuple(int(word) for word in line.split()) for line in ran.stdout.splitlines()]


# One line, which names the folder to give instead where the header lies below a given one.
def why_not_compiled(stderr, folders):
    missing = re.search(r"fatal error: (\S+): No such file", stderr)
    given = ", ".join(map(str, folders))
    if not missing:
        errors = [line for line in stderr.splitlines() if "error" in line] or stderr.splitlines()
        return "the headers do not compile with the mirror: " + "; ".join(errors[:3])
    name = missing[1]
    for folder in folders:
        for depth in ("*", "*/*", "*/*/*"):
            for found in sorted(pathlib.Path(folder).glob(f"{depth}/{name}")):
                below = str(found).removesuffix(f"/{name}")
                return f"{name}: No such file in {given}, but in {below}: name that folder, INCLUDE='{given} {below}' both"
    return f"{name}: No such file in {given} or up to three folders below: INCLUDE names the folders that hold the vendor's headers"


def refuse_foreign(definition, folders, dependencies):
    roots = [pathlib.Path(folder).resolve() for folder in folders] + [SOURCES]
    for name in dependencies.replace("\\\n", " ").split()[1:]:
        path = pathlib.Path(name).resolve()
        inside = any(root in path.parents for root in roots)
        if not inside and any(word in str(path).lower() for word in definition.foreign):
            raise LayoutError(f"{path} was read, which lies in none of the given folders")


class Report:
    def __init__(self):
        self.differing, self.absent, self.agreed = [], [], []


def check(vendor, folders):
    definition = Definition(vendor)
    for folder in folders:
        if not pathlib.Path(folder).is_dir():
            raise LayoutError(f"{folder} is no folder: INCLUDE names the folders that hold the vendor's headers")
    with tempfile.TemporaryDirectory() as work:
        rows = compile_and_run(definition, folders, pathlib.Path(work))
    report = Report()
    missing_structs = {c.what for c in definition.comparisons if c.absent and c.what == c.group}
    offsets = {comparison.what: row[2] for comparison, row in zip(definition.comparisons, rows, strict=True)}
    for comparison, row in zip(definition.comparisons, rows, strict=True):
        mirror, header, limit = row[0:2], row[2:4], row[4]
        if comparison.behind:
            mirror = (offsets[comparison.behind[0]] + comparison.behind[1], mirror[1])
        if comparison.what == comparison.group and mirror[1] < 0:  # of any size
            mirror = header
        if comparison.absent:
            beyond = 0 <= limit < sum(mirror)  # the struct's own version ends before this field
            if beyond or (comparison.group in missing_structs and comparison.what != comparison.group):
                continue  # of a missing struct the name is reported, its fields need not be
            if comparison.need == "may":
                report.absent.append(comparison.what)
            else:
                report.differing.append(f"{comparison.what}: the header has no such field")
        elif mirror != header:
            report.differing.append(f"{comparison.what}: {say(comparison, mirror, header)}")
        else:
            report.agreed.append(comparison.what)
    judge_families(definition, missing_structs, report)
    return report


def say(comparison, mirror, header):
    if comparison.what.endswith("()"):
        return "the header's prototype is another"
    if comparison.what == comparison.group:
        return f"mirror {mirror[1]} bytes, header {header[1]}"
    if comparison.is_place:
        return f"mirror offset {mirror[0]}, header offset {header[0]}"
    if comparison.group is None:
        return f"mirror {mirror[0]}, header {header[0]}"
    return f"mirror offset {mirror[0]} size {mirror[1]}, header offset {header[0]} size {header[1]}"


# Every mirror needs at least one struct of this header behind it; a header with none of them judged nothing.
def judge_families(definition, missing, report):
    for ours, theirs in definition.families.items():
        if all(name in missing for name in theirs):
            report.differing.append(f"{type_name(ours)}: the header has none of {', '.join(theirs)}")


def main():
    parser = argparse.ArgumentParser(description="Compare a mirror with the vendor's real headers.")
    parser.add_argument("vendor", nargs="?", help="the name of a .def file beside this script")
    parser.add_argument("include", nargs="*", help="folders with the vendor's headers")
    options = parser.parse_args()
    try:
        if not options.vendor or not options.include:
            raise LayoutError(f"give a vendor ({', '.join(known_vendors())}) and its headers: {USAGE}")
        report = check(options.vendor, options.include)
    except LayoutError as error:
        print(f"check-layouts: {error}", file=sys.stderr)
        return 2
    for line in report.differing:
        print(line)
    if report.absent:
        print(f"not in these headers, so not judged: {', '.join(report.absent)}")
    print(f"{options.vendor}: {len(report.agreed)} agree, {len(report.differing)} differ")
    return 1 if report.differing else 0


if __name__ == "__main__":
    sys.exit(main())
