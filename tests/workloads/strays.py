"""Records with device work wholly before the window and across its start, for the test build of the adaptor.

    python tests/workloads/strays.py FOLDER FAULTS ...

Writes FOLDER/FAULTS.json for each word of faults (src/kineto/ablation.h). With early_start among them the device is recorded
from the schedule's warm-up on, as a tracer that arms early does: `add` has ended when the window begins, `gate` is running.
"""

import os
import pathlib
import sys

import flagprof  # noqa: F401
import torch

import flagos

from recorded import BOTH, DEVICE, Gate
from torch.profiler import profile, schedule


def record(folder, faults):
    os.environ["FLAGOS_TEST_ABLATE"] = faults
    x = torch.ones(16, device=DEVICE)
    plan = schedule(wait=0, warmup=1, active=1, repeat=1)
    save = lambda prof: prof.export_chrome_trace(str(folder / f"{faults}.json"))  # noqa: E731
    with profile(activities=BOTH, schedule=plan, on_trace_ready=save) as prof:
        x + 1
        flagos.synchronize()
        gate = Gate()
        prof.step()
        gate.opened.set()
        x * 2
        prof.step()


if __name__ == "__main__":
    for words in sys.argv[2:]:
        record(pathlib.Path(sys.argv[1]), words)
