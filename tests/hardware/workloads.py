"""Workloads that are recorded on an NVIDIA GPU by torch and by FlagProf: what people's programs are made of.

In:  "cuda". Out: a number that both recordings must agree on. Each is run a few times; what it keeps between runs (models,
captured graphs) it keeps in a function that answers once. None knows of a profiler. For OF_RANKS a process group is there.
"""

import functools
import threading

import torch


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


@functools.cache
def vision():
    """A small convolutional network, its fused optimizer, its scaler, data and labels."""
    layers = [torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
    layers += [torch.nn.Conv2d(32, 64, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10)]
    model = torch.nn.Sequential(*layers).to("cuda").to(memory_format=torch.channels_last)
    data, labels = torch.randn(16, 3, 64, 64).pin_memory(), torch.randint(0, 10, (16,), device="cuda")
    return model, torch.optim.AdamW(model.parameters(), fused=True), torch.amp.GradScaler(), data, labels


def conv(device):
    """Two steps in mixed precision: cuDNN, cuBLASLt (which sets 0 bytes), a fused optimizer, pinned copies."""
    model, optimizer, scaler, data, labels = vision()
    for _ in range(2):
        moved = data.to(device, non_blocking=True, memory_format=torch.channels_last)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(moved), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return loss.item()


@functools.cache
def compiled_model(mode):
    layers = [torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 64)]
    return torch.compile(torch.nn.Sequential(*layers).to("cuda"), mode=mode), torch.randn(128, 256, device="cuda")


def compiled(device):
    """torch.compile: Triton's kernels, launched by cuLaunchKernelEx, forward and backward."""
    del device
    model, data = compiled_model(None)
    for _ in range(3):
        result = model(data).softmax(-1).sum()
        result.backward()
    return result.item()


def graph_trees(device):
    """torch.compile that keeps what it compiled in CUDA graphs."""
    del device
    model, data = compiled_model("reduce-overhead")
    with torch.no_grad():
        for _ in range(4):
            result = model(data).sum()
    return result.item()


@functools.cache
def language_model():
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 3}
    config = LlamaConfig(vocab_size=1000, num_attention_heads=8, num_key_value_heads=4, **shape)
    model = LlamaForCausalLM(config).to("cuda").to(torch.bfloat16).eval()
    return model, torch.randint(0, 1000, (2, 16), device="cuda")


def generate(device):
    """Eight tokens of a small language model in bfloat16."""
    del device
    model, tokens = language_model()
    with torch.no_grad():
        return int(model.generate(tokens, max_new_tokens=8, do_sample=False, pad_token_id=0).sum())


def threads(device):
    """Four threads, each with a stream of its own."""

    def work(number, results):
        own = torch.cuda.Stream()
        with torch.cuda.stream(own):
            value = torch.ones(64, 64, device=device) / 64
            for _ in range(20):
                value = torch.relu(value @ value)
            own.synchronize()
            results[number] = value.sum().item()

    results = {}
    workers = [threading.Thread(target=work, args=(number, results)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(results.values())


def capture(device):
    """A graph that is captured within the recording and replayed three times: the captured launches start nothing."""
    data, aside = torch.randn(64, 64, device=device), torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        torch.relu(data @ data)
    torch.cuda.current_stream().wait_stream(aside)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        out = torch.relu(data @ data).sum()
    for _ in range(3):
        captured.replay()
    return out.item()


def mixed(device):
    """Operators of many libraries: sorting, scans, FFT, QR, attention, indexing."""
    data = torch.randn(256, 256, device=device)
    order = data.argsort()
    scanned = data.gather(1, order).cumsum(0)
    torch.unique((scanned > 0).int())
    spectrum = torch.fft.fft(data).abs().sum()
    torch.linalg.qr(data)
    torch.cat([data, scanned]).cpu()
    (data > 0).nonzero()
    data.index_add_(0, torch.arange(256, device=device), scanned)
    heads = [torch.randn(2, 4, 128, 64, device=device, dtype=torch.half) for _ in range(3)]
    return spectrum.item() + torch.nn.functional.scaled_dot_product_attention(*heads).float().sum().item()


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, number):
        return torch.full((256,), float(number))


def loader(device):
    """Data from two forked workers, through pinned memory."""
    batches = torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2, pin_memory=True)
    return sum(torch.relu(batch.to(device, non_blocking=True)).sum().item() for batch in batches)


@functools.cache
def sharded_model():
    from torch.distributed.fsdp import fully_shard

    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(3)]).to("cuda")
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    return model, torch.optim.AdamW(model.parameters())


def fsdp(device):
    """Two steps of a model whose parameters are spread over the ranks, an all-to-all, a send and a barrier."""
    model, optimizer = sharded_model()
    data = torch.randn(32, 512, device=device)
    for _ in range(2):
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    ours = torch.ones(2, 1024, device=device)
    theirs = torch.empty_like(ours)
    torch.distributed.all_to_all_single(theirs, ours)
    first = torch.distributed.get_rank() == 0
    (torch.distributed.isend(ours, 1) if first else torch.distributed.irecv(theirs, 0)).wait()
    torch.distributed.barrier()
    return loss.item()


OF_RANKS = ("ddp", "fsdp")  # started by torch.distributed.run
FUNCTIONS = (train, streams, graph, two_devices, conv, compiled, graph_trees, generate, threads, capture, mixed, loader)
ALL = {function.__name__: function for function in (*FUNCTIONS, ddp, fsdp)}
