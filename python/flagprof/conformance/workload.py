"""The parity workload: the one program that the baseline generator and the parity suite both record.

In:  the name of a torch device ("cuda", "flagos", even "cpu").
Out: one number, so that two devices can be compared; device work of every category that torch's own CUDA
     profiler writes: kernels, a fill, copies in both directions and the host calls behind them.

It must run unchanged on stock torch with CUDA and knows nothing of any profiler.
"""

import torch

ROUNDS = 5
SIZE = 256
MANY = 1 << 20


def synchronize(device):
    """Waits for all work on `device`; does nothing where the device runs synchronously."""
    module = getattr(torch, torch.device(device).type, None)
    wait = getattr(module, "synchronize", None)
    if wait is not None:
        wait()


def run(device, rounds=ROUNDS, size=SIZE):
    """Matmul and relu in rounds, a sort, a host-to-device copy, a fill with zeros, and one number read back."""
    host = torch.linspace(-1.0, 1.0, size * size).reshape(size, size)
    weight = host.to(device)
    value = weight
    for _ in range(rounds):
        value = torch.relu(value @ weight)
        value = value / size
    ordered, order = torch.sort(torch.arange(16, 0, -1, device=device, dtype=torch.float32))
    total = torch.zeros(size, device=device)
    total += value.sum(0)
    total[:16] += ordered + order
    # A sum of so many is made by several blocks, which torch-cuda first gives a counter set to zero: a fill.
    return (total.sum() + torch.ones(MANY, device=device).sum() / MANY).item()


if __name__ == "__main__":
    import sys

    name = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    if name == "flagos":
        import flagos  # noqa: F401  the simulated device
    print(run(name))
