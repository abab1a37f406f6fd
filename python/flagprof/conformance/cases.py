# cases.py - the contract in torch's form: twelve cases that a recording on any vendor's device must pass.
#
# In:  the Traces of two sessions of one process, torch's tables of the first, the vendor's Row. Out: a list of violations a
#      case. What only some vendors have stands in a case under its capability, above a floor that every vendor must
#      reach, so that no case ever asserts nothing. A row that says that something cannot be had is wrong where it comes.

import collections
import re

from assertions import arrows, demangled, device_time
from placeholders import is_placeholder, too_many_unknown
from structure import DEVICE, HOST, correlation, external_id



def _of(trace, category):
    return [event for event in trace.device if event["cat"] == category]


def _keys_missing(events, keys):
    return sorted({f"{event['cat']} lacks {key}" for event in events for key in keys if key not in event.get("args", {})})


# External ids only where an operator issued the work, bandwidth only where time passed: device_time and parity see to them.
def _floor(row, category):
    return [key for key in row.keys(category) if key not in ("External id", "memory bandwidth (GB/s)")]


def kernel_events(sessions, tables, row):
    """Kernels are recorded, on a device's lane, with a name."""
    kernels = _of(sessions[0], "kernel")
    if not kernels:
        return ["no kernel"]
    nameless = [event for event in kernels if not event["name"] or event["name"].startswith("unnamed")]
    return _keys_missing(kernels, [key for key in ("device", "stream") if key in row.keys("kernel")]) + [f"{len(nameless)} kernels have no name"] * bool(nameless)


def runtime_events(sessions, tables, row):
    """The host calls that start device work are recorded, on the lane of the thread that made them."""
    lanes = {(event["pid"], event["tid"]) for event in sessions[0].operators}
    strange = {event["name"] for event in sessions[0].host if (event["pid"], event["tid"]) not in lanes}
    launched = {correlation(event) for event in sessions[0].host}
    alone = [event["name"] for event in sessions[0].device if correlation(event) not in launched]
    return (
        ["no runtime event"] * (not sessions[0].host)
        + [f"{name} lies on a lane without operators" for name in sorted(strange)]
        + [f"{name} was started by no recorded call" for name in alone]
    )


def memcpy_events(sessions, tables, row):
    """Copies to and from the device are recorded with their bytes."""
    copies = _of(sessions[0], "gpu_memcpy")
    if "memcpy_events" in row.cannot:
        return ["copies came, though none can be had"] * bool(copies) + ["no device work"] * (not sessions[0].device)
    directions = {event["name"].split(" ")[1] if " " in event["name"] else "" for event in copies}
    return (
        ["no copy"] * (not copies)
        + [f"no {way} copy" for way in ("HtoD", "DtoH") if way not in directions and "gpu_memcpy: direction" not in row.lacks]
        + _keys_missing(copies, _floor(row, "gpu_memcpy"))
        + [f"{event['name']}: {event['args']['bytes']} bytes" for event in copies if event["args"].get("bytes", 1) <= 0]
    )


def memset_events(sessions, tables, row):
    """Fills are recorded with their bytes, where the vendor records fills."""
    sets = _of(sessions[0], "gpu_memset")
    if "memset_events" in row.cannot:
        return ["fills came, though none can be had"] * bool(sets) + ["no device work"] * (not sessions[0].device)
    return _keys_missing(sets, _floor(row, "gpu_memset")) + ["no fill"] * (not sets)


def positive_durations(sessions, tables, row):
    """Every device event and host call lasts longer than nothing, and less than the session."""
    events = sessions[0].device + sessions[0].host
    window = sessions[0].header["flagprof_window"]
    longest = window["end_ns"] - window["start_ns"]
    return ["no event"] * (not events) + [
        f"{event['name']} lasts {event['dur']} us" for event in events if not 0 < event["dur"] * 1000 <= longest
    ]


def paired_flows(sessions, tables, row):
    """Arrows are whole and stand where they belong."""
    return arrows(sessions[0], tables, None)


def device_time_goes_to_the_right_operator(sessions, tables, row):
    """An operator's self device time is the sum of what it owns, and what it owns was launched while it ran."""
    return device_time(sessions[0], tables, row.baseline())


def kernel_metadata(sessions, tables, row):
    """Kernels carry the vendor's keys, geometry that could have run, and demangled names."""
    kernels = _of(sessions[0], "kernel")
    wrong = _keys_missing(kernels, _floor(row, "kernel")) + demangled(sessions[0], tables, None)
    for event in kernels:
        for key in ("grid", "block"):
            size = event["args"].get(key)
            if size is not None and (len(size) != 3 or min(size) < 1):
                wrong.append(f"{event['name']}: {key} {size}")
    return wrong + ([] if kernels else ["no kernel"])


def api_names(sessions, tables, row):
    """Host calls have their real names, and these are the vendor's."""
    unknown = too_many_unknown([event["name"] for event in sessions[0].host])
    if unknown:
        return [unknown]
    names = {event["name"] for event in sessions[0].host if not is_placeholder(event["name"])}
    return [f"{name} is no name of this vendor's" for name in sorted(names) if not re.search(row.calls, name)] + (
        [] if names else ["no host call"]
    )


def runtime_keys(sessions, tables, row):
    """Host calls carry the id that joins them with their work, and the vendor's number of the call where it has one."""
    wrong = _keys_missing(sessions[0].host, _floor(row, "cuda_runtime"))
    ids = [correlation(event) for event in sessions[0].host if correlation(event) is not None]
    wrong += ["no call carries an id"] * (not ids)
    return wrong + [f"correlation {one} on {n} calls" for one, n in collections.Counter(ids).items() if n > 1]


def valid_json(sessions, tables, row):
    """The file parses strictly (that was done to get here), and names its categories as torch does."""
    known = {*DEVICE, *HOST, "cpu_op", "user_annotation", "gpu_user_annotation", "overhead", "Trace", "python_function",
             "cpu_instant_event"}  # fmt: skip
    found = {event["cat"] for event in sessions[0].events}
    return [f"category {name}" for name in sorted(found - known)] + ([] if found else ["no event"])


def repeated_sessions(sessions, tables, row):
    """A second session in the process records the same work once, and nothing of the first."""
    first, second = (collections.Counter(event["name"] for event in one.device) for one in sessions)
    wrong = [f"{name}: {first[name]} times, then {second[name]}" for name in first | second if first[name] != second[name]]
    end = sessions[0].header["flagprof_window"]["end_ns"]
    wrong += [f"{event['name']} of the first session" for event in sessions[1].device if sessions[1].start_ns(event) < end]
    owners = {external_id(event) for event in sessions[1].operators}
    linked = [event for event in sessions[1].device if external_id(event) in owners]
    return wrong + ([] if linked else ["nothing of the second session belongs to an operator"])


CASES = (
    kernel_events, runtime_events, memcpy_events, memset_events, positive_durations, paired_flows,
    device_time_goes_to_the_right_operator, kernel_metadata, api_names, runtime_keys, valid_json, repeated_sessions,
)  # fmt: skip
