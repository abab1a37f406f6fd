#!/usr/bin/env python3
# gen_api_names.py - which CUDA call has which callback id: NVIDIA's headers of sixteen releases made into two tables.
#
# --check     (what the tests run; no network, no headers) the .inc files are what the committed .txt files say, and the .txt
#             files still say of each release what its header said: cupti_digests.txt holds a digest of every header's calls
# --write     makes the .inc files from the .txt files
# --refresh   (by hand, and the diff is reviewed) makes the .txt files and the digests from the wheels that
#             scripts/fetch_cupti.py unpacked, all sixteen, then the .inc files. A rename it brings fails the tests until it
#             stands in cupti_renames.txt.
# --renames   prints every rename that the .txt files hold, in the form of cupti_renames.txt
#
# A .txt line: id, the header's name, first..last release with that name, and the name to show if this line gives it.

import argparse
import hashlib
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent
sys.path.insert(0, str(TREE / "scripts"))
import fetch_cupti  # noqa: E402

DOMAINS = ("runtime", "driver")
PLACEHOLDER = re.compile(r"(cuda|reserved)\d+(_v\d+)?$")
END_MARKS = ("INVALID", "SIZE", "FORCE_INT")


# The name as the program's author wrote it, which is what torch-cuda shows. The four and more digits behind are the
# CUDA version that brought the call, _ptsz and _ptds a per-thread stream. The driver's _v2 is hidden from authors by
# cuda.h's macros and is cut; the runtime's (cudaStreamGetCaptureInfo_v2) is part of the name and stays.
def display_name(domain, name):
    shown = re.sub(r"_v\d{4,}$", "", name)
    shown = re.sub(r"_pt[sd][sz]$", "", shown)
    return re.sub(r"_v\d$", "", shown) if domain == "driver" else shown


def order(release):
    return fetch_cupti.RELEASES.index(release)


class Entry:
    def __init__(self, number, name, first, last):
        self.number, self.name, self.first, self.last = number, name, first, last

    @property
    def placeholder(self):
        return PLACEHOLDER.match(self.name) is not None


# A real name wins over a placeholder, whatever its age; among equals the newest. None: placeholders alone.
def chosen(entries):
    real = [entry for entry in entries if not entry.placeholder]
    return max(real, key=lambda entry: order(entry.last)) if real else None


def by_number(entries):
    numbers = {}
    for entry in entries:
        numbers.setdefault(entry.number, []).append(entry)
    return numbers


# The calls of one release's header: pairs of id and name.
def calls_of_header(domain, folder, release):
    pattern = re.compile(rf"CUPTI_{domain.upper()}_TRACE_CBID_(\w+)\s*=\s*(\w+)")
    text = (folder / release / "include" / f"cupti_{domain}_cbid.h").read_text()
    return {(int(number, 0), name) for name, number in pattern.findall(text) if name not in END_MARKS}


# The same as the committed list has them.
def calls_of_text(entries, release):
    at = order(release)
    return {(entry.number, entry.name) for entry in entries if order(entry.first) <= at <= order(entry.last)}


def read_headers(domain, folder):
    found = {}
    for release in fetch_cupti.RELEASES:
        for number, name in calls_of_header(domain, folder, release):
            found.setdefault((number, name), Entry(number, name, release, release)).last = release
    return sorted(found.values(), key=lambda entry: (entry.number, order(entry.first)))


# domain, release, how many calls, and a digest of them: sixteen headers that nobody needs to have.
def digest_line(domain, release, calls):
    text = "".join(f"{number} {name}\n" for number, name in sorted(calls))
    return f"{domain} {release} {len(calls)} {hashlib.sha256(text.encode()).hexdigest()[:32]}"


def digests(calls_of):
    return [digest_line(domain, release, calls_of(domain, release)) for domain in DOMAINS for release in fetch_cupti.RELEASES]


DIGESTS = HERE / "cupti_digests.txt"
DIGESTS_HEAD = "# The calls of each release's header: domain, release, number, digest. Written by gen_api_names.py --refresh."


def committed_digests():
    return [line for line in DIGESTS.read_text().splitlines() if not line.startswith("#")]


def text_of(domain, entries):
    lines = [
        f"# CUDA {domain} calls by callback id, from cupti_{domain}_cbid.h of {fetch_cupti.RELEASES[0]} to",
        f"# {fetch_cupti.RELEASES[-1]}. Written by gen_api_names.py --refresh: id, name, releases, name to show.",
    ]
    picked = {chosen(same) for same in by_number(entries).values()}
    for entry in entries:
        shown = display_name(domain, entry.name) if entry in picked else "-"
        lines.append(f"{entry.number} {entry.name} {entry.first}..{entry.last} {shown}")
    return "\n".join(lines) + "\n"


def read_text(domain):
    entries = []
    for line in (HERE / f"cupti_{domain}.txt").read_text().splitlines():
        if not line.startswith("#"):
            number, name, releases, _ = line.split()
            entries.append(Entry(int(number), name, *releases.split("..")))
    return entries


def include_of(domain, entries):
    lines = [f"// CUDA {domain} calls by callback id. Generated by codegen/gen_api_names.py; do not edit."]
    for number, same in sorted(by_number(entries).items()):
        entry = chosen(same)
        if entry is not None:
            lines.append(f'[{number}] = "{display_name(domain, entry.name)}",')
    return "\n".join(lines) + "\n"


def include_path(domain):
    return TREE / "src" / "tracers" / f"cupti_{domain}_names.inc"


# Every change of an id's name from one release to a later one.
def renames(domain):
    lines = []
    for number, same in sorted(by_number(read_text(domain)).items()):
        for before, after in zip(same, same[1:], strict=False):
            lines.append(f"{domain} {number} {before.name} {after.name} {after.first}")
    return lines


def check():
    wrong = []
    for domain in DOMAINS:
        entries = read_text(domain)
        if (HERE / f"cupti_{domain}.txt").read_text() != text_of(domain, entries):
            wrong.append(f"codegen/cupti_{domain}.txt is not as --refresh writes it")
        if include_path(domain).read_text() != include_of(domain, entries):
            wrong.append(f"{include_path(domain).relative_to(TREE)} is not what the .txt says: run --write")
    lists = {domain: read_text(domain) for domain in DOMAINS}
    told = digests(lambda domain, release: calls_of_text(lists[domain], release))
    if len(told) != len(committed_digests()):
        wrong.append("codegen/cupti_digests.txt does not hold a line a release: run --refresh")
    for here, header in zip(told, committed_digests(), strict=False):
        if here != header:
            wrong.append(f"codegen/cupti_{here.split()[0]}.txt does not say what the header said: {here}, not {header}")
    return wrong


def calls_in_headers(domain, release):
    return calls_of_header(domain, fetch_cupti.folder(), release)


def main():
    parser = argparse.ArgumentParser(description="Generate the tables of CUDA API names.")
    action = parser.add_mutually_exclusive_group(required=True)
    for name in ("check", "write", "refresh", "renames"):
        action.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    if options.renames:
        print("\n".join(line for domain in DOMAINS for line in renames(domain)))
        return 0
    if options.check:
        wrong = check()
        for line in wrong:
            print(f"gen_api_names.py: {line}", file=sys.stderr)
        return 1 if wrong else 0
    for domain in DOMAINS:
        if options.refresh:
            try:
                entries = read_headers(domain, fetch_cupti.folder())
            except FileNotFoundError as error:
                print(f"gen_api_names.py: {error}: run scripts/fetch_cupti.py --all first", file=sys.stderr)
                return 1
            (HERE / f"cupti_{domain}.txt").write_text(text_of(domain, entries))
        include_path(domain).write_text(include_of(domain, read_text(domain)))
    if options.refresh:
        DIGESTS.write_text("\n".join([DIGESTS_HEAD, *digests(calls_in_headers)]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
