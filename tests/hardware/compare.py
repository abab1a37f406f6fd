"""Holds a FlagProf trace against torch's own of the same workload: what must be equal, and every difference by name.

    python tests/hardware/compare.py FOLDER [WORKLOAD ...]

Reads FOLDER/WORKLOAD.{torch,flagprof}.json.gz (tests/hardware/record.py). Equal must be, as multisets: kernel names with
grid, block, registers, shared memory, blocks and warps per SM and occupancy; copies and fills with name and bytes; for each
kernel the API call that launched it and the operator that owns it; for each collective's kernel what it says of the
collective; the ranges drawn above device work; the devices that the header lists. Exits 1 when something differs that no rule below explains.
"""

import collections
import gzip
import json
import pathlib
import sys

KERNEL_KEYS = (
    "grid",
    "block",
    "registers per thread",
    "shared memory",
    "blocks per SM",
    "warps per SM",
    "est. achieved occupancy %",
    "queued",
)
COLLECTIVE_KEYS = (
    "Collective name",
    "Group size",
    "dtype",
    "In msg nelems",
    "Out msg nelems",
    "Process Group Name",
    "Process Group Description",
    "Process Group Ranks",
)
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
HOST = ("cuda_runtime", "cuda_driver", "privateuse1_runtime", "privateuse1_driver")


def read(path):
    with gzip.open(path) as file:
        return json.load(file)


def freeze(value):
    return tuple(value) if isinstance(value, list) else value


class Trace:
    def __init__(self, document):
        self.header = {key for key in document if key != "traceEvents"}
        self.devices = collections.Counter(json.dumps(device, sort_keys=True) for device in document["deviceProperties"])
        events = [event for event in document["traceEvents"] if event.get("ph") == "X"]
        self.device = [event for event in events if event.get("cat") in DEVICE]
        self.host = [event for event in events if event.get("cat") in HOST]
        self.categories = collections.Counter(event.get("cat") for event in events)
        self.ranges = collections.Counter(event["name"] for event in events if event.get("cat") == "gpu_user_annotation")
        self.flows = collections.Counter(event["ph"] for event in document["traceEvents"] if event.get("cat") == "ac2g")
        self.keys = collections.defaultdict(set)
        for event in events:
            self.keys[event.get("cat")].update(event.get("args", {}))
        self.calls = {}
        for event in self.host:
            self.calls.setdefault(event["args"].get("correlation"), event["name"])
        self.operators = {}
        for event in events:
            if event.get("cat") in ("cpu_op", "user_annotation"):
                self.operators[event["args"].get("External id")] = event["name"]

    def kernels(self):
        return collections.Counter(
            (event["name"], *(freeze(event["args"].get(key)) for key in KERNEL_KEYS))
            for event in self.device
            if event["cat"] == "kernel"
        )

    def collectives(self):
        return collections.Counter(
            (event["name"], *(freeze(event["args"].get(key)) for key in COLLECTIVE_KEYS))
            for event in self.device
            if "Collective name" in event["args"]
        )

    def transfers(self):
        return collections.Counter(
            (event["name"], event["args"].get("bytes")) for event in self.device if event["cat"] != "kernel"
        )

    def launches(self):
        return collections.Counter(
            (event["name"], self.calls.get(event["args"].get("correlation"))) for event in self.device
        )

    def owners(self):
        return collections.Counter(
            (event["name"], self.operators.get(event["args"].get("External id"))) for event in self.device
        )


def differences(name, ours, theirs):
    lines = []
    for item, count in sorted((ours - theirs).items(), key=str):
        lines.append(f"  {name}: only FlagProf has {count} x {item}")
    for item, count in sorted((theirs - ours).items(), key=str):
        lines.append(f"  {name}: only torch has {count} x {item}")
    return lines


def plain(category):
    return category.replace("privateuse1_", "cuda_")


def compare(folder, workload):
    ours = Trace(read(folder / f"{workload}.flagprof.json.gz"))
    theirs = Trace(read(folder / f"{workload}.torch.json.gz"))
    must = []
    must += differences("kernels", ours.kernels(), theirs.kernels())
    must += differences("copies and fills", ours.transfers(), theirs.transfers())
    must += differences("launching call", ours.launches(), theirs.launches())
    must += differences("collectives", ours.collectives(), theirs.collectives())
    must += differences("ranges on the device", ours.ranges, theirs.ranges)
    must += differences("devices of the header", ours.devices, theirs.devices)
    must += differences("owner", ours.owners(), theirs.owners())
    our_keys = {plain(category): keys for category, keys in ours.keys.items()}
    for category, keys in theirs.keys.items():
        missing = keys - our_keys.get(plain(category), set())
        if category is not None and missing:
            must.append(f"  args of {category}: FlagProf lacks {sorted(missing)}")
    if theirs.header - ours.header:
        must.append(f"  header: FlagProf lacks {sorted(theirs.header - ours.header)}")
    print(f"{workload}: {len(ours.device)} device events, torch {len(theirs.device)}; {len(must)} differences")
    print("\n".join(must[:40]))
    our_calls = collections.Counter(event["name"] for event in ours.host)
    their_calls = collections.Counter(event["name"] for event in theirs.host)
    print("  flows:", dict(ours.flows), "torch:", dict(theirs.flows))
    print("  host calls only FlagProf:", dict(our_calls - their_calls), "only torch:", dict(their_calls - our_calls))
    extra = {
        category: sorted(keys - theirs.keys.get(category, set()) - theirs.keys.get(plain(category), set()))
        for category, keys in ours.keys.items()
    }
    print("  args only FlagProf:", {category: keys for category, keys in extra.items() if keys})
    print("  header only FlagProf:", sorted(ours.header - theirs.header))
    return not must


def main():
    folder = pathlib.Path(sys.argv[1])
    workloads = sys.argv[2:] or sorted(
        path.name.split(".")[0]
        for path in folder.glob("*.flagprof.json.gz")
        if (folder / path.name.replace(".flagprof.", ".torch.")).exists()
    )
    results = [compare(folder, workload) for workload in workloads]
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
