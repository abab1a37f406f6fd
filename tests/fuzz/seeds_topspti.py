#!/usr/bin/env python3
# seeds_topspti.py - makes the corpus of fuzz_topspti, by hand, when the stand-in's layout changes.
#
# Out: sessions in the stand-in's layout: sound ones, that the search for a layout finds, with every flaw, cut off, and
#      with bytes in between that are none.

import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
BY_INPUT, KNOWN, TWO, ALL_CALLS, EACH = 1, 4, 8, 16, 32
LAUNCH, COPY, SET = 8, 9, 10  # functions: 1, 2, 3 of the target's seven names
AT = 10**6
NAME = 0x7f000001  # the target has a name there


def kernel(number, start, end, name=NAME, device=0):
    return struct.pack("<I4xQQQIII6IIqQQ", 3, start, end, end, device, 1, 7, 4, 1, 1, 64, 1, 1, number, 99, name, 0)


def copy(number, start, end):
    return struct.pack("<IBBBBQQQIIII", 1, 1, 1, 3, 0, 4096, start, end, 0, 1, 7, number)


def fill(number, start, end):
    return struct.pack("<IIQQQIIIIHHI", 2, 5, 64, start, end, 0, 1, 7, number, 0, 3, 0)


def call(kind, function, number, start, end, thread=4242):
    return struct.pack("<IIQQIIII", kind, function, start, end, 4242, thread, number, 0)


def callback(function, number):
    return struct.pack("<BBHIII", 16, 1, 0, function, 2, number)


def session():
    records, calls = [], []
    for number in range(101, 109):
        at = AT + 1000 * number
        function = LAUNCH if number < 107 else COPY if number == 107 else SET
        work = kernel if number < 107 else copy if number == 107 else fill
        calls.append(callback(function, number))
        thread = 77 if len(calls) % 2 else 4242
        records += [call(5, function, number, at, at + 90, thread), work(number, at + 50, at + 400)]
    return calls, b"".join(records)


def seed(first, calls, *buffers):
    body = b"".join(struct.pack("<H", len(buffer)) + buffer for buffer in buffers)
    return bytes([first, len(calls)]) + b"".join(calls) + body


def main():
    folder = HERE / "corpus" / "fuzz_topspti"
    folder.mkdir(parents=True, exist_ok=True)
    calls, whole = session()
    flawed = b"".join([kernel(1, 0, 0), kernel(2, 500, 400), copy(3, 600, 0), fill(4, 0, 700), call(5, 5000, 5, 1, 2),
                       call(4, 8, 6, 1, 2), kernel(7, 1, 1 << 62), kernel(8, 100, 200, 0, 9)])  # fmt: skip
    seeds = {
        "found": seed(0, calls, whole), "found-two-devices": seed(TWO, calls, whole),
        "found-without-callbacks": seed(0, [], whole), "found-in-parts": seed(EACH, calls, whole[:544], whole[544:]),
        "known": seed(KNOWN | ALL_CALLS, calls, whole), "flawed": seed(KNOWN | ALL_CALLS, calls, flawed),
        "flawed-unknown": seed(0, calls, whole + flawed), "cut": seed(0, calls, whole[:-9], whole[4:], whole[:3]),
        "stray": seed(BY_INPUT, calls, whole), "stray-known": seed(BY_INPUT | KNOWN, calls, whole),
    }  # fmt: skip
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
