"""The behaviours of the simulated device as a torch backend, each a function named check_<behaviour>.

In:  nothing, or the names of the checks to run.
Out: one JSON object on the last line: for each check null, or the traceback that it ended with. tests/python/
     test_backend.py runs this once and makes a test of each.
"""

import copy
import io
import json
import sys
import threading
import traceback

import flagos
import torch
from torch import nn

DEVICE = "flagos"


def counted(function):
    """What the simulator really did while `function` ran and the device came to rest."""
    flagos.synchronize()
    flagos.reset_simulator_counts()
    function()
    flagos.synchronize()
    return flagos.simulator_counts()


def close(device, host, tolerance=1e-5):
    assert device.device.type == DEVICE, device.device
    assert device.dtype == host.dtype and device.shape == host.shape, (device.dtype, device.shape, host.shape)
    torch.testing.assert_close(device.cpu(), host, rtol=tolerance, atol=tolerance, equal_nan=True)


def raises(kind, text, function):
    try:
        function()
    except kind as error:
        assert text in str(error), str(error)
        return
    raise AssertionError(f"no {kind.__name__} with {text!r}")


def slow_kernel(seconds=0.1):
    """Keeps the current stream busy; returns what it computes."""
    big = torch.ones(1200, 1200, device=DEVICE)
    for _ in range(max(1, int(seconds / 0.05))):
        big = (big @ big) / 1200
    return big


OPERATORS = {
    "add": lambda x, y: x + y,
    "add a number": lambda x, y: x + 2,
    "divide": lambda x, y: x / (y.abs() + 1),
    "power": lambda x, y: (x.abs() + 1) ** 1.5,
    "broadcast": lambda x, y: x * y[0],
    "compare": lambda x, y: x > y,
    "where": lambda x, y: torch.where(x > 0, x, y),
    "matmul": lambda x, y: x @ y.t(),
    "batched matmul": lambda x, y: torch.bmm(x.expand(3, -1, -1), y.t().expand(3, -1, -1)),
    "addmm": lambda x, y: torch.addmm(x[:, :4], x, y[:4].t()),
    "einsum": lambda x, y: torch.einsum("ij,kj->ik", x, y),
    "relu": lambda x, y: torch.relu(x),
    "gelu": lambda x, y: nn.functional.gelu(x),
    "softmax": lambda x, y: x.softmax(-1),
    "log_softmax": lambda x, y: x.log_softmax(0),
    "layer_norm": lambda x, y: nn.functional.layer_norm(x, x.shape[-1:]),
    "sum": lambda x, y: x.sum(),
    "sum over a dimension": lambda x, y: x.sum(1, keepdim=True),
    "mean": lambda x, y: x.mean(0),
    "variance": lambda x, y: x.var(1),
    "maximum": lambda x, y: x.max(1).values,
    "argmax": lambda x, y: x.argmax(1),
    "cumsum": lambda x, y: x.cumsum(0),
    "sort": lambda x, y: x.sort(1).indices,
    "topk": lambda x, y: x.topk(2, 1).values,
    "cat": lambda x, y: torch.cat([x, y], 1),
    "stack": lambda x, y: torch.stack([x, y]),
    "split": lambda x, y: x.split(2, 1)[1] + 1,
    "index": lambda x, y: x[[0, 2]],
    "mask": lambda x, y: x[x > 0],
    "gather": lambda x, y: x.gather(1, (y > 0).long()),
    "scatter": lambda x, y: torch.zeros_like(x).scatter(1, (y > 0).long(), y),
    "index_select": lambda x, y: x.index_select(0, torch.tensor([1, 0], device=x.device)),
    "masked_fill": lambda x, y: x.masked_fill(y > 0, -1.0),
    "embedding": lambda x, y: nn.functional.embedding((y > 0).long(), x),
    "nonzero": lambda x, y: (x > 0).nonzero(),
    "unique": lambda x, y: (x * 2).round().unique(),
    "triangle": lambda x, y: torch.ones(5, 5, device=x.device).tril() + torch.eye(5, device=x.device),
    "arange": lambda x, y: torch.arange(3, 9, device=x.device),
    "linspace": lambda x, y: torch.linspace(0, 1, 5, device=x.device),
    "full": lambda x, y: torch.full((2, 3), 7, device=x.device),
    "to a type": lambda x, y: x.to(torch.float64).to(torch.bfloat16),
    "flip": lambda x, y: x.flip(1).roll(1, 0),
    "norm": lambda x, y: torch.linalg.vector_norm(x),
    "inverse": lambda x, y: torch.linalg.inv(x @ x.t() + torch.eye(x.shape[0], device=x.device)),
    "complex": lambda x, y: torch.view_as_real(torch.complex(x, y).conj() * 2),
    "fft": lambda x, y: torch.fft.rfft(x).abs(),
    "convolution": lambda x, y: nn.functional.conv2d(x[None, None], y[None, None, :2, :2]),
    "pooling": lambda x, y: nn.functional.max_pool2d(x[None, None], 2),
    "attention": lambda x, y: nn.functional.scaled_dot_product_attention(x[None, None], y[None, None], x[None, None]),
    "cross entropy": lambda x, y: nn.functional.cross_entropy(x, (y[:, 0] > 0).long()),
    "foreach": lambda x, y: torch._foreach_add([x, y], 1.0)[1],
}


def check_operators_equal_the_cpus():
    torch.manual_seed(0)
    x, y = torch.randn(4, 6), torch.randn(4, 6)
    wrong = []
    for name, function in OPERATORS.items():
        try:
            close(function(x.to(DEVICE), y.to(DEVICE)), function(x, y))
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def check_an_operator_is_one_launch_without_a_copy():
    x = torch.randn(64, 64, device=DEVICE)
    several = {  # kernels that torch's own composition asks for
        "x.softmax(-1)": lambda: x.softmax(-1),
        "x + 1": lambda: x + 1,
        "x.add_(1)": lambda: x.add_(1),
        "x @ x": lambda: x @ x,
        "x.sum()": lambda: x.sum(),
        "relu": lambda: torch.relu(x),
        "layer_norm": lambda: nn.functional.layer_norm(x, (64,)),
        "cat": lambda: torch.cat([x, x]),
        "nonzero": lambda: x.nonzero(),
        "foreach": lambda: torch._foreach_mul_([x, x.t()], 1.0),
        "strided": lambda: x[::2, 1:].exp_(),
    }
    for name, function in several.items():
        counts = counted(function)
        assert (counts["kernels"], counts["copies"]) == (1, 0), (name, counts["kernels"], counts["copies"])
        assert counts["api_calls"]["kernel launch"] == 1, name


def check_results_lie_in_device_memory():
    before = flagos._native.call("flagos_results_copied")
    x = torch.randn(8, 8, device=DEVICE)
    for function in OPERATORS.values():
        function(x, x)
    for result in (x.nonzero(), x.unique(), torch.relu(x), nn.functional.layer_norm(x, (8,))):
        assert flagos._native.simulator.flagsim_pointer_kind(ctypes_pointer(result), None, None, None) == 3
    assert flagos._native.call("flagos_results_copied") == before


def ctypes_pointer(tensor):
    import ctypes

    return ctypes.c_void_p(tensor.data_ptr())


def check_launches_do_not_wait_for_the_kernel():
    slow = slow_kernel()
    busy = not flagos.current_stream().query()
    flagos.synchronize()
    assert busy and flagos.current_stream().query()
    assert abs(slow[0, 0].item() - 1) < 1e-3


def check_zeros_is_a_set():
    counts = counted(lambda: torch.zeros(100, device=DEVICE))
    assert (counts["sets"], counts["kernels"], counts["copies"]) == (1, 0, 0), counts
    x = torch.ones(4, 4, device=DEVICE)
    x[:, 1].zero_()
    assert x.sum().item() == 12


def check_views_share_memory():
    host = torch.arange(24.0).reshape(4, 6)
    device = host.to(DEVICE)
    for x in (host, device):
        x[1:, ::2].add_(1)
        x.t()[0].mul_(2)
        x.view(-1)[3:5] = 7
        x.unfold(1, 2, 2)[0].sub_(3)
        x.as_strided((2, 2), (7, 1), 1).neg_()
        x.reshape(2, 12).narrow(1, 0, 2).zero_()
        x.diagonal().add_(0.5)
        torch.view_as_complex(x.view(4, 3, 2))[0, 0] = 1j
    close(device, host)
    assert device.t().data_ptr() == device.data_ptr()
    assert device[1].untyped_storage().data_ptr() == device.data_ptr()


def check_in_place_keeps_the_tensor():
    x = torch.ones(3, device=DEVICE)
    pointer = x.data_ptr()
    assert x.add_(1) is x and x.data_ptr() == pointer
    y = x.clone()
    x += y
    assert y.tolist() == [2, 2, 2] and x.tolist() == [4, 4, 4]


def check_out_arguments_are_written_and_empty_ones_resized():
    x = torch.arange(4.0, device=DEVICE)
    out = torch.empty(4, device=DEVICE)
    pointer = out.data_ptr()
    assert torch.add(x, 1, out=out) is out and out.data_ptr() == pointer
    assert out.tolist() == [1, 2, 3, 4]
    strided = torch.zeros(4, 2, device=DEVICE)
    torch.mul(x, 2, out=strided[:, 1])
    assert strided.tolist() == [[0, 0], [0, 2], [0, 4], [0, 6]]
    empty = torch.empty(0, device=DEVICE)
    torch.add(x, 1, out=empty)
    assert empty.tolist() == [1, 2, 3, 4]
    values, indices = torch.empty(0, device=DEVICE), torch.empty(0, dtype=torch.long, device=DEVICE)
    torch.sort(x, descending=True, out=(values, indices))
    assert indices.tolist() == [3, 2, 1, 0]


def check_an_out_argument_of_the_wrong_size_is_an_error():
    def wrong():
        torch.add(torch.ones(4, device=DEVICE), 1, out=torch.empty(3, device=DEVICE))
        flagos.synchronize()

    raises(RuntimeError, "out= argument of size [4]", wrong)
    flagos.synchronize()


def check_copies_carry_every_layout_and_type():
    host = torch.randn(5, 7)
    device = host.to(DEVICE)
    close(device.t(), host.t())
    close(host.t().to(DEVICE), host.t())
    assert host.t().to(DEVICE).stride() == host.t().stride()
    close(host[::2, 1::3].to(DEVICE), host[::2, 1::3])
    assert torch.equal(device[::2, 1::3].cpu(), host[::2, 1::3])
    assert torch.equal(device.to(torch.float64).cpu(), host.to(torch.float64))
    assert torch.equal(device.to("cpu", torch.float16), host.to(torch.float16))
    target = torch.zeros(10, 7, device=DEVICE)
    target[::2].copy_(host)
    target[1::2].copy_(device[0])
    assert torch.equal(target.cpu()[::2], host) and torch.equal(target.cpu()[1::2], host[0].expand(5, 7))
    back = torch.zeros(7, 5)
    back.t().copy_(device)
    assert torch.equal(back, host.t())
    number = torch.tensor([1 + 2j]).to(DEVICE)
    assert number.conj().item() == 1 - 2j and torch.equal(number.conj().cpu(), torch.tensor([1 - 2j]))
    assert torch.empty(0, 3).to(DEVICE).cpu().shape == (0, 3)


def check_each_copy_is_one_copy():
    host, device = torch.randn(32, 32), torch.randn(32, 32, device=DEVICE)
    for name, function in {
        "to the device": lambda: host.to(DEVICE),
        "to the host": lambda: device.cpu(),
        "on the device": lambda: device.clone(),
        "a number": lambda: device[1, 1].item(),
    }.items():
        counts = counted(function)
        assert (counts["copies"], counts["kernels"]) == (1, 0), (name, counts["copies"], counts["kernels"])
    counts = counted(lambda: device.t().contiguous())
    assert (counts["copies"], counts["kernels"]) == (0, 1), counts


def check_copies_between_devices():
    if flagos.device_count() < 2:
        return
    host = torch.randn(6, 4)
    first = host.to("flagos:0")
    counts = counted(lambda: first.to("flagos:1"))
    assert counts["api_calls"]["asynchronous peer copy"] == 1, counts
    second = first.t().to("flagos:1") + 1
    assert second.device == torch.device("flagos:1") and torch.equal(second.cpu(), host.t() + 1)
    raises(RuntimeError, "same device", lambda: first + second.t())
    with flagos.device(1):
        assert torch.ones(1, device=DEVICE).device.index == 1
    assert flagos.current_device() == 0


def check_host_tensors_are_refused_where_torch_refuses_them():
    raises(RuntimeError, "same device", lambda: torch.ones(3, device=DEVICE) + torch.ones(3))
    x = torch.arange(4.0, device=DEVICE)
    assert x[torch.tensor([2, 0])].tolist() == [2, 0]
    assert (x + torch.tensor(1.0)).tolist() == [1, 2, 3, 4]


def check_a_host_number_is_read_at_the_call():
    flagos.synchronize()
    number, x = torch.tensor(1.0), torch.zeros(4, device=DEVICE)
    slow_kernel()
    y = x + number
    number.fill_(100)
    assert y.tolist() == [1, 1, 1, 1]


def check_types_promote_as_on_the_cpu():
    for a, b in ((torch.ones(2, dtype=torch.int32), 1.5), (torch.ones(2, dtype=torch.bool), 3)):
        assert (a.to(DEVICE) * b).dtype == (a * b).dtype
    half = torch.ones(2, dtype=torch.float16)
    assert (half.to(DEVICE) + torch.tensor(2.0)).dtype == (half + torch.tensor(2.0)).dtype


def check_freed_memory_is_not_taken_from_a_kernel_that_still_reads_it():
    for _ in range(20):
        x = torch.full((1000,), 3.0, device=DEVICE)
        slow = torch.ones(300, 300, device=DEVICE)
        slow = slow @ slow
        y = x * 2
        del x
        z = torch.zeros(1000, device=DEVICE)
        assert y.sum().item() == 6000 and z.sum().item() == 0


def check_memory_used_on_another_stream_is_kept_for_it():
    side = flagos.Stream()
    x = torch.full((5000,), 3.0, device=DEVICE)
    side.wait_stream(flagos.current_stream()) if hasattr(side, "wait_stream") else flagos.synchronize()
    with flagos.stream(side):
        slow_kernel()
        y = x * 2
    x.record_stream(side)
    pointer = x.data_ptr()
    del x
    fresh = torch.zeros(5000, device=DEVICE)
    assert fresh.data_ptr() != pointer
    side.synchronize()
    assert y.sum().item() == 30000


def check_memory_is_counted_and_given_back():
    flagos.synchronize()
    before = flagos.memory_allocated()
    flagos.reset_peak_memory_stats()
    x = torch.empty(1 << 20, dtype=torch.uint8, device=DEVICE)
    assert flagos.memory_allocated() == before + (1 << 20)
    assert flagos.memory_reserved() >= 1 << 20
    del x
    assert flagos.memory_allocated() == before and flagos.max_memory_allocated() == before + (1 << 20)
    held = flagos.simulator_counts()["device_bytes"]
    flagos.empty_cache()
    assert flagos.simulator_counts()["device_bytes"] <= held - (1 << 20)


def check_streams_run_beside_each_other_and_events_order_them():
    side, event = flagos.Stream(), flagos.Event(enable_timing=True)
    begin = flagos.Event(enable_timing=True)
    x = torch.zeros(10, device=DEVICE)
    flagos.synchronize()
    begin.record()
    slow_kernel()
    x.add_(5)
    event.record()
    with flagos.stream(side):
        assert flagos.current_stream() == side
        event.wait(side) if hasattr(event, "wait") else side.wait_event(event)
        y = x + 1
    assert flagos.current_stream() == flagos.default_stream()
    side.synchronize()
    assert y.tolist() == [6] * 10 and event.query()
    assert begin.elapsed_time(event) > 0
    free = flagos.Stream()
    slow_kernel()
    with flagos.stream(free):
        z = torch.ones(4, device=DEVICE).sum()
    free.synchronize()
    assert not flagos.default_stream().query(), "the default stream ran dry before another stream's short work"
    assert z.item() == 4


def check_a_graph_replays_with_what_its_inputs_hold_now():
    x = torch.ones(100, device=DEVICE)
    kept = torch.zeros(100, device=DEVICE)
    graph = flagos.Graph()
    with flagos.graph(graph):
        y = torch.exp(x) * 2
        y = y - y.sum() / 100
        kept.copy_(y + x)
    assert kept.sum().item() == 0, "a captured operator ran"
    for value in (1.0, 3.0):
        x.fill_(value)
        flagos.synchronize()
        counts = counted(graph.replay)
        assert counts["api_calls"]["graph launch"] == 1 and counts["api_calls"]["kernel launch"] == 0
        assert counts["graph_kernels"] >= 5, counts
        other = torch.full((100,), 7.0, device=DEVICE)  # must not lie in the graph's memory
        graph.replay()
        flagos.synchronize()
        close(kept, torch.full((100,), value), 1e-4)
        assert other.sum().item() == 700
    raises(RuntimeError, "captured", lambda: capture_what_waits(x))
    assert torch.ones(2, device=DEVICE).nonzero().numel() == 2


def capture_what_waits(x):
    with flagos.graph(flagos.Graph()):
        x.nonzero()


def check_pinned_memory_is_copied_without_waiting():
    host = torch.randn(1000).pin_memory()
    assert host.is_pinned() and not torch.randn(3).is_pinned()
    slow_kernel()
    device = host.to(DEVICE, non_blocking=True)
    assert not flagos.current_stream().query()
    expected = host.clone()
    assert torch.equal(device.cpu(), expected)


def check_a_failing_kernel_is_reported_once_at_the_next_wait():
    def fail():
        x = torch.zeros(3, device=DEVICE)
        x.index_add_(0, torch.tensor([7], device=DEVICE), torch.ones(1, device=DEVICE))
        flagos.synchronize()

    raises((RuntimeError, IndexError), "", fail)
    flagos.synchronize()
    assert torch.ones(2, device=DEVICE).sum().item() == 2


def check_errors_of_shape_are_raised_at_the_call():
    raises(RuntimeError, "size of tensor", lambda: torch.ones(3, device=DEVICE) + torch.ones(4, device=DEVICE))
    raises(RuntimeError, "mat1 and mat2", lambda: torch.ones(2, 3, device=DEVICE) @ torch.ones(2, 3, device=DEVICE))
    flagos.synchronize()


def check_gradients_equal_the_cpus():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))
    other = copy.deepcopy(net).to(DEVICE)
    x = torch.randn(5, 6)
    net(x).square().mean().backward()
    other(x.to(DEVICE)).square().mean().backward()
    for host, device in zip(net.parameters(), other.parameters()):
        close(device.grad, host.grad)
    w = torch.randn(4, requires_grad=True)
    v = w.detach().to(DEVICE).requires_grad_()
    for p in (w, v):
        (g,) = torch.autograd.grad((p**3).sum(), p, create_graph=True)
        g.sum().backward()
    close(v.grad, w.grad)


def check_convolutions_train_as_on_the_cpu():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 5)
    )
    other, x = copy.deepcopy(net).to(DEVICE), torch.randn(2, 3, 8, 8)
    net(x).square().sum().backward()
    other(x.to(DEVICE)).square().sum().backward()
    for host, device in zip(net.parameters(), other.parameters()):
        close(device.grad, host.grad, 1e-3)


def check_derivatives_of_derivatives():
    x = torch.arange(1.0, 4.0, device=DEVICE)
    hessian = torch.func.hessian(lambda x: (x**3).sum())(x)
    close(hessian, torch.diag(torch.tensor([6.0, 12.0, 18.0])))
    assert torch._efficientzerotensor(3, device=DEVICE).clone().tolist() == [0, 0, 0]


def check_autocast_computes_products_in_the_small_type():
    x = torch.randn(4, 4, device=DEVICE, requires_grad=True)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        y = x @ x
        assert y.dtype == torch.bfloat16 and y.softmax(-1).dtype == torch.float32
        assert (x + 1).dtype == torch.float32
    y.float().sum().backward()
    assert x.grad.dtype == torch.float32


def transformer():
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    return nn.ModuleDict(
        {
            "embed": nn.Embedding(50, 32),
            "body": nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
            "head": nn.Linear(32, 50),
        }
    )


def train(device, **options):
    model = transformer().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **options)
    draw = torch.Generator().manual_seed(5)
    losses = []
    for _ in range(4):
        words = torch.randint(0, 50, (4, 9), generator=draw).to(device)
        optimizer.zero_grad()
        out = model["head"](model["body"](model["embed"](words[:, :-1])))
        loss = nn.functional.cross_entropy(out.reshape(-1, 50), words[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def check_training_losses_equal_the_cpus():
    for options in ({}, {"foreach": False}, {"foreach": True}, {"fused": True}):
        host, device = train("cpu", **options), train(DEVICE, **options)
        assert max(abs(a - b) for a, b in zip(host, device)) < 1e-4, (options, host, device)


def check_training_copies_only_what_the_program_copies():
    model = transformer().to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    words = torch.randint(0, 50, (4, 8)).to(DEVICE)

    def step():
        loss = model["head"](model["body"](model["embed"](words))).square().mean()
        loss.backward()
        optimizer.step()

    step()
    counts = counted(step)["api_calls"]
    assert counts["stream synchronize"] == 0 and counts["copy"] == 0, counts
    host = counted(lambda: words.cpu())["bytes_copied"]
    assert host == words.numel() * 8


def check_random_numbers_follow_the_seed():
    torch.manual_seed(3)
    first = torch.randn(5, device=DEVICE).tolist()
    torch.manual_seed(3)
    assert torch.randn(5, device=DEVICE).tolist() == first
    state = flagos.get_rng_state()
    second = torch.rand(5, device=DEVICE).tolist()
    flagos.set_rng_state(state)
    assert torch.rand(5, device=DEVICE).tolist() == second
    generator = torch.Generator(device=DEVICE).manual_seed(9)
    drawn = torch.rand(5, device=DEVICE, generator=generator).tolist()
    assert torch.rand(5, device=DEVICE, generator=generator.manual_seed(9)).tolist() == drawn
    with torch.random.fork_rng(devices=[0], device_type=DEVICE):
        torch.rand(3, device=DEVICE)
    assert sorted(torch.randperm(6, device=DEVICE).tolist()) == list(range(6))


def check_dropout_repeats_its_mask_in_backward():
    torch.manual_seed(0)
    x = torch.ones(1000, device=DEVICE, requires_grad=True)
    y = nn.functional.dropout(x, 0.4)
    y.sum().backward()
    assert torch.equal(y.detach().cpu(), x.grad.cpu())
    assert 450 < (y != 0).sum().item() < 750
    torch.manual_seed(0)
    assert torch.equal(nn.functional.dropout(x, 0.4), y)


def check_threads_work_at_once_on_one_stream():
    wrong = []

    def work(seed):
        try:
            draw = torch.Generator().manual_seed(seed)
            for _ in range(15):
                host = torch.randn(40, 40, generator=draw)
                x = host.to(DEVICE)
                y = torch.relu(x @ x + seed)
                picked = y[y > 0]
                torch.testing.assert_close(y.cpu(), torch.relu(host @ host + seed), rtol=1e-4, atol=1e-4)
                assert picked.numel() == int((y > 0).sum().item())
        except BaseException:
            wrong.append(traceback.format_exc())

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]


def check_profile_memory_shows_who_allocated():
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        x = torch.empty(1000, device=DEVICE)
        y = torch.relu(x)
        z = x + 1
        del x
    rows = {row.key: row for row in profiled.key_averages()}
    shown = {name: rows[name].self_device_memory_usage for name in ("aten::empty", "aten::relu", "aten::add")}
    assert shown == {"aten::empty": 4000, "aten::relu": 4000, "aten::add": 4000}, shown
    freed = [event for event in profiled.events() if event.name == "[memory]" and event.device_memory_usage < 0]
    assert sum(event.device_memory_usage for event in freed) == -4000, freed
    del y, z


def check_an_operator_is_shown_once_by_the_profiler():
    from torch.profiler import ProfilerActivity, profile

    x = torch.ones(8, 8, device=DEVICE)
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        x + 1
        x @ x
        x.copy_(torch.ones(8, 8))
    names = [event.name for event in profiled.events() if event.name.startswith("aten::")]
    assert names.count("aten::add") == 1 and names.count("aten::mm") == 1 and "aten::empty_strided" not in names, names
    assert "aten::_copy_from" not in names, names


def check_tensors_are_saved_loaded_and_copied():
    x = torch.randn(3, 4, device=DEVICE)
    file = io.BytesIO()
    torch.save({"x": x, "view": x[1]}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["x"].device.type == DEVICE and torch.equal(loaded["x"].cpu(), x.cpu())
    file.seek(0)
    assert torch.load(file, map_location="cpu")["view"].device.type == "cpu"
    again = copy.deepcopy(x)
    again.zero_()
    assert x.abs().sum().item() > 0
    assert "flagos" in repr(x)


def check_storages_are_set_and_resized():
    x = torch.arange(6.0, device=DEVICE)
    y = torch.empty(0, device=DEVICE).set_(x.untyped_storage(), 1, (2, 2), (2, 1))
    assert y.tolist() == [[1, 2], [3, 4]]
    x.resize_(10)
    assert x.shape == (10,) and x[:6].tolist() == [0, 1, 2, 3, 4, 5]
    x.untyped_storage().resize_(8)
    assert x.untyped_storage().nbytes() == 8
    z = torch.ones(3, device=DEVICE)
    z.set_()
    assert z.numel() == 0 and z.device.type == DEVICE
    z.set_(y)
    assert z.data_ptr() == y.data_ptr()


def check_torch_knows_the_device_as_its_accelerator():
    assert torch.accelerator.current_accelerator().type == DEVICE
    assert torch.accelerator.device_count() == flagos.device_count() == torch.flagos.device_count()
    torch.accelerator.synchronize()
    assert torch.ones(1).flagos().is_flagos
    assert nn.Linear(2, 2).flagos().weight.device.type == DEVICE
    stream = torch.Stream(device=DEVICE)
    assert stream.device.type == DEVICE and stream.query()
    assert torch.get_default_device().type == "cpu"


def main(names):
    checks = {name: value for name, value in globals().items() if name.startswith("check_")}
    results = {}
    for name in names or checks:
        try:
            checks[name]()
            results[name] = None
        except BaseException:
            results[name] = traceback.format_exc()
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1:])
