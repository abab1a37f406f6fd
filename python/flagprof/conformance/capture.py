"""Records the workload with FlagProf, with everything that contract and parity look at.

    python capture.py DEVICE FOLDER [FAULTS ...]

DEVICE: flagos (the simulated one), cuda, or that of a vendor's backend. Writes FOLDER/none.json, the trace, and
FOLDER/none.tables.json, what torch's own tables say of each operator. With FAULTS, for the test build of the adaptor: one
such pair for each of them instead, each recorded with these faults (src/kineto/ablation.h). The schedule has a warm-up
with device work of its own, which must not be in the trace.
"""

import importlib
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import flagprof  # noqa: E402
import torch  # noqa: E402
import workload  # noqa: E402
from torch.profiler import ProfilerActivity, profile, record_function, schedule  # noqa: E402

RANGE = "parity range"


def prepare(device):
    """Makes the device known to torch and to FlagProf, and does what only the first use of it does."""
    if device == "cuda":
        flagprof.use_cuda()
    elif not hasattr(torch, device):  # a backend that torch does not load by itself
        importlib.import_module(device)
    workload.run(device)


def operators_of(prof):
    """What torch's tables say: operator by operator, and by name. From 2.14 on a row of overhead has some operator's id."""
    each = [
        {"id": event.id, "name": event.name, "self_device_ns": round(event.self_device_time_total * 1000)}
        for event in prof.events()
        if event.device_type == torch.autograd.DeviceType.CPU and getattr(event, "activity_type", None) != "overhead"
    ]
    by_name = {event.key: round(event.self_device_time_total * 1000) for event in prof.key_averages()}
    return {"operators": each, "by_name": by_name}


def record(device, folder, name):
    def ready(prof):
        prof.export_chrome_trace(str(folder / f"{name}.json"))
        (folder / f"{name}.tables.json").write_text(json.dumps(operators_of(prof)))

    activities = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
    plan = schedule(wait=0, warmup=1, active=1, repeat=1)
    with profile(activities=activities, schedule=plan, on_trace_ready=ready) as prof:
        workload.run(device)
        workload.synchronize(device)
        prof.step()
        with record_function(RANGE):
            workload.run(device)
        prof.step()


def main():
    device, folder, *faults = sys.argv[1:]
    prepare(device)
    for fault in faults or ["none"]:
        os.environ["FLAGOS_TEST_ABLATE"] = fault
        record(device, pathlib.Path(folder), fault)
    print(json.dumps({"torch": torch.__version__, "accelerator": flagprof.accelerator()}))


if __name__ == "__main__":
    main()
