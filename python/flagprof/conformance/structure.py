# structure.py - the structure of a Chrome trace that torch wrote: what the parity suite and its baseline compare.
#
# In:  a trace as json.load gives it. Out: categories with their argument keys, header keys; and an index over the
#      events for the assertions. No counts and no durations: those depend on the machine.

import collections

# torch-cuda's categories as a profile of PrivateUse1 writes them; a profile of CUDA keeps them.
_MAPPED = {"cuda_runtime": "privateuse1_runtime", "cuda_driver": "privateuse1_driver"}
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
HOST = ("privateuse1_runtime", "privateuse1_driver", "cuda_runtime", "cuda_driver")


def describe(trace):
    """{"categories": {category: [argument keys]}, "header": [keys]} of a trace."""
    keys = collections.defaultdict(set)
    for event in trace["traceEvents"]:
        if event.get("ph") == "X":
            keys[event["cat"]].update(event.get("args", {}))
    return {
        "categories": {category: sorted(found) for category, found in sorted(keys.items())},
        "header": sorted(trace),
    }


def category_in(found, category):
    """What `category` of torch-cuda's is called in a trace that has the categories `found`."""
    return category if category in found else _MAPPED.get(category, category)


class Trace:
    """A trace with its events sorted by what they are. Times are whole nanoseconds since the Unix epoch."""

    def __init__(self, trace):
        self.header = trace
        self.events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
        self.arrows = [event for event in trace["traceEvents"] if event.get("cat") == "ac2g"]
        self.device = [event for event in self.events if event["cat"] in DEVICE]
        self.host = [event for event in self.events if event["cat"] in HOST]
        self.operators = [event for event in self.events if event["cat"] == "cpu_op"]
        self._base = trace.get("baseTimeNanoseconds", 0)

    def start_ns(self, event):
        return self._base + round(event["ts"] * 1000)

    def end_ns(self, event):
        return self.start_ns(event) + duration_ns(event)


def duration_ns(event):
    return round(event["dur"] * 1000)


def place(event):
    """Where an arrow's half must stand to belong to an event."""
    return event["pid"], event["tid"], event["ts"]


def correlation(event):
    return event.get("args", {}).get("correlation")


def external_id(event):
    return event.get("args", {}).get("External id")
