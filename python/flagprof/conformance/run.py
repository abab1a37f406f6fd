"""The torch form of one row, for `flagprof conformance`: records, judges, tells what it saw in lines.

    python -m flagprof.conformance.run --which           what device torch has here
    python -m flagprof.conformance.run DEVICE [ROW]      the twelve cases, and parity where the row is known

Lines, tabs between: "fact KEY TEXT", "case NAME RESULT TEXT". ROW: a row of vendors.json; without it the accelerator's.
"""

import collections
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import flagprof  # noqa: E402
from assertions import ASSERTIONS  # noqa: E402
from cases import CASES  # noqa: E402
from rows import ROWS, Row  # noqa: E402
from structure import Trace  # noqa: E402


def tell(*words):
    print("\t".join(" ".join(str(word).split()) for word in words), flush=True)


def own_device(torch):
    """The device that torch has, the simulated one aside; None: only a CPU."""
    if torch.cuda.is_available():
        return "cuda"
    name = torch._C._get_privateuse1_backend_name()
    module = getattr(torch, name, None)
    return name if name not in ("privateuseone", "flagos") and module is not None and module.is_available() else None


def which():
    try:
        import torch
    except Exception as error:  # absent, or broken in one of many ways: a line to the person, no traceback
        tell("fact", "no_torch", f"{sys.executable}: {type(error).__name__}: {error}")
        return
    tell("fact", "torch", torch.__version__)
    device = own_device(torch)
    if device:
        if device == "cuda":
            flagprof.use_cuda()
        tell("fact", "torch_device", device)
        tell("fact", "accelerator", flagprof.accelerator().get("accelerator") or "unknown")


def strict(text):
    def constant(word):
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=constant)


def evidence(trace):
    """What was there to be judged, in one line a case."""
    names = lambda events: ", ".join(name for name, _ in collections.Counter(e["name"] for e in events).most_common(2))  # noqa: E731
    work = {kind: [event for event in trace.device if event["cat"] == kind] for kind in ("kernel", "gpu_memcpy", "gpu_memset")}
    keys = sorted({key for event in work["kernel"] for key in event["args"]})
    return {
        "kernel_events": f"{len(work['kernel'])} kernels, as {names(work['kernel'])}",
        "runtime_events": f"{len(trace.host)} calls, as {names(trace.host)}",
        "memcpy_events": f"{len(work['gpu_memcpy'])} copies, as {names(work['gpu_memcpy'])}",
        "memset_events": f"{len(work['gpu_memset'])} fills",
        "positive_durations": f"{min((event['dur'] for event in trace.device), default=0)} us at least",
        "paired_flows": f"{len(trace.arrows)} halves of arrows",
        "device_time_goes_to_the_right_operator": f"{len(trace.operators)} operators",
        "kernel_metadata": ", ".join(keys),
        "api_names": names(trace.host),
        "runtime_keys": ", ".join(sorted({key for event in trace.host for key in event["args"]})),
        "valid_json": f"{len(trace.events)} events",
        "repeated_sessions": "two sessions, both complete by their ledgers",
    }


def verdict(name, wrong, reason, seen):
    if wrong:
        tell("case", name, "FAIL", f"{len(wrong)} violations: {wrong[0]}")
    elif reason:
        tell("case", name, "skip", reason)
    else:
        tell("case", name, "pass", seen)
    return not wrong


def judge(folder, row):
    try:
        sessions = [Trace(strict((folder / f"{name}.json").read_text())) for name in ("first", "second")]
    except ValueError as error:
        tell("case", "valid_json", "FAIL", error)
        return False
    tables = json.loads((folder / "first.tables.json").read_text())
    seen, good = evidence(sessions[0]), True
    incomplete = [f"session {at + 1} is incomplete: {one.header['flagprof_ledger']}" for at, one in enumerate(sessions)
                  if not one.header["flagprof_ledger"]["complete"]]  # fmt: skip
    for case in CASES:
        wrong = case(sessions, tables, row) + (incomplete if case.__name__ == "repeated_sessions" else [])
        good &= verdict(case.__name__, wrong, row.cannot.get(case.__name__), seen[case.__name__])
    for one in ASSERTIONS:
        wrong = one(sessions[0], tables, row.baseline())
        good &= verdict(f"parity: {one.__name__}", wrong, None, one.__doc__.splitlines()[0])
    return good


# A vendor without a row has promised nothing beyond the floor.
def unknown_row(accelerator, tracer):
    from rows import BASELINE

    lacks = {f"{category}: {key}": "not promised" for category, keys in BASELINE["categories"].items() for key in keys
             if category not in ("cpu_op", "Trace") and key not in ("External id", "correlation", "device", "stream", "bytes")}  # fmt: skip
    header = {key: None for key in ("cuda_driver_version", "cuda_runtime_version", "cupti_version")}
    return Row(accelerator, accelerator, tracer, "", ".", header, {}, {**lacks, "overhead": "not promised"})


def main():
    if sys.argv[1:] == ["--which"]:
        return which()
    device, *named = sys.argv[1:]
    import capture
    import torch

    capture.prepare(device)
    found = flagprof.accelerator()
    tell("fact", "torch", torch.__version__)
    for key in ("accelerator", "tracer", "library", "simulated"):
        tell("fact", key, found.get(key) or "")
    tell("fact", "version", found.get("library_version") or "")
    tell("fact", "device", (found.get("devices") or [""])[0])
    if not found.get("accelerator"):
        sys.exit(f"flagprof conformance: no accelerator: {found.get('reason')}")
    row = ROWS.get(named[0] if named else found["accelerator"]) or unknown_row(found["accelerator"], found["tracer"])
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first", "second"):
            capture.record(device, pathlib.Path(folder), name)
        sys.exit(0 if judge(pathlib.Path(folder), row) else 1)


if __name__ == "__main__":
    main()
