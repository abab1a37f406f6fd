# equal.py - the same program on every vendor must leave the same structure: what is compared, after names are made alike.
#
# In:  the Trace of one program on each vendor's device, their Rows. Out: differences that no row excuses; the matrix of
#      fields, of which docs/fields.md is made.

import collections
import re

from structure import DEVICE, HOST, correlation, external_id

# How vendors' calls begin; what is left is alike, or nearly (a launch is a launch).
_PREFIX = re.compile(r"^(cuda|cu|mc|musa|mu|hip|aclrt|acl|rt|tops)(?=[A-Z])")
_SORTS = ("LaunchKernel", "Memcpy", "Memset", "Synchronize")
FILL = "a fill"  # by a set, or by a kernel where the vendor's backend zeroes so


def call_sort(name):
    bare = _PREFIX.sub("", name)
    return next((sort for sort in _SORTS if sort.lower() in bare.lower()), bare)


def work_name(event):
    """A kernel's name; of a copy or a fill what it does, without the vendors' words for memory."""
    return event["name"] if event["cat"] == "kernel" else re.sub(r" \(.*", "", event["name"])


def attribution(trace):
    """Which operator owns which device work: (operator, work), as often as it happened."""
    names = {external_id(event): event["name"] for event in trace.operators}
    return collections.Counter((names.get(external_id(event)), _fill(names, event)) for event in trace.device)


def _fill(names, event):
    return FILL if names.get(external_id(event)) == "aten::zero_" else work_name(event)


def arrows(trace):
    """Which sort of call started which device work, by arrows alone."""
    places = collections.defaultdict(list)
    for event in trace.host + trace.device:
        places[event["pid"], event["tid"], event["ts"]].append(event)
    starts = {}
    for half in trace.arrows:
        if half["ph"] == "s":
            found = [one for one in places[half["pid"], half["tid"], half["ts"]] if one["cat"] in HOST]
            starts[half["id"]] = call_sort(found[0]["name"]) if found else None
    names = {external_id(event): event["name"] for event in trace.operators}
    ends = collections.Counter()
    for half in trace.arrows:
        if half["ph"] == "f":
            for event in places[half["pid"], half["tid"], half["ts"]]:
                if event["cat"] in DEVICE and correlation(event) == half["id"]:
                    work = _fill(names, event)
                    ends[None if work == FILL else starts.get(half["id"]), work] += 1
    return ends


def fields(trace):
    """{category: set of argument keys}, the runtime's category under torch-cuda's name, markers of torch's own left out."""
    found = collections.defaultdict(set)
    for event in trace.events:
        found[event["cat"].replace("privateuse1", "cuda")].update(event.get("args", {}))
    return {category: keys for category, keys in found.items() if category != "Trace"}


def _without(row, counter):
    gone = {"memcpy_events": "Memcpy"}
    kept = collections.Counter(
        {key: n for key, n in counter.items()
         if not any(case in row.cannot and str(key[1]).startswith(work) for case, work in gone.items())}
    )  # fmt: skip
    if "gpu_memcpy: direction" in row.lacks:
        for key in [key for key in kept if str(key[1]).startswith("Memcpy ")]:
            kept[key[0], "Memcpy"] += kept.pop(key)
    return kept


def differences(first, first_row, other, row):
    """What `other` has otherwise than `first`, and no reason in its row excuses."""
    wrong = []
    for what, read in (("attribution", attribution), ("arrow", arrows)):
        left, right = _without(row, read(first)), _without(row, read(other))
        wrong += [f"{what} {key}: {left[key]} times on {first_row.name}, {right[key]} on {row.name}"
                  for key in sorted(set(left) | set(right), key=str) if left[key] != right[key]]  # fmt: skip
    gone = {"gpu_memcpy"} if "memcpy_events" in row.cannot else set()
    gone |= {"gpu_memset"} if "memset_events" in row.cannot else set()
    left, right = fields(first), fields(other)
    for category in sorted(set(left) | set(right)):
        if category in gone or category in row.lacks:
            wrong += [f"category {category}: {row.name} has it, its row says it cannot"] * (category in right)
            continue
        wanted = {key for key in left.get(category, ()) if f"{category}: {key}" not in row.lacks} | set(row.adds.get(category, ()))
        found = right.get(category, set())
        wrong += [f"{category}: {row.name} lacks {key}" for key in sorted(wanted - found)]
        some = {key for key in found if row.lacks.get(f"{category}: {key}", "").startswith("perhaps: ")}
        wrong += [f"{category}: {row.name} has {key}, against its row" for key in sorted(found - wanted - some)]
    return wrong


# ---- The matrix of fields


def matrix(traces, rows):
    """Markdown: each category's argument keys, and which vendor's events carry them."""
    found = {name: fields(trace) for name, trace in traces.items()}
    categories = [c for c in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "overhead", "gpu_user_annotation")
                  if any(c in one for one in found.values())]  # fmt: skip
    lines = [f"| category | field | {' | '.join(found)} |", "|---|---|" + "---|" * len(found)]
    reasons = collections.defaultdict(list)
    for category in categories:
        keys = sorted(set().union(*(one.get(category, set()) for one in found.values())))
        for key in [None, *keys]:
            marks = []
            for name, one in found.items():
                has = category in one and (key is None or key in one[category])
                reason = why_not(rows[name], category, key)
                perhaps = key is not None and (reason or "").startswith("perhaps: ")
                marks.append("perhaps" if perhaps else "yes" if has else "-")
                if reason and (perhaps or not has):
                    reason = reason.removeprefix("perhaps: ")
                    reasons[name, reason].append(f"{category}" + (f": {key}" if key else ""))
            lines.append(f"| {category if key is None else ''} | {key or ''} | {' | '.join(marks)} |")
    lines += ["", "| vendor | has not, or not always | because |", "|---|---|---|"]
    lines += [f"| {name} | {', '.join(what)} | {reason} |" for (name, reason), what in reasons.items()]
    return "\n".join(lines) + "\n"


def why_not(row, category, key):
    if key is not None:
        return row.lacks.get(f"{category}: {key}")
    case = {"gpu_memset": "memset_events", "gpu_memcpy": "memcpy_events"}.get(category)
    return row.lacks.get(category) or row.cannot.get(case)
