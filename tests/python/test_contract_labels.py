# test_contract_labels.py - calls without a name are known as such, by every tracer's label, and counted against one bound.
#
# In:  the labels as the tracers' sources have them. Out: the contract's case and parity's assertion fail on each, with the
#      histogram of what was found.

import re
import sys
import types

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "python" / "flagprof" / "conformance"))

import assertions  # noqa: E402
import cases  # noqa: E402
import placeholders  # noqa: E402
from structure import Trace  # noqa: E402

LABEL = re.compile(r'"([a-z]\w*Call_)(?:%[^"]*)?"')
OURS = sorted({label for path in (ROOT / "src" / "tracers").glob("*.[ch]") for label in LABEL.findall(path.read_text())})
THEIRS = ["cuda123", "reserved7", "INVALID", "unnamed runtime call", "unnamed driver call", ""]


def trace(*names):
    calls = [{"ph": "X", "cat": "privateuse1_runtime", "name": name, "ts": 1, "dur": 1, "pid": 1, "tid": 1, "args": {}} for name in names]
    return Trace({"traceEvents": calls})


def contract(*names):
    return cases.api_names([trace(*names)], None, types.SimpleNamespace(calls="^cuda"))


def test_the_sources_labels_are_found():
    assert {"cudaRuntimeCall_", "cuDriverCall_"} <= set(OURS)


@pytest.mark.parametrize("label", [*(f"{label}71" for label in OURS), *THEIRS])
def test_a_label_is_no_name(label):
    assert placeholders.is_placeholder(label)
    assert contract("cudaMalloc", label) and assertions.api_names(trace("cudaMalloc", label), None, None)


def test_real_names_are_names():
    names = ("cudaMalloc", "cudaLaunchKernelExC", "cuMemcpy2D", "cuGraphLaunch", "hipMemcpy3D", "cudaMemcpy2DAsync")
    assert not [name for name in names if placeholders.is_placeholder(name)]


def test_the_message_has_the_share_the_bound_and_the_histogram_of_unknown_ids():
    (line,) = contract("cudaMalloc", "cudaRuntimeCall_71", "cudaRuntimeCall_71", "cudaRuntimeCall_9")
    assert "75%" in line and f"at most {placeholders.MOST_UNKNOWN:.0%}" in line
    assert "{'cudaRuntimeCall_71': 2, 'cudaRuntimeCall_9': 1}" in line


def test_the_bound_is_the_one_constant(monkeypatch):
    names = ("cudaMalloc", "cudaRuntimeCall_71")
    monkeypatch.setattr(placeholders, "MOST_UNKNOWN", 0.5)
    assert not [line for line in contract(*names) if "unknown" in line]
    assert not assertions.api_names(trace(*names), None, None)
    monkeypatch.setattr(placeholders, "MOST_UNKNOWN", 0.4)
    assert contract(*names) and assertions.api_names(trace(*names), None, None)
