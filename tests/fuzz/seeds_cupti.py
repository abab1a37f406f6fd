#!/usr/bin/env python3
# seeds_cupti.py - makes corpus/fuzz_cupti_decode from the recorded buffers of tests/fixtures, by hand, when those change.
#
# Out: for each release a small seed with the first two records of every kind, and one whole buffer of the oldest and
#      the newest release.

import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
BUFFERS = HERE.parent / "fixtures" / "buffers" / "cupti-h200"
CORPUS = HERE / "corpus" / "fuzz_cupti_decode"

# The row of fp_cupti_releases, and the sizes of kernel, copy, set, overhead, synchronization and memory records.
ROWS = {
    "11.8": (0, 200, 88, 88, 40, 40, 120), "12.1": (1, 208, 88, 88, 40, 40, 120), "12.3": (3, 208, 88, 88, 48, 40, 120),
    "12.6": (6, 208, 88, 88, 56, 40, 128), "12.8": (7, 208, 96, 88, 56, 56, 128), "13.0": (9, 216, 96, 88, 56, 56, 128),
    "13.3": (12, 232, 96, 88, 56, 56, 128), "13.5": (14, 248, 112, 104, 56, 56, 128),
}  # fmt: skip


def records(buffer, row):
    _, kernel, copy, fill, overhead, sync, memory = row
    sizes = {1: copy, 2: fill, 4: 40, 5: 40, 10: kernel, 17: overhead, 22: 96, 38: sync, 39: 24, 49: memory}
    at = 0
    while at < len(buffer):
        (kind,) = struct.unpack_from("<I", buffer, at)
        yield kind, buffer[at : at + sizes[kind]]
        at += sizes[kind]


def seed(row, buffer, all_calls=False):
    return bytes([0x80 if all_calls else 0, row[0]]) + struct.pack("<H", len(buffer)) + buffer


def main():
    CORPUS.mkdir(parents=True, exist_ok=True)
    for path in sorted(BUFFERS.glob("*-late.bin")):
        release = ".".join(path.name.split(".")[:2])
        if release not in ROWS:
            continue
        whole = path.read_bytes()
        buffer = whole[8 : 8 + struct.unpack_from("<Q", whole)[0]]
        taken, kept = {}, b""
        for kind, record in records(buffer, ROWS[release]):
            taken[kind] = taken.get(kind, 0) + 1
            kept += record if taken[kind] <= 2 else b""
        (CORPUS / f"{release}-kinds").write_bytes(seed(ROWS[release], kept, release == "13.0"))
        if release in ("11.8", "13.5"):
            (CORPUS / f"{release}-whole").write_bytes(seed(ROWS[release], buffer))
    (CORPUS / "hops").write_bytes(bytes([1, 9]) + struct.pack("<H", 96) + bytes([40, 24, 0, 0xF8, 96, 127, 128] * 20))


if __name__ == "__main__":
    main()
