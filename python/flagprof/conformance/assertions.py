# assertions.py - the seven parity assertions: what a trace must have to be torch-cuda's equal in structure.
#
# In:  a Trace, what torch's tables said of the same run, the baseline. Out: one list of violations an assertion, empty
#      when it holds. Structure only: no counts, no durations.

import collections
import re

from placeholders import too_many_unknown
from structure import category_in, correlation, describe, duration_ns, external_id, place

MANGLED = re.compile(r"(^|[^A-Za-z0-9_])_+Z[A-Z0-9]")
# torch's clock (TSC) and the device's (the vendor's) tell the same epoch, apart by some microseconds.
CLOCKS_APART_NS = 200_000
# Operators that the workload is made of and that do device work of their own; torch-cuda runs relu as clamp_min.
WORKING = (("aten::mm",), ("aten::relu", "aten::clamp_min"), ("aten::sort",), ("aten::copy_",), ("aten::sum",))


def categories_and_header(trace, averages, baseline):
    """1. Every category that torch-cuda writes is there, and every key of the header."""
    found = describe(trace.header)
    wanted = {category_in(found["categories"], category) for category in baseline["categories"]}
    return [f"no event of category {name}" for name in sorted(wanted - set(found["categories"]))] + [
        f"no header key {key}" for key in sorted(set(baseline["header"]) - set(found["header"]))
    ]


def _halves(trace):
    halves = collections.defaultdict(lambda: {"s": [], "f": []})
    for half in trace.arrows:
        halves[half["id"]][half["ph"]].append(place(half))
    return halves


def arrows(trace, averages, baseline):
    """2. Every arrow is whole, and stands on the call and the device events that carry its id."""
    wrong = []
    halves = _halves(trace)
    for number, half in halves.items():
        if len(half["s"]) != 1 or not half["f"]:
            wrong.append(f"arrow {number} has {len(half['s'])} starts and {len(half['f'])} finishes")
    calls = {correlation(event): place(event) for event in trace.host if correlation(event)}
    expected = collections.defaultdict(list)
    for event in trace.device:
        if correlation(event) in calls:
            expected[correlation(event)].append(place(event))
    for number in set(halves) | set(expected):
        half = halves[number]
        if sorted(half["f"]) != sorted(expected[number]):
            wrong.append(f"arrow {number} ends at {half['f']}, its device events are at {expected[number]}")
        if half["s"] and half["s"] != [calls.get(number)]:
            wrong.append(f"arrow {number} starts at {half['s']}, its call is at {calls.get(number)}")
    return wrong if expected else wrong + ["no device event has a recorded launch"]


def argument_keys(trace, averages, baseline):
    """3. Each category's argument keys are at least the baseline's, known gaps apart."""
    found = describe(trace.header)["categories"]
    wrong = []
    for category, keys in baseline["categories"].items():
        missing = set(keys) - set(found.get(category_in(found, category), []))
        wrong += [
            f"{category} lacks argument {key}"
            for key in sorted(missing)
            if f"{category}: {key}" not in baseline["gaps"]
        ]
    return wrong


def _owner_holds(trace, operator, call):
    margin = CLOCKS_APART_NS
    return (
        trace.start_ns(operator) - margin <= trace.start_ns(call) <= trace.end_ns(operator) + margin
        and operator["tid"] == call["tid"]
    )


# torch's tables leave out an operator that is the only thing which one of the same name calls, and give what it owns to
# its caller.
def _in_tables(trace, operators, listed):
    stands_for = {}
    for number, operator in operators.items():
        outer = operator
        while external_id(outer) not in listed and (caller := _caller(trace, outer)) is not None:
            outer = caller
        stands_for[number] = external_id(outer)
    return stands_for


def _caller(trace, operator):
    around = [
        other
        for other in trace.operators
        if other is not operator
        and other["name"] == operator["name"]
        and other["tid"] == operator["tid"]
        and trace.start_ns(other) <= trace.start_ns(operator)
        and trace.end_ns(operator) <= trace.end_ns(other)
    ]
    return max(around, key=trace.start_ns, default=None)


def device_time(trace, averages, baseline):
    """4. An operator's self device time is the sum of the device events that it owns in the file, to the nanosecond."""
    operators = {external_id(event): event for event in trace.operators}
    calls = {correlation(event): event for event in trace.host if correlation(event)}
    # Host calls stand in torch's tables under the vendor's ids, which on hardware are numbers that torch uses too.
    host_calls = {event["name"] for event in trace.host}
    listed = {row["id"]: row for row in averages["operators"] if row["name"] not in host_calls}
    stands_for = _in_tables(trace, operators, listed)
    owned = collections.Counter()
    wrong = []
    for event in trace.device:
        owner, call = external_id(event), calls.get(correlation(event))
        if owner in operators:
            owned[stands_for[owner]] += duration_ns(event)
            if call is not None and not _owner_holds(trace, operators[owner], call):
                wrong.append(f"{event['name']} is given to {operators[owner]['name']}, which did not run at its launch")
        elif owner is not None:
            wrong.append(f"{event['name']} belongs to operator {owner}, which is not in the file")
    for number in operators:
        row = listed.get(number, {"self_device_ns": 0, "name": operators[number]["name"]})
        if row["self_device_ns"] != owned[number]:
            wrong.append(f"{row['name']} ({number}): table {row['self_device_ns']} ns, file {owned[number]} ns")
    working = {operators[number]["name"] for number, time in owned.items() if time > 0}
    return wrong + [f"no {names[0]} owns any device time" for names in WORKING
                    if not working.intersection(names) and names[0] not in baseline.get("idle", ())]  # fmt: skip


def demangled(trace, averages, baseline):
    """5. No mangled name."""
    names = {event["name"] for event in trace.device + trace.host}
    wrong = [f"mangled: {name}" for name in sorted(names) if MANGLED.search(name)]
    return wrong if names else ["no name to look at"]


def api_names(trace, averages, baseline):
    """6. Every host call has its real name."""
    unknown = too_many_unknown([event["name"] for event in trace.host])
    return [f"generic: {unknown}"] * bool(unknown) if trace.host else ["no host call to look at"]


def window(trace, averages, baseline):
    """7. Nothing lies wholly outside the window that processTrace was given."""
    given = trace.header.get("flagprof_window")
    if not given or given["start_ns"] <= 0 or given["end_ns"] <= given["start_ns"]:
        return [f"the file does not say the window: {given}"]
    low, high = given["start_ns"], given["end_ns"]
    wrong = []
    for event in trace.device + trace.host:
        start, end = trace.start_ns(event), trace.end_ns(event)
        if end < low or start > high:
            wrong.append(f"{event['cat']} {event['name']} [{start - low}, {end - low}] outside [0, {high - low}] ns")
        elif start < low or end > high:
            wrong.append(
                f"{event['cat']} {event['name']} overruns: {max(low - start, 0)} ns before, {max(end - high, 0)} ns after"
            )
    return wrong if trace.device else ["no device event to look at"]


ASSERTIONS = (categories_and_header, arrows, argument_keys, device_time, demangled, api_names, window)
