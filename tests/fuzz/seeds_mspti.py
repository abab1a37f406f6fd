"""Writes the seeds of fuzz_mspti: buffers as MSPTI fills them, sound, flawed, cut and with records between that nobody knows.

    python tests/fuzz/seeds_mspti.py            writes tests/fuzz/corpus/fuzz_mspti/*

Times lie in the session that fuzz_mspti.c decodes; texts are addresses that it answers for.
"""

import pathlib
import struct

NOW = 1790000000000000000
ALL, COPIES, VISIBLE, LOG, KEEP = 0x80, 0x40, 0x20, 0x10, 0x08


def kernel(start, end, number, device=4, name=2):
    return struct.pack("<IQQIIQQQI", 2, NOW + start, NOW + end, device, 11, number, 3, name, 0)


def call(kind, start, end, number, name=2, thread=7):
    return struct.pack("<IQQIIQQI", kind, NOW + start, NOW + end, 1, thread, number, name, 0)


def memory(kind, word, number, stream=3):
    return struct.pack("<IIQQQIIQB7x", kind, word, 4096, NOW + 10, NOW + 20, 6, stream, number, 1)


def external(kind, number, correlation):
    return struct.pack("<IIQQ", 8, kind, number, correlation)


def communication(number):
    return struct.pack("<IIQIIQQQQQQ", 9, 4, 1024, 4, 2, NOW + 5, NOW + 9, 2, 3, 4, number)


def hccl():
    return struct.pack("<IQQIIdQQI", 4, NOW + 5, NOW + 9, 4, 2, 12.5, 2, 3, 0)


def launch(number):
    inner, outer = call(12, 40, 60, number), call(10, 20, 90, number)
    return external(2, number + 1000, number) + inner + call(11, 30, 70, number) + outer + kernel(200, 300, number)


def seed(flags, *buffers):
    return bytes([flags]) + b"".join(struct.pack("<H", len(buffer)) + buffer for buffer in buffers)


def seeds():
    sound = launch(1) + launch(1 << 32) + memory(7, 2, 5) + memory(6, 9, 6, 0xFFFFFFFF) + call(10, 400, 500, 6)
    odd = kernel(9, 3, 7) + struct.pack("<IQQIIQQQI", 2, 0, 0, 4, 1, 8, 0, 0, 0) + struct.pack("<IQQIIQQQI", 2, 77, 99, 4, 1, 9, 0, 0, 0)
    unknown = struct.pack("<I", 40) + b"\xa5" * 44
    yield "sound", seed(COPIES | VISIBLE | LOG | KEEP, sound, launch(9))
    yield "all-calls", seed(ALL | COPIES, sound + call(3, 600, 700, 9) + call(12, 610, 620, 9))
    yield "flawed", seed(COPIES | KEEP, odd + launch(3))
    yield "unknown", seed(KEEP, launch(1) + unknown + launch(2) + unknown + unknown + launch(3))
    yield "collectives", seed(VISIBLE, communication(5) + hccl() + launch(6))
    yield "cut", seed(LOG, launch(1)[:-8], launch(2)[:30])
    yield "other-kinds", seed(KEEP, struct.pack("<I", 1) + bytes(52) + struct.pack("<I", 5) + bytes(60) + launch(2))


if __name__ == "__main__":
    folder = pathlib.Path(__file__).resolve().parent / "corpus" / "fuzz_mspti"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds():
        (folder / name).write_bytes(content)
