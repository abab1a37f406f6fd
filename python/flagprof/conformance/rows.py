# rows.py - what each vendor promises: one row a vendor in vendors.json, held against what torch-cuda writes.
#
# In:  vendors.json (a promise that is not made stands in `cannot` or `lacks`, with its reason from the facts),
#      baseline.json. Out: a Row, from which contract, parity, the table of fields and the runner take what to expect.
#
# A row beside the vendor's own (`ascend+preload`) is the same vendor in another environment. The environment is given to
# the one process that is recorded, never to a shell or a job.

import dataclasses
import json
import pathlib

_HERE = pathlib.Path(__file__).resolve().parent
BASELINE = json.loads((_HERE / "baseline.json").read_text())


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    accelerator: str
    tracer: str
    facade: str  # its folder below build/sim
    calls: str  # how the vendor's own API names look
    header: dict  # torch-cuda's header key: this vendor's; null: it has none
    cannot: dict  # case: why it cannot be had
    # "category: key", or a category: why it is not in the trace. A reason that begins with "perhaps: " is of a key that is on
    # some events only, or on none, by what the vendor's records tell; any other key must not come.
    lacks: dict
    torch_alone: tuple = ()  # of `cannot`: those that the form without torch can
    environment: dict = dataclasses.field(default_factory=dict)
    adds: dict = dataclasses.field(default_factory=dict)  # category: keys that torch-cuda has not

    def keys(self, category):
        """Argument keys that an event of torch-cuda's category promises here."""
        return [key for key in BASELINE["categories"][category] if f"{category}: {key}" not in self.lacks]

    def baseline(self):
        """The baseline as this vendor can meet it: known gaps beside it, never left out of it."""
        gone = {"gpu_memset": "memset_events", "gpu_memcpy": "memcpy_events"}
        kept = {
            category: keys
            for category, keys in BASELINE["categories"].items()
            if category not in self.lacks and gone.get(category) not in self.cannot
        }
        header = [self.header.get(key, key) for key in BASELINE["header"]]
        return {
            "categories": kept,
            "header": [key for key in header if key],
            "gaps": {**BASELINE["gaps"], **self.lacks},
            # Operators that do no device work of their own here, since it cannot be recorded.
            "idle": ["aten::copy_"] if "memcpy_events" in self.cannot else [],
        }

    def variables(self, simulator):
        """The environment of a process that records on this vendor's facade below the folder `simulator`."""
        given = {name: value.format(simulator=simulator) for name, value in self.environment.items()}
        return {"FLAGOS_ACCELERATOR": self.accelerator, **given}


ROWS = {name: Row(name, **row) for name, row in json.loads((_HERE / "vendors.json").read_text()).items()}
