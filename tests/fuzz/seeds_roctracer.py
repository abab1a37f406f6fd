#!/usr/bin/env python3
# seeds_roctracer.py - makes the corpus of fuzz_roctracer, by hand, when the fact sheet changes.
#
# Out: sessions with HIP's calls and ROCtracer's records: sound ones, with every flaw, out of order, and cut off.

import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
LAUNCH, MODULE, COPY, SET = 107, 169, 134, 159  # of ROCm 5.6 to 7.1 [HEADER]
OPS, DISPATCH, MOVE, BARRIER = 2, 0, 1, 2


def record(op, kind, number, begin, end, last=2, node=0, domain=OPS):
    return struct.pack("<IIIIQQQiIQQ", domain, kind, op, 0, number, begin, end, node, 0, 3, last)


def call(cid, number, start, end, arguments=b""):
    head = struct.pack("<QHB", number, cid, 70 + number % 9) + start.to_bytes(6, "little") + end.to_bytes(6, "little")
    return head.ljust(24, b"\0") + arguments


def step(what, data):
    return bytes([what, len(data)]) + data


def main():
    folder = HERE / "corpus" / "fuzz_roctracer"
    folder.mkdir(parents=True, exist_ok=True)
    arguments = bytes(range(1, 120))
    calls = [step(0, call(cid, number, 1000 * number, 1000 * number + 90, arguments))
             for number, cid in enumerate((LAUNCH, MODULE, COPY, SET, 4), 1)]  # fmt: skip
    work = [record(DISPATCH, 0x11F0, 1, 1500, 1900), record(DISPATCH, 0x11F0, 2, 2500, 2900),
            record(MOVE, 0x11F4, 3, 3500, 3900, 4096), record(MOVE, 0x1207, 4, 4500, 4900, 64),
            record(BARRIER, 0x11F8, 4, 4900, 4900, 0)]  # fmt: skip
    parts = [step(1, b"".join(work[:3])), step(1, b"".join(work[3:]))]
    flawed = [record(DISPATCH, 1, 1, 0, 0), record(MOVE, 0x11F3, 9, 500, 400), record(7, 5, 1, 1, 2)]
    strange = [record(DISPATCH, 1, (1 << 40) + 5, 1, 1 << 62), record(MOVE, 3, 0, 5, 6, 0, -4),
               record(0, 0, 1, 1, 2, 3, 0, 9)]  # fmt: skip
    seeds = {
        "sound": bytes([3]) + b"".join(calls + parts), "work-first": bytes([1]) + b"".join(parts + calls),
        "flawed": bytes([0]) + b"".join(calls) + step(3, b"".join(flawed)) + step(3, b"".join(strange)),
        "cut": bytes([2]) + b"".join(calls)[:-9] + step(1, b"".join(work[:3])[:-7]) + step(1, work[0])[:-3],
        "alone": bytes([1]) + b"".join(step(3, part) for part in work),
    }  # fmt: skip
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
