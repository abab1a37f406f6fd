"""Records one workload in this process, by torch's own profiler or by FlagProf, and writes what both can be held against.

    python tests/hardware/record.py WORKLOAD --by torch|flagprof [--device cuda] --out FOLDER
    python -m torch.distributed.run --standalone --nproc-per-node 2 tests/hardware/record.py ddp --by ... --out FOLDER

Writes FOLDER/WORKLOAD.BY.json.gz (the trace), FOLDER/WORKLOAD.BY.averages.json (key_averages of the same run) and, for
FlagProf, FOLDER/WORKLOAD.BY.ledger.json; each rank of ddp writes its own, as ddp_rankN. One workload and one profiler a
process: two users of one activity library would disturb each other. The workloads here know nothing of either.
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


def synchronize(device):
    parity.synchronize(device)


def train(device):
    """Three steps of a small transformer with AdamW: forward, backward, optimizer, data copied in each step."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), layer, torch.nn.Linear(64, 4)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    host = torch.randn(3, 8, 12, 16)
    target = torch.randn(8, 12, 4).to(device)
    for step in range(3):
        with torch.profiler.record_function("step"):
            data = host[step].to(device)
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(data), target)
            loss.backward()
            optimizer.step()
    return loss.item()


def streams(device):
    """Four streams, each with kernels and copies of its own, joined by events."""
    base = torch.randn(256, 256, device=device)
    lanes = [torch.cuda.Stream() for _ in range(4)]
    results = []
    for lane in lanes:
        lane.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(lane):
            value = base
            for _ in range(6):
                value = torch.relu(value @ base) / 256
            results.append(value.sum().to("cpu", non_blocking=True))
    for lane in lanes:
        torch.cuda.current_stream().wait_stream(lane)
    torch.cuda.synchronize()
    return float(sum(results))


def graph(device):
    """A graph captured outside the profiled part is replayed five times: one launch, many kernels."""
    if graph.captured is None:
        static = torch.randn(128, 128, device=device)
        warm = torch.cuda.Stream()
        warm.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(warm):
            for _ in range(3):
                torch.relu(static @ static)
        torch.cuda.current_stream().wait_stream(warm)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            out = torch.relu(static @ static).sum()
        graph.captured = (captured, out)
        torch.cuda.synchronize()
        return 0.0
    captured, out = graph.captured
    for _ in range(5):
        captured.replay()
    return out.item()


graph.captured = None


def two_devices(device):
    """Work on two devices of one process and copies between them."""
    del device
    first = torch.randn(256, 256, device="cuda:0")
    second = first.to("cuda:1")
    for _ in range(4):
        first = torch.relu(first @ first) / 256
        second = torch.relu(second @ second) / 256
    total = first.sum() + second.to("cuda:0").sum()
    return total.item()


def ddp(device):
    """Three steps of a model of which every rank has a copy: each step's gradients go through all-reduces; then a broadcast,
    an all-gather and a reduce-scatter by hand. One device a rank."""
    del device
    own = torch.device("cuda", torch.cuda.current_device())
    if ddp.model is None:
        torch.manual_seed(0)
        layers = [torch.nn.Linear(512, 512) for _ in range(4)]
        ddp.model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).to(own), bucket_cap_mb=1)
    optimizer = torch.optim.SGD(ddp.model.parameters(), lr=1e-3)
    data = torch.randn(64, 512, device=own)
    for _ in range(3):
        with torch.profiler.record_function("step"):
            optimizer.zero_grad()
            loss = ddp.model(data).square().mean()
            loss.backward()
            optimizer.step()
    ranks = torch.distributed.get_world_size()
    part = torch.ones(1024, device=own)
    whole = torch.empty(1024 * ranks, device=own)
    torch.distributed.broadcast(part, 0)
    torch.distributed.all_gather_into_tensor(whole, part)
    torch.distributed.reduce_scatter_tensor(part, whole)
    torch.cuda.synchronize()
    return loss.item()


ddp.model = None


WORKLOADS = {
    "parity": parity.run,
    "train": train,
    "streams": streams,
    "graph": graph,
    "two_devices": two_devices,
    "ddp": ddp,
}


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
    if options.workload == "ddp":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        torch.distributed.init_process_group("nccl")
        stem = f"ddp_rank{torch.distributed.get_rank()}"
    run(options.device)  # what only the first run does (libraries, algorithms) is not compared
    synchronize(options.device)
    with torch.profiler.profile(activities=wanted, record_shapes=options.workload == "ddp") as profile:
        result = run(options.device)
    options.out.mkdir(parents=True, exist_ok=True)
    stem += f".{options.by}"
    profile.export_chrome_trace(str(options.out / f"{stem}.json.gz"))
    (options.out / f"{stem}.averages.json").write_text(json.dumps(averages(profile), indent=1))
    if options.by == "flagprof":
        ledger = flagprof.last_ledger()
        (options.out / f"{stem}.ledger.json").write_text(json.dumps(ledger, indent=1))
        print(stem, "ledger complete:", ledger.get("complete"))
    print(stem, "result", result)
    if options.workload == "ddp":
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
