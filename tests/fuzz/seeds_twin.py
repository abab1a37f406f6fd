#!/usr/bin/env python3
# seeds_twin.py - makes the corpora of fuzz_mcpti_decode, fuzz_mupti_decode and fuzz_ppu_decode, by hand, when the fact sheet changes.
#
# Out: buffers with the records of each vendor at the fact sheet's offsets: sound ones, with every flaw, cut off, and
#      with bytes in between that are none.

import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {"mcpti": (200, 88, 88), "mupti": (168, 80, 80), "ppu": (136, 48, 56)}  # kernel, copy, set
SESSION, NAMES_LATE, ALL_CALLS, BY_SIZE, BY_INPUT = 0x20, 0x40, 0x80, 1, 2


def record(kind, size, **fields):
    data = bytearray(size)
    struct.pack_into("<I", data, 0, kind)
    for place, (form, value) in fields.items():
        struct.pack_into("<" + form, data, int(place[1:]), value)
    return bytes(data)


def kernel(size, number, start, end, name=4097):
    graph = {"o144": ("Q", number % 3)} if size > 144 else {}
    dims = {f"o{at}": ("I", 1 + at % 7) for at in range(52, 76, 4)}
    return record(10, size, o6=("H", 32), o16=("Q", start), o24=("Q", end), o48=("I", 7), o92=("I", number),
                  o104=("Q", name), **graph, **dims)  # fmt: skip


def copy(size, number, start, end):
    return record(1, size, o4=("B", 1), o5=("B", 1), o6=("B", 3), o8=("Q", 4096), o16=("Q", start), o24=("Q", end),
                  o44=("I", number))  # fmt: skip


def fill(size, number, start, end):
    return record(2, size, o4=("I", 7), o8=("Q", 64), o16=("Q", start), o24=("Q", end), o44=("I", number), o50=("H", 3))


def call(kind, cbid, number, start, end):
    return record(kind, 40, o4=("I", cbid), o8=("Q", start), o16=("Q", end), o24=("I", 4242), o28=("I", 77),
                  o32=("I", number))  # fmt: skip


def external(kind, operator, number):
    return record(39, 24, o4=("I", kind), o8=("Q", operator), o16=("I", number))


def sound(sizes):
    parts = []
    for number in range(1, 6):
        at = 1000 * number
        parts += [external(3, 70 + number, number), external(4, 900, number), call(5, 56, number, at, at + 90),
                  kernel(sizes[0], number, at + 50, at + 400)]  # fmt: skip
    parts += [call(5, 119, 6, 9000, 9050), copy(sizes[1], 6, 9010, 9400), call(5, 147, 7, 9500, 9600),
              fill(sizes[2], 7, 9550, 9700), call(4, 307, 8, 9800, 9900), kernel(sizes[0], 8, 9850, 9990)]  # fmt: skip
    return b"".join(parts)


def flawed(sizes):
    return b"".join([kernel(sizes[0], 1, 0, 0), kernel(sizes[0], 2, 500, 400), copy(sizes[1], 3, 600, 0),
                     fill(sizes[2], 4, 0, 700), call(5, 5000, 5, 1, 2), call(5, 56, 0, 1, 2), external(9, 1, 1),
                     kernel(sizes[0], 6, 1, 1 << 62), kernel(sizes[0], 7, 100, 200, 0)])  # fmt: skip


def foreign(sizes):
    return kernel(sizes[0], 1, 100, 200) + struct.pack("<I", 200) + b"\xa5" * 44 + kernel(sizes[0], 2, 300, 400)


def seed(first, *buffers):
    return bytes([first]) + b"".join(struct.pack("<H", len(buffer)) + buffer for buffer in buffers)


def main():
    for vendor, sizes in SIZES.items():
        folder = HERE / "corpus" / f"fuzz_{vendor}_decode"
        folder.mkdir(parents=True, exist_ok=True)
        whole = sound(sizes)
        seeds = {
            "sound": seed(SESSION, whole), "sound-iterated": seed(SESSION | BY_SIZE, whole),
            "names-late": seed(SESSION | NAMES_LATE | ALL_CALLS, whole), "flawed": seed(SESSION, flawed(sizes)),
            "flawed-iterated": seed(BY_SIZE, flawed(sizes)), "foreign": seed(SESSION, foreign(sizes)),
            "foreign-iterated": seed(BY_SIZE, foreign(sizes)), "cut": seed(SESSION, whole[:-9], whole[4:], whole[:3]),
            "stray": seed(BY_INPUT, whole),
        }  # fmt: skip
        for name, data in seeds.items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
