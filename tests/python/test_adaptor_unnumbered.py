# test_adaptor_unnumbered.py - host calls to which the vendor gives no id: torch's tables count no device time twice.
#
# In:  the simulated Ascend, whose aclrtMalloc inside an operator carries no id. Out: torch's own tables.

import json

from echo_accelerator import adaptor_cache  # noqa: F401
from forked import run_in_child
from simulated import device_environment  # noqa: F401

CODE = """
import json
import flagprof, torch, flagos
from torch.profiler import ProfilerActivity, profile

a = torch.randn(200, 200).to("flagos")
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as prof:
    b = a @ a
    torch.flagos.synchronize()
events = list(prof.profiler.kineto_results.events())
operators = {event.correlation_id() for event in events if event.name().startswith("aten::")}
calls = [[event.name(), event.correlation_id() in operators] for event in events if event.name().startswith("aclrt")]
work = sum(event.duration_ns() for event in events if event.device_type() != torch.autograd.DeviceType.CPU)
rows = {row.key: row.self_device_time_total * 1000 for row in prof.key_averages() if row.device_type == torch.autograd.DeviceType.CPU}
print(json.dumps([calls, work, rows]))
"""


def test_a_call_without_an_id_has_no_operators_number_and_no_device_time(device_environment, tmp_path):  # noqa: F811
    (tmp_path / "script.py").write_text(CODE)
    environment = {**device_environment, "FLAGOS_ACCELERATOR": "ascend"}
    done = run_in_child(tmp_path / "script.py", env=environment, cwd=tmp_path).ok()
    calls, work, rows = json.loads(done.stdout.splitlines()[-1])
    assert "aclrtMalloc" in dict(calls) and not any(taken for _, taken in calls), calls
    assert work > 0 and round(sum(rows.values())) == work and round(rows["aten::mm"]) == work, rows
