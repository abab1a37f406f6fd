"""Records a few training steps of a small transformer with FlagProf and says what there is to see.

    python examples/train.py [--trace build/demo/trace.json] [--steps 3] [--device cpu|cuda|flagos]

In:  an accelerator if one is usable; else the simulated one, which needs no hardware.
Out: what was found, the time per operator, the vendor's own calls and what it tells of a kernel, the ledger, and the trace's
path in the last line.
"""

import argparse
import collections
import gzip
import json
import pathlib

import flagprof
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

WORDS, LENGTH, BATCH, WIDTH = 256, 32, 16, 64


def choose_device():
    """A real accelerator where one is usable, else the simulated one."""
    if torch.cuda.is_available():
        flagprof.use_cuda()
        return "cuda"
    name = torch._C._get_privateuse1_backend_name()
    module = getattr(torch, name, None)
    if name != "privateuseone" and module is not None and module.is_available():
        return name  # a vendor's backend that torch loaded by itself
    import flagos  # noqa: F401  makes the device "flagos"

    return "flagos"


class Model(nn.Module):
    """Predicts the next word: an embedding, two transformer layers, a linear head."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, activation="gelu", batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        return self.head(self.body(self.embed(words)))


def train_step(model, optimizer, batch, device):
    with record_function("## data ##"):
        words = batch.to(device)
    with record_function("## forward ##"):
        scores = model(words[:, :-1])
        loss = nn.functional.cross_entropy(scores.reshape(-1, WORDS), words[:, 1:].reshape(-1))
    with record_function("## backward ##"):
        optimizer.zero_grad()
        loss.backward()
    with record_function("## optimizer ##"):
        optimizer.step()
    return loss


def describe_accelerator():
    found = flagprof.accelerator()
    if not found.get("accelerator"):
        return f"no accelerator that FlagProf can record: {found.get('reason')}"
    devices = found.get("devices") or []
    kind = f"simulated, {found['simulated']}" if found.get("simulated") else "real"
    return f"{found['accelerator']} ({kind}), {len(devices)} device(s): {', '.join(sorted(set(map(str, devices))))}"


def load(path):
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        return json.load(file)


def describe_calls(events):
    """The vendor's functions that were called most."""
    names = collections.Counter(event["name"] for event in events if event.get("cat", "").endswith(("_runtime", "_driver")))
    return ", ".join(f"{name} ({count})" for name, count in names.most_common(4)) or "none was recorded"


def describe_kernels(events):
    """What this vendor's records tell of a kernel; what it does not have is left out."""
    keys = {key for event in events if event.get("cat") == "kernel" for key in event["args"]}
    return ", ".join(sorted(keys)) or "none was recorded"


def describe_ledger():
    ledger = flagprof.last_ledger()
    if "complete" not in ledger:
        return "nothing was recorded"
    kinds = ", ".join(f"{kind} {row['kept']} of {row['seen']}" for kind, row in ledger["kinds"].items() if row["seen"])
    return f"{'complete' if ledger['complete'] else 'NOT complete'}; kept in the window: {kinds}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trace", default="build/demo/trace.json", help="where the trace goes (.json or .json.gz)")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--device", help="a torch device; by default what is found")
    options = parser.parse_args()
    if options.device == "flagos":
        import flagos  # noqa: F401

    device = options.device or choose_device()
    torch.manual_seed(0)
    model = Model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    draw = torch.Generator().manual_seed(0)
    batches = [torch.randint(0, WORDS, (BATCH, LENGTH), generator=draw) for _ in range(options.steps + 1)]

    train_step(model, optimizer, batches[0], device)  # the first step of a process is like no other
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recorded:
        losses = [train_step(model, optimizer, batch, device) for batch in batches[1:]]
    trace = pathlib.Path(options.trace)
    trace.parent.mkdir(parents=True, exist_ok=True)
    recorded.export_chrome_trace(str(trace))

    print(recorded.key_averages().table(sort_by="self_device_time_total", row_limit=15, max_name_column_width=48))
    print(f"accelerator: {describe_accelerator()}")
    content = load(trace)
    print(f"calls:       {describe_calls(content['traceEvents'])}")
    print(f"kernels:     {describe_kernels(content['traceEvents'])}")
    print(f"losses:      {', '.join(f'{loss.item():.4f}' for loss in losses)}")
    print(f"ledger:      {describe_ledger()}")
    if content.get("flagprof_notes"):
        print(f"note:        {content['flagprof_notes']}")
    print(f"to look:     open the file at https://ui.perfetto.dev, or build/flagprof stats {trace}")
    print(trace)


if __name__ == "__main__":
    main()
