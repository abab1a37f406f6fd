"""Makes python/flagprof/conformance/baseline.json from what torch's own CUDA profiler writes of the parity workload.

    python tests/parity/baseline_generator.py

Runs on a machine with an NVIDIA GPU and a CUDA build of torch, takes no arguments, and replaces that file. It
refuses where it would describe FlagProf instead of torch: when FlagProf is loaded, or PrivateUse1 renamed. So it takes
workload and structure from their folder and not from the package, whose import loads FlagProf.
"""

import json
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CONFORMANCE = HERE.parents[1] / "python" / "flagprof" / "conformance"
sys.path.insert(0, str(CONFORMANCE))
BASELINE = CONFORMANCE / "baseline.json"

# What the baseline has and a FlagProf trace may lack, each with the reason. Nothing of FlagProf's own is excused.
GAPS = {
    "cpu_op: Sequence number": "torch's own key: newer releases (seen on 2.13) write it only for operators that autograd numbered",
    "cpu_op: Fwd thread id": "torch's own key: newer releases (seen on 2.13) write it only for operators that autograd numbered",
}
# What torch-cuda writes of other programs and never of this workload, each with the reason and where it is held instead.
ABSENT = {
    "gpu_user_annotation": "the workload has no record_function range: what torch-cuda writes of one on an H200 is in "
    "tests/fixtures/pairs/train.torch.json.gz, and the suite records a range around the workload",
    "cuda_driver": "the workload's kernels are all started by runtime calls: the 18 that cuLaunchKernel alone starts in a "
    "training step on an H200 are in tests/fixtures/pairs/train.torch.json.gz",
}


def refuse(reason):
    sys.exit(f"baseline_generator.py: {reason}")


def record(torch):
    import workload
    from torch.profiler import ProfilerActivity, profile

    workload.run("cuda")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        workload.run("cuda")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        prof.export_chrome_trace(str(path))
        return json.loads(path.read_text())


# What the kernel module says of itself, as nvidia-smi shows it: "580.159.04". The trace holds the CUDA level alone.
def driver_version(path="/proc/driver/nvidia/version"):
    try:
        found = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", pathlib.Path(path).read_text())
    except OSError:
        found = None
    return found[0] if found else "not told"


def versions(torch, trace):
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "driver": driver_version(),
        "driver_cuda": trace.get("cuda_driver_version"),
        "cupti": trace.get("cupti_version"),
        "device": torch.cuda.get_device_name(0),
    }


def write(made_by, trace):
    from structure import describe

    baseline = {"made_by": made_by, **describe(trace), "gaps": GAPS, "absent": ABSENT}
    BASELINE.write_text(json.dumps(baseline, indent=1) + "\n")


def main():
    if len(sys.argv) > 1:
        refuse("takes no arguments")
    try:
        import torch
    except ImportError as error:
        refuse(f"torch cannot be imported: {error}")
    if "flagprof" in sys.modules:
        refuse("FlagProf is loaded in this process: the baseline must be torch's alone")
    if torch._C._get_privateuse1_backend_name() != "privateuseone":
        refuse("PrivateUse1 is renamed in this process: its device rows would be labelled otherwise")
    if not torch.version.cuda or not torch.cuda.is_available():
        refuse("there is no CUDA here: run it on a machine with an NVIDIA GPU and a CUDA build of torch")
    trace = record(torch)
    made_by = versions(torch, trace)
    write(made_by, trace)
    print(f"{BASELINE}: {made_by}")


if __name__ == "__main__":
    main()
