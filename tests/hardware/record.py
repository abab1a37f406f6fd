"""Records one workload in this process, by torch's own profiler or by FlagProf, and writes what both can be held against.

    python tests/hardware/record.py WORKLOAD --by torch|flagprof [--device cuda] [--all-options] --out FOLDER
    python -m torch.distributed.run --standalone --nproc-per-node 2 tests/hardware/record.py ddp --by ... --out FOLDER

Writes FOLDER/WORKLOAD.BY.json.gz (the trace), FOLDER/WORKLOAD.BY.averages.json (key_averages of the same run) and, for
FlagProf, FOLDER/WORKLOAD.BY.ledger.json; each rank of ddp and fsdp writes its own, as ddp_rankN. One workload and one
profiler a process: two users of one activity library would disturb each other. workloads.py has the workloads.
"""

import argparse
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "sim" / "python"), str(ROOT / "python" / "flagprof" / "conformance")]

import torch  # noqa: E402
import workload as parity  # noqa: E402
import workloads  # noqa: E402

WORKLOADS = {"parity": parity.run, **workloads.ALL}


def averages(profile):
    rows = []
    for row in profile.key_averages():
        rows.append(
            {
                "key": row.key,
                "count": row.count,
                "device_type": str(row.device_type),
                "self_device_time_total_us": row.self_device_time_total,
                "device_time_total_us": row.device_time_total,
                "self_cpu_time_total_us": row.self_cpu_time_total,
                "cpu_time_total_us": row.cpu_time_total,
                "is_user_annotation": bool(getattr(row, "is_user_annotation", False)),
            }
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--by", choices=("torch", "flagprof"), required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--all-options", action="store_true", help="stacks, shapes, memory, flops and modules too")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    run = WORKLOADS[options.workload]
    kinds = torch.profiler.ProfilerActivity
    wanted = [kinds.CPU, kinds.CUDA]
    if options.by == "flagprof":
        import flagprof

        if options.device == "cuda":
            flagprof.use_cuda()
        else:
            __import__(options.device)
        wanted = [kinds.CPU, kinds.PrivateUse1]
    stem = options.workload
    of_ranks = options.workload in workloads.OF_RANKS
    if of_ranks:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        torch.distributed.init_process_group("nccl")
        stem = f"{options.workload}_rank{torch.distributed.get_rank()}"
    names = ("with_stack", "record_shapes", "profile_memory", "with_flops", "with_modules")
    more = dict.fromkeys(names if options.all_options else names[1:2] if of_ranks else (), True)
    for _ in range(2):  # what only the first runs do (libraries, algorithms, graphs) is not compared
        run(options.device)
    parity.synchronize(options.device)
    with torch.profiler.profile(activities=wanted, **more) as profile:
        result = run(options.device)
        parity.synchronize(options.device)
    options.out.mkdir(parents=True, exist_ok=True)
    stem += f".{options.by}"
    profile.export_chrome_trace(str(options.out / f"{stem}.json.gz"))
    (options.out / f"{stem}.averages.json").write_text(json.dumps(averages(profile), indent=1))
    if options.by == "flagprof":
        ledger = flagprof.last_ledger()
        (options.out / f"{stem}.ledger.json").write_text(json.dumps(ledger, indent=1))
        print(stem, "ledger complete:", ledger.get("complete"))
    print(stem, "result", result)
    if of_ranks:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
