"""Records the parity workload with FlagProf, with everything that the seven assertions look at.

    python tests/parity/capture.py DEVICE FOLDER [FAULTS ...]

DEVICE: flagos (the simulated one) or cuda. Writes FOLDER/none.json, the trace, and FOLDER/none.tables.json, what torch's own
tables say of each operator. With FAULTS, for the test build of the adaptor: one such pair for each of them instead, each
recorded with these faults (src/kineto/ablation.h). The schedule has a warm-up with device work of its own, which must not
be in the trace.
"""

import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "workloads")]

import flagprof  # noqa: E402
import torch  # noqa: E402
from torch.profiler import ProfilerActivity, profile, record_function, schedule  # noqa: E402

if "cuda" in sys.argv[1:2]:
    flagprof.use_cuda()
else:
    import flagos  # noqa: E402, F401

import parity  # noqa: E402

RANGE = "parity range"


def operators_of(prof):
    """What torch's tables say: operator by operator, and by name."""
    each = [
        {"id": event.id, "name": event.name, "self_device_ns": round(event.self_device_time_total * 1000)}
        for event in prof.events()
        if event.device_type == torch.autograd.DeviceType.CPU
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
        parity.run(device)
        parity.synchronize(device)
        prof.step()
        with record_function(RANGE):
            parity.run(device)
        prof.step()


def main():
    device, folder, *faults = sys.argv[1:]
    parity.run(device)
    for fault in faults or ["none"]:
        os.environ["FLAGOS_TEST_ABLATE"] = fault
        record(device, pathlib.Path(folder), fault)
    print(json.dumps({"torch": torch.__version__, "accelerator": flagprof.accelerator()}))


if __name__ == "__main__":
    main()
