"""The slow, plain reading of a trace that the fast one is held against: json.load and loops, decimals for times.

It shares no code, no table and no algorithm with the tools. What a number means is said where it is computed.
"""

import collections
import gzip
import json
import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

KERNELS = {"kernel", "Kernel", "mtia_ccp_events", "GPU_Kernel", "kernel by its lane"}
COPIES = {"gpu_memcpy", "Memcpy", "memcpy", "MemCopy", "copy by its lane"}
FILLS = {"gpu_memset", "Memset", "memset", "fill by its lane"}
CALLS = {"cuda_runtime", "cuda_driver", "Runtime", "runtime", "xpu_runtime", "xpu_driver", "privateuse1_runtime",
         "privateuse1_driver", "mtia_runtime", "mtia_driver", "glow_runtime", "hip_runtime", "CUDA_Runtime", "CUDA_Driver"}  # fmt: skip
OPERATORS = {"cpu_op", "Operator", "operator", "user_annotation"}
ARROWS = {"ac2g", "async_gpu", "async_npu", "HostToDevice", "async_cpu_to_gpu", "async_cpu_to_npu", "cpu_to_cuda", "async"}


def load(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig") as file:
        whole = json.load(file, parse_float=Decimal)
    whole = whole if isinstance(whole, dict) else {"traceEvents": whole}
    if "traceEvents" in whole:
        know_lanes(events(whole))
    return whole


def know_lanes(listed):
    """rocmProfileData's device lanes: no category, but the process is named GPU and a number."""
    names = {event.get("pid"): text(args_of(event).get("name")) for event in listed if event.get("name") == "process_name"}
    for event in listed:
        if event.get("ph") == "X" and "cat" not in event and re.fullmatch(r"GPU ?\d+", names.get(event.get("pid"), "")):
            kinds = {"Copy": "copy by its lane", "Fill": "fill by its lane"}
            event["cat"] = kinds.get(event["name"][:4], "kernel by its lane")


def ns(value):
    """Microseconds as the file writes them to whole nanoseconds; None for what is no number."""
    if isinstance(value, bool) or value is None or isinstance(value, (list, dict)):
        return None
    try:
        scaled = Decimal(value) * 1000
        return int(scaled.to_integral_value(rounding=ROUND_HALF_UP)) if scaled.is_finite() else None
    except InvalidOperation:
        return None


def args_of(event):
    return event["args"] if isinstance(event.get("args"), dict) else {}


def as_id(value):
    """External ids and correlations: a whole number, or its digits in quotes."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int) and value >= 0:
        return value
    return int(value) if isinstance(value, str) and value.isdigit() else None


def is_work(event):
    if event.get("cat") in KERNELS | COPIES | FILLS:
        return True
    known = event.get("cat") in CALLS | OPERATORS | ARROWS | {"python_function", "overhead", "Trace", "fwdbwd", "cuda_sync",
                                                              "cuda_event", "gpu_user_annotation", "forward_backward",
                                                              "hpu_op"}  # fmt: skip
    arguments = args_of(event)
    return not known and ("Task Type" in arguments or ("device" in arguments and "stream" in arguments))


class Slice:
    def __init__(self, event, number):
        self.event, self.number = event, number
        self.start, self.dur = ns(event.get("ts")), ns(event.get("dur"))

    @property
    def end(self):
        return self.start + self.dur


def complete(trace):
    """Every complete event with a start and a duration of 0 or more."""
    slices = (Slice(event, number) for number, event in enumerate(events(trace)) if event.get("ph") == "X")
    return [one for one in slices if one.start is not None and one.dur is not None and one.dur >= 0]


def events(trace):
    listed = trace["traceEvents"]
    if isinstance(listed, dict):
        listed = listed["traceEvents"]
    return [event for event in listed if isinstance(event, dict)]


def text(value):
    return value if isinstance(value, str) else "" if value is None else str(value)


def totals(slices):
    """Name -> [count, sum of durations]."""
    table = collections.defaultdict(lambda: [0, 0])
    for one in slices:
        row = table[text(one.event.get("name"))]
        row[0] += 1
        row[1] += one.dur
    return dict(table)


def union(slices):
    """Nanoseconds covered by at least one."""
    covered, reached = 0, None
    for start, end in sorted((one.start, one.end) for one in slices):
        if reached is None or start > reached:
            covered, reached = covered + end - start, end
        elif end > reached:
            covered, reached = covered + end - reached, end
    return covered


def device_of(event):
    device = as_id(args_of(event).get("device"))
    return (str(event.get("pid")), device if device is not None else event.get("pid"))


def stream_of(event):
    return (str(event.get("pid")), str(event.get("tid")))


def percentile(values, percent):
    """The smallest value that at least that share of the values do not exceed."""
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(int(rank), 1) - 1]


def flow_classes(trace):
    """How flow halves pair, by (category, id): pairs, lone halves by the slice that begins where they stand, backwards."""
    kinds = {}
    for one in complete(trace):
        kind = "work" if is_work(one.event) else "call" if one.event.get("cat") in CALLS else "other"
        key = (str(one.event.get("pid")), str(one.event.get("tid")), one.start)
        if kind != "other" or key not in kinds:
            kinds[key] = kind
    halves = collections.defaultdict(lambda: {"s": [], "f": []})
    for event in events(trace):
        if event.get("ph") in ("s", "f") and "id" in event and ns(event.get("ts")) is not None:
            halves[(event.get("cat"), str(event["id"]))][event["ph"]].append(event)
    called = {as_id(args_of(event).get("correlation")) for event in events(trace) if event.get("cat") in CALLS}
    found = collections.Counter()
    for (category, number), half in halves.items():
        if category not in ARROWS:
            continue
        if half["s"] and half["f"]:
            found["backwards"] += sum(ns(end["ts"]) < ns(start["ts"]) for start, end in zip(half["s"], half["f"]))
            continue
        for phase in "sf":
            for event in half[phase]:
                where = (str(event.get("pid")), str(event.get("tid")), ns(event["ts"]))
                kind = kinds.get(where, "other")
                if phase == "f" and kind == "work" and as_id(number) in called:
                    kind = "launched work"  # the launch is there, only its start is not written
                found[f"lone {phase} on {kind}"] += 1
    return found
