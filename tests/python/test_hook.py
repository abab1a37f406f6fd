# test_hook.py - what `import flagprof` does to torch.profiler: nothing at first, the right thing at the right profile.

import pytest
from echo_accelerator import adaptor_cache, answer, echo, echo_package, said  # noqa: F401


# What a process is to the system: its threads, the libraries that it has mapped, what lies in its folders.
STATE = """
import pathlib
def state():
    files = {line.split(maxsplit=5)[-1].strip() for line in open("/proc/self/maps") if "/" in line}
    made = sorted(str(path) for folder in ("XDG_CACHE_HOME", "TMPDIR") for path in pathlib.Path(os.environ[folder]).rglob("*"))
    return {"threads": sorted(os.listdir("/proc/self/task")), "libraries": sorted(f for f in files if ".so" in f), "made": made}
def newer(before, after):
    return {key: sorted(set(after[key]) - set(before[key])) for key in after}
"""
NOTHING = {"threads": [], "libraries": [], "made": []}
VENDORS = ("libflagprof", "adaptor.so", "cupti", "libcuda", "mcpti", "mupti", "roctracer", "libamdhip", "mspti", "hgpti")


def folders(tmp_path):
    for name in ("cache", "tmp"):
        (tmp_path / name).mkdir()
    return {"XDG_CACHE_HOME": tmp_path / "cache", "TMPDIR": tmp_path / "tmp"}


def test_importing_before_torch_starts_no_thread_opens_no_library_and_makes_no_file(echo, tmp_path):
    done = echo(
        STATE
        + """
import ctypes, json  # Python's own libraries
before = state()
import flagprof
after = state()
has_torch = "torch" in sys.modules
import torch
print(json.dumps([newer(before, after), has_torch, torch._C._get_privateuse1_backend_name(), state()["libraries"],
                  state()["made"], sum(type(finder).__module__.startswith("flagprof") for finder in sys.meta_path)]))
""",
        env=folders(tmp_path),
        own=True,
    )
    new, has_torch, name, libraries, made, watchers = answer(done)
    assert new == NOTHING and not has_torch and made == []
    assert name == "privateuseone"
    assert not [library for library in libraries for vendor in VENDORS if vendor in library.rsplit("/", 1)[-1]]
    assert watchers == 0, "the import hook is gone once torch is there"
    assert done.stderr == ""


# With no native code of FlagProf in the process and nothing of torch replaced but these, an operator runs as before.
WRAPPED = [
    ["torch.autograd.profiler", "profile", "__exit__"],
    ["torch.autograd.profiler", "profile", "_prepare_trace"],
    ["torch.autograd.profiler", "profile", "_start_trace"],
    ["torch.autograd.profiler", "profile", "export_chrome_trace"],
    ["torch.profiler.profiler", "_KinetoProfile", "__init__"],
]


def test_importing_after_torch_replaces_five_methods_of_its_profiler_and_nothing_else(echo, tmp_path):
    done = echo(
        STATE
        + """
import threading, torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
def attributes():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] != "torch":
            continue
        for key, value in list(vars(module).items()):
            found[name, "", key] = value
            if isinstance(value, type) and value.__module__.split(".")[0] == "torch":
                found.update({(value.__module__, value.__qualname__, inner): held for inner, held in vars(value).items()})
    return found
def hooks():
    return [sys.getprofile(), sys.gettrace(), threading.getprofile(), threading.gettrace(),
            _get_current_dispatch_mode_stack(), torch.overrides._len_torch_function_stack()]
before, threads, watched = attributes(), state(), hooks()
import flagprof
after = attributes()
changed = sorted(key for key in after if key not in before or before[key] is not after[key])
print(json.dumps([changed, newer(threads, state()), hooks() == watched, torch._C._get_privateuse1_backend_name()]))
""",
        env=folders(tmp_path),
        own=True,
    )
    changed, new, same_hooks, name = answer(done)
    assert changed == WRAPPED
    assert new == NOTHING and same_hooks and name == "privateuseone"


def test_a_cpu_profile_neither_renames_nor_loads_anything(echo):
    done = echo(
        """
import torch, flagprof
from torch.profiler import ProfilerActivity
record(lambda: torch.ones(3), activities=[ProfilerActivity.CPU])
print(json.dumps([torch._C._get_privateuse1_backend_name(), mapped("libflagprof"), mapped("adaptor.so")]))
"""
    )
    assert answer(done) == ["privateuseone", False, False]
    assert said(done) == []


def test_imported_before_or_after_torch_the_first_profile_of_privateuse1_renames_and_records(echo):
    for order in ("import flagprof, torch", "import torch, flagprof"):
        done = echo(
            order
            + """
prof = record(lambda: torch.ones(3))
averages = {e.key: e.self_device_time_total for e in prof.key_averages()}
print(json.dumps([torch._C._get_privateuse1_backend_name(), callable(torch.flagos.synchronize), averages]))
""",
            own=order.startswith("import flagprof"),
        )
        name, has_synchronize, averages = answer(done)
        assert name == "flagos" and has_synchronize, order
        assert round(averages["aten::ones"] * 1000) == 700, (order, averages)


def test_the_class_is_still_torchs_own(echo):
    done = echo(
        """
import torch
before = torch.profiler.profile
import flagprof
class Mine(torch.profiler.profile):
    pass
from torch.profiler import ProfilerActivity as A
with Mine(activities=[A.CPU, A.PrivateUse1]) as prof:
    torch.ones(3)
kernels = [e.name for e in prof.events() if "echo_kernel" in e.name]
print(json.dumps([before is torch.profiler.profile, isinstance(prof, torch.profiler._KinetoProfile), len(kernels) > 0,
                  torch.profiler.profile.__init__.__doc__ == before.__init__.__doc__]))
"""
    )
    assert answer(done) == [True, True, True, True]


def test_a_backend_that_renames_later_keeps_its_name_and_its_module(echo):
    done = echo(
        """
import flagprof, torch, types
module = types.ModuleType("torch.acme")
module.waited = 0
def synchronize():
    module.waited += 1
module.synchronize = synchronize
torch.utils.rename_privateuse1_backend("acme")
torch._register_device_module("acme", module)
prof = record(lambda: torch.ones(3))
print(json.dumps([torch._C._get_privateuse1_backend_name(), module.waited,
                  sum("echo_kernel" in e.name for e in prof.events()) > 0]))
"""
    )
    assert answer(done) == ["acme", 1, True]


def test_a_backend_without_synchronize_gets_one(echo):
    done = echo(
        """
import flagprof, torch, types
torch.utils.rename_privateuse1_backend("acme")
torch._register_device_module("acme", types.ModuleType("torch.acme"))
record(lambda: torch.ones(3))
torch.acme.synchronize()
print(json.dumps(True))
"""
    )
    assert answer(done) is True


def test_every_form_of_naming_the_activities_is_understood(echo):
    done = echo(
        """
import flagprof, torch
from torch.profiler import ProfilerActivity as A
def kernels(activities):
    return sum("echo_kernel" in e.name for e in record(lambda: torch.ones(3), activities=activities).events())
forms = {"list": [A.CPU, A.PrivateUse1], "set": {A.CPU, A.PrivateUse1}, "tuple": (A.PrivateUse1, A.CPU), "all": None}
print(json.dumps({name: kernels(form) > 0 for name, form in forms.items()}))
"""
    )
    assert answer(done) == {"list": True, "set": True, "tuple": True, "all": True}


def test_the_profiler_of_autograd_records_too(echo):
    done = echo(
        """
import flagprof, torch
record(lambda: torch.ones(3))
with torch.autograd.profiler.profile(use_device="flagos", use_kineto=True) as prof:
    torch.ones(3)
with torch.autograd.profiler.profile(enabled=False):
    pass
print(json.dumps(sum("echo_kernel" in e.name for e in prof.function_events) > 0))
"""
    )
    assert answer(done) is True


def test_a_schedule_records_each_of_its_cycles(echo):
    done = echo(
        """
import flagprof, torch
from torch.profiler import ProfilerActivity as A, profile, schedule
traces = []
def ready(prof):
    path = f"cycle{len(traces)}.json.gz"
    prof.export_chrome_trace(path)
    import gzip
    traces.append(strict(gzip.open(path, "rt").read()))
with profile(activities=[A.CPU, A.PrivateUse1], schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
             on_trace_ready=ready, record_shapes=True, with_stack=True) as prof:
    for step in range(8):
        torch.ones(3)
        prof.step()
out = []
for trace in traces:
    window = trace["flagprof_window"]
    base = trace["baseTimeNanoseconds"]
    kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
    inside = [window["start_ns"] <= base + round(e["ts"] * 1000) + round(e["dur"] * 1000) and
              base + round(e["ts"] * 1000) <= window["end_ns"] for e in kernels]
    ledger = trace["flagprof_ledger"]
    out.append([len(kernels) > 0, all(inside), ledger["kinds"]["kernel"]["kept"] == len(kernels), ledger["complete"]])
print(json.dumps(out))
"""
    )
    assert answer(done) == [[True, True, True, True]] * 2


def test_without_an_accelerator_the_program_runs_on_and_is_told_once(echo):
    done = echo(
        """
import flagprof, torch
for turn in range(2):
    prof = record(lambda: torch.ones(3))
print(json.dumps([torch._C._get_privateuse1_backend_name(), flagprof.last_ledger(), flagprof.accelerator(),
                  sum(e.key == "aten::ones" for e in prof.key_averages()),
                  {key: value for key, value in trace(prof).items() if key.startswith("flagprof")}]))
""",
        env={"FLAGPROF_ECHO_ABSENT": "1"},
    )
    name, ledger, accelerator, operators, own = answer(done)
    assert name == "privateuseone", "a name would make it the accelerator of the whole process"
    assert ledger == own["flagprof_ledger"] == {"not_recorded": 'the echo is "absent"'}
    assert own["flagprof"]["not_recorded"] == 'the echo is "absent"' and own["flagprof"]["version"]
    assert accelerator == {"accelerator": None, "reason": 'the echo is "absent"'}
    assert operators == 1
    lines = [line for line in said(done) if "building" not in line]
    assert len(lines) == 1 and "no usable accelerator" in lines[0], lines


def test_a_named_device_without_an_accelerator_says_why_in_the_trace(echo):
    done = echo(
        """
import flagprof, torch
torch.utils.rename_privateuse1_backend("acme")
prof = record(lambda: torch.ones(3))
print(json.dumps([trace(prof)["flagprof"].get("not_recorded"), flagprof.last_ledger()]))
""",
        env={"FLAGPROF_ECHO_ABSENT": "1"},
    )
    assert answer(done) == ["the echo is 'absent'", {"not_recorded": "the echo is 'absent'"}]


def test_a_profile_of_the_cpu_beside_one_without_its_device_says_nothing_of_devices(echo):
    done = echo(
        """
import flagprof, torch
from torch.profiler import ProfilerActivity, profile
ours = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1])
theirs = record(lambda: torch.ones(3), activities=[ProfilerActivity.CPU])
with ours:
    torch.ones(3)
print(json.dumps([["flagprof" in trace(prof) for prof in (ours, theirs)], flagprof.last_ledger().get("complete")]))
""",
        env={"FLAGPROF_ECHO_ABSENT": "1"},
    )
    assert answer(done) == [[True, False], None]


def test_backward_still_works_once_the_device_has_a_name(echo):
    done = echo(
        """
import flagprof, torch
def body():
    a = torch.ones(4, 4, requires_grad=True)
    (a @ a).sum().backward()
record(body)
body()
print(json.dumps(torch._C._get_privateuse1_backend_name()))
"""
    )
    assert answer(done) == "flagos"


def test_a_recording_that_does_not_start_costs_only_the_devices_rows(echo):
    done = echo(
        """
import flagprof, torch
found = trace(record(lambda: torch.ones(3)))
print(json.dumps([found["flagprof"]["not_recorded"], any(e.get("cat") == "cpu_op" for e in found["traceEvents"])]))
""",
        env={"FLAGPROF_ECHO_REFUSES": "1"},
    )
    assert answer(done) == ["the echo refuses", True]
    assert any("the echo refuses" in line for line in said(done))


def test_without_the_library_the_cpu_is_profiled_and_the_cure_is_named_once(echo, tree, tmp_path):
    if tree.installed:
        pytest.skip("an install has its library")
    done = echo(
        """
import flagprof, torch
for turn in range(2):
    prof = record(lambda: torch.ones(3))
print(json.dumps([torch._C._get_privateuse1_backend_name(), sum(e.key == "aten::ones" for e in prof.key_averages())]))
""",
        env={"FLAGPROF_BUILD": tmp_path},
    )
    assert answer(done) == ["privateuseone", 1]
    lines = said(done)
    assert len(lines) == 1 and "libflagprof.so" in lines[0] and "make" in lines[0], lines


# ---- A CUDA build with a GPU, as torch describes itself there

CUDA_BUILD = """
import torch
from torch.profiler import ProfilerActivity as A
real = torch.autograd._supported_activities
torch.autograd._supported_activities = lambda: real() | {A.CUDA}
torch.autograd.profiler._supported_activities = torch.autograd._supported_activities
torch.cuda.is_available = lambda: True
torch.cuda.synchronize = lambda device=None: None
import flagprof
"""


def test_on_a_cuda_build_nothing_changes_until_it_is_asked_for(echo):
    done = echo(
        CUDA_BUILD
        + """
for turn in range(2):
    prof = record(lambda: torch.ones(3))
print(json.dumps([torch._C._get_privateuse1_backend_name(), mapped("adaptor.so")]))
"""
    )
    assert answer(done) == ["privateuseone", False]
    lines = said(done)
    assert len(lines) == 1 and "flagprof.use_cuda()" in lines[0], lines


def test_use_cuda_keeps_kinetos_hands_off_and_records_cuda_as_cuda(echo):
    ask = {"call": ("flagprof.use_cuda()\n", None), "environment": ("", {"FLAGOS_USE_CUDA": "on"})}
    for how, (call, env) in ask.items():
        done = echo(
            CUDA_BUILD
            + call
            + """
record(lambda: torch.ones(3), activities=[A.CPU])
kernels = []
for activities in ([A.CPU, A.PrivateUse1], [A.CPU, A.CUDA]):
    prof = record(lambda: torch.ones(3), activities=activities)
    kernels.append(sum("echo_kernel" in e.name for e in prof.events()) > 0)
found = trace(prof)
calls = {e.get("cat") for e in found["traceEvents"]}
print(json.dumps([torch._C._get_privateuse1_backend_name(), kernels, "cuda_runtime" in calls, found["deviceProperties"]]))
""",
            env=env,
        )
        # Kineto lists CUDA's devices itself, where it is built with CUDA: here, where it is not, nobody does.
        assert answer(done) == ["privateuseone", [True, True], True, []], how
        assert [line for line in said(done) if "building" not in line] == [], how


def test_use_cuda_after_the_first_profile_is_too_late_and_says_so(echo):
    done = echo(
        CUDA_BUILD
        + """
record(lambda: torch.ones(3), activities=[A.CPU])
flagprof.use_cuda()
record(lambda: torch.ones(3))
print(json.dumps(torch._C._get_privateuse1_backend_name()))
"""
    )
    assert answer(done) == "privateuseone"
    lines = [line for line in said(done) if "building" not in line]
    assert len(lines) == 1 and "first profile" in lines[0], lines


def test_a_bad_value_of_the_switch_is_said_and_reads_as_off(echo):
    done = echo(CUDA_BUILD + "record(lambda: torch.ones(3))\nprint('null')", env={"FLAGOS_USE_CUDA": "maybe"})
    answer(done)
    assert any("FLAGOS_USE_CUDA=maybe" in line for line in said(done))
    assert any("flagprof.use_cuda()" in line for line in said(done))


# A torch that no folder holds: one finder, and one loader for all of its modules, as an editable install or a zip may have.
FINDER = """
import importlib.machinery, json, sys
SOURCES = {
    "torch": "",
    "torch.autograd": "",
    "torch.autograd.profiler": "class profile:\\n    _prepare_trace = _start_trace = __exit__ = export_chrome_trace = print",
    "torch.profiler": "from torch.profiler.profiler import profile",
    "torch.profiler.profiler": "class _KinetoProfile:\\n    def __init__(self): pass\\nclass profile(_KinetoProfile): pass",
    "torch.later": "",
}
class Shared:
    def create_module(self, spec): return None
    def exec_module(self, module):
        executed.append(module.__name__)
        exec(SOURCES[module.__name__], vars(module))
    def get_source(self, name): return SOURCES[name]
class Finder:
    def find_spec(self, name, path, target=None):
        if name in SOURCES:
            package = any(other.startswith(name + ".") for other in SOURCES)
            return importlib.machinery.ModuleSpec(name, loader, is_package=package)
executed, loader = [], Shared()
sys.meta_path.insert(0, Finder())
import flagprof
import torch.profiler, torch.later
profiler = sys.modules["torch.profiler.profiler"]
print(json.dumps([hasattr(profiler._KinetoProfile.__init__, "_flagprof"), profiler.__loader__ is profiler.__spec__.loader is loader,
                  vars(loader) == {}, sorted(executed) == sorted(SOURCES),
                  sum(type(finder).__module__.startswith("flagprof") for finder in sys.meta_path)]))
"""


def test_a_torch_that_another_finder_imports_is_seen_and_keeps_its_own_loader(run_python):
    done = run_python(FINDER, env={"PYTHONNOUSERSITE": "1"})
    assert done.returncode == 0 and done.json() == [True, True, True, True, 0], done
