"""Captures the raw activity buffers that CUPTI fills for a torch program, to become fixtures of the replay tests.

    python tests/hardware/capture_buffers.py parity --out tests/fixtures/buffers/cupti-h200

Writes RELEASE-torch-WORKLOAD.bin and .strings in the form that tests/fixtures/buffers/README.md describes, and .expected:
what torch's own profiler saw of the same workload in a process of its own, one line for each piece of device work.
FlagProf takes no part: libcupti is driven through ctypes, so that the bytes owe nothing to the decoder that they judge.
"""

import argparse
import ctypes
import gzip
import importlib.metadata
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

EXTERNAL_CORRELATION, CUSTOM0, FORCED = 39, 3, 1
KINDS = (EXTERNAL_CORRELATION, 10, 1, 2, 4, 5, 17, 22, 38)  # the order matters for the first alone
KERNEL_KINDS, KERNEL_NAME_OFFSET = (3, 10), 104
EXTERNAL_ID = 9001
ALIGNMENT = 8

REQUESTED = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)
)
COMPLETED = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
)


class Capture:
    """A recording by bare CUPTI. The buffers stay alive to the end of the process: CUPTI may still hold one."""

    def __init__(self, library, buffer_bytes):
        self.cupti = ctypes.CDLL(str(library))
        self.cupti.cuptiActivityPushExternalCorrelationId.argtypes = (ctypes.c_int, ctypes.c_uint64)
        self.cupti.cuptiActivityGetNextRecord.argtypes = (
            ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)
        )  # fmt: skip
        self.buffer_bytes = buffer_bytes
        self.memory, self.completed = [], []  # completed: (bytes, [(offset of the pointer, text)])
        self.callbacks = (REQUESTED(self.requested), COMPLETED(self.complete))

    def call(self, name, *arguments):
        result = getattr(self.cupti, name)(*arguments)
        if result != 0:
            raise SystemExit(f"capture_buffers.py: {name}{arguments} gave {result}")

    def requested(self, buffer, size, most_records):
        memory = ctypes.create_string_buffer(self.buffer_bytes + ALIGNMENT)
        self.memory.append(memory)
        address = ctypes.addressof(memory)
        buffer[0] = address + -address % ALIGNMENT
        size[0] = self.buffer_bytes
        most_records[0] = 0

    def complete(self, context, stream, buffer, size, valid):
        if valid > 0:
            self.completed.append((ctypes.string_at(buffer, valid), list(self.names_in(buffer, valid))))

    # Names live only until this callback returns.
    def names_in(self, buffer, valid):
        record = ctypes.c_void_p()
        while self.cupti.cuptiActivityGetNextRecord(buffer, valid, ctypes.byref(record)) == 0:
            (kind,) = struct.unpack("<I", ctypes.string_at(record.value, 4))
            if kind in KERNEL_KINDS:
                at = record.value + KERNEL_NAME_OFFSET
                (address,) = struct.unpack("<Q", ctypes.string_at(at, 8))
                if address:
                    yield at - buffer, ctypes.string_at(address).decode()

    def start(self):
        self.call("cuptiActivityRegisterCallbacks", *self.callbacks)
        for kind in KINDS:
            self.call("cuptiActivityEnable", kind)
        self.call("cuptiActivityPushExternalCorrelationId", CUSTOM0, EXTERNAL_ID)

    def stop(self):
        self.call("cuptiActivityPopExternalCorrelationId", CUSTOM0, None)
        self.call("cuptiActivityFlushAll", FORCED)
        for kind in reversed(KINDS):
            self.call("cuptiActivityDisable", kind)
        self.call("cuptiActivityFlushAll", FORCED)

    def write(self, stem):
        with open(f"{stem}.bin", "wb") as file:
            for valid_bytes, _ in self.completed:
                file.write(struct.pack("<Q", len(valid_bytes)) + valid_bytes)
        with open(f"{stem}.strings", "w") as file:
            for number, (_, names) in enumerate(self.completed):
                for offset, text in names:
                    file.write(f"{number} {offset} {text}\n")


# The libcupti that torch loaded, else the one that would be: a second copy in one process would see nothing.
def loaded_library():
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if pathlib.PurePath(path).name.startswith("libcupti.so"):
            return path
    raise SystemExit("capture_buffers.py: this torch has loaded no libcupti; name one with --library")


def release_of_wheel():
    for package in ("nvidia-cuda-cupti", "nvidia-cuda-cupti-cu12", "nvidia-cuda-cupti-cu11"):
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    raise SystemExit("capture_buffers.py: no nvidia-cuda-cupti wheel tells the release; name it with --release")


# One line for each piece of device work, sorted, since a multiset is what is compared.
def expected_lines(trace):
    for event in trace["traceEvents"]:
        arguments = event.get("args", {})
        if event.get("cat") == "kernel":
            grid, block = (" ".join(map(str, arguments[key])) for key in ("grid", "block"))
            needs = f"{arguments['registers per thread']} {arguments['shared memory']}"
            yield f"kernel {grid} {block} {needs} {event['name']}"
        elif event.get("cat") in ("gpu_memcpy", "gpu_memset"):
            yield f"{event['cat'][4:]} {arguments['bytes']} {event['name']}"


def expect(workload, device, path):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, HERE / "record.py", workload, "--by", "torch", "--device", device, "--out", folder]
        subprocess.run(command, check=True, timeout=600)
        with gzip.open(pathlib.Path(folder) / f"{workload}.torch.json.gz") as file:
            lines = sorted(expected_lines(json.load(file)))
    path.write_text("".join(f"{line}\n" for line in lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--buffer-bytes", type=int, default=1 << 20)
    parser.add_argument("--library", help="libcupti (default: the one that torch has loaded)")
    parser.add_argument("--release", help="its release, 13.0.85 (default: that of the installed wheel)")
    options = parser.parse_args()

    import record

    run = record.WORKLOADS[options.workload]
    release = options.release or release_of_wheel()
    options.out.mkdir(parents=True, exist_ok=True)
    stem = options.out / f"{release}-torch-{options.workload}"
    run(options.device)  # what only the first run does is not captured, as in record.py
    record.synchronize(options.device)
    capture = Capture(options.library or loaded_library(), options.buffer_bytes)
    capture.start()
    run(options.device)
    record.synchronize(options.device)
    capture.stop()
    capture.write(stem)
    if options.device == "cuda":
        expect(options.workload, options.device, stem.with_name(f"{stem.name}.expected"))
    size = sum(len(valid_bytes) for valid_bytes, _ in capture.completed)
    print(f"{stem}.bin: {len(capture.completed)} buffers, {size} bytes")


if __name__ == "__main__":
    main()
