# test_adaptor_recorded.py - torch.profiler's options, graphs and work in flight, recorded by FlagProf and read from the files.
#
# In:  tests/workloads/recorded.py on the simulated device: one process for all of them. Out: what the traces must hold.

import collections
import gzip
import json
import pathlib
import sys

import pytest
from echo_accelerator import adaptor_cache, answer  # noqa: F401
from forked import run_in_child
from simulated import device_environment  # noqa: F401

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS.parent / "python" / "flagprof" / "conformance"))

from structure import Trace, correlation  # noqa: E402


@pytest.fixture(scope="module")
def recorded(device_environment, tmp_path_factory):  # noqa: F811
    """(trace of a name, what torch's tables said)."""
    folder = tmp_path_factory.mktemp("recorded")
    script = TESTS / "workloads" / "recorded.py"
    done = run_in_child(script, folder, env=device_environment, cwd=folder, timeout=240)
    said = answer(done)
    assert "flagprof: " not in done.stderr.replace("flagprof: building", ""), done.stderr

    def trace(name):
        packed = folder / f"{name}.json.gz"
        return Trace(json.loads(gzip.open(packed).read() if packed.exists() else (folder / f"{name}.json").read_text()))

    return trace, said


def of(trace, category):
    return [event for event in trace.events if event["cat"] == category]


def halves(trace):
    found = collections.defaultdict(collections.Counter)
    for half in trace.arrows:
        found[half["id"]][half["ph"]] += 1
    return {number: (half["s"], half["f"]) for number, half in found.items()}


def gates(trace):
    return [event for event in trace.device if event["name"] == "gate"]


def test_record_shapes_parts_device_time_by_shape(recorded):
    trace, said = recorded
    shapes = [event["args"]["Input Dims"] for event in trace("options").operators if event["name"] == "aten::mm"]
    assert shapes == [[[4, 8], [8, 2]], [[16, 8], [8, 2]]]
    rows = said["options"]["shaped"]
    assert sorted(row[0] for row in rows) == sorted(shapes) and all(row[1] > 0 for row in rows), rows


def test_with_stack_the_operator_lies_within_the_line_that_called_it(recorded):
    trace = recorded[0]("options")
    operators = [event for event in trace.operators if event["name"] == "aten::mm"]
    callers = [event for event in of(trace, "python_function") if "recorded.py" in event["name"] and ": options" in event["name"]]
    assert callers and operators
    for event in operators:
        assert any(trace.start_ns(c) <= trace.start_ns(event) and trace.end_ns(event) <= trace.end_ns(c) for c in callers)


def test_profile_memory_shows_what_the_devices_allocator_reports(recorded):
    trace, said = recorded
    assert said["options"]["memory"]["aten::empty"] == 4000
    reports = [event for event in trace("options").header["traceEvents"] if event.get("name") == "[memory]"]
    privateuse1 = [event["args"] for event in reports if event["args"]["Device Type"] == 20]
    assert 4000 in [report["Bytes"] for report in privateuse1], reports
    assert all(report["Total Allocated"] > 0 for report in privateuse1)


def test_the_table_has_a_column_of_the_devices_time(recorded):
    assert "Self FLAGOS" in recorded[1]["options"]["table"] and "FLAGOS Mem" in recorded[1]["options"]["table"]


def test_a_call_that_started_nothing_has_no_half_of_an_arrow(recorded):
    trace = recorded[0]("options")
    started = {correlation(event) for event in trace.device}
    waits = {correlation(event) for event in trace.host if event["name"] == "cudaDeviceSynchronize"}
    idle = {correlation(event) for event in trace.host} - started
    assert waits and waits <= idle and started
    assert set(halves(trace)) == started and not idle & set(halves(trace))


def test_a_graphs_launch_starts_one_arrow_that_ends_at_each_of_its_kernels(recorded):
    trace = recorded[0]("graph")
    launches = [correlation(event) for event in trace.host if event["name"] == "cudaGraphLaunch"]
    assert len(set(launches)) == 2
    assert [halves(trace)[number] for number in launches] == [(1, 3), (1, 3)], halves(trace)
    starts = [half for half in trace.arrows if half["ph"] == "s"]
    assert len({half["ts"] for half in trace.arrows if half["ph"] == "f"}) == 6, "each finish stands on a kernel of its own"
    assert {(half["pid"], half["tid"]) for half in starts} == {(event["pid"], event["tid"]) for event in trace.host}


def test_work_in_flight_when_the_profile_ends_is_waited_for_and_recorded(recorded):
    trace = recorded[0]("in_flight")
    assert recorded[1]["in_flight"], "FlagProf's own synchronize() was not the one that waited"
    assert len(gates(trace)) == 1 and trace.header["flagprof_ledger"]["complete"]
    assert halves(trace)[correlation(gates(trace)[0])] == (1, 1)


def test_work_in_flight_when_a_cycle_of_the_schedule_ends_is_recorded_in_that_cycle(recorded):
    trace, said = recorded
    assert said["boundaries"] == ["cycle0.json.gz", "cycle1.json.gz"]
    for name in ("cycle0", "cycle1"):
        assert len(gates(trace(name))) == 1, name
        assert [event["name"] for event in trace(name).operators].count("aten::add") == 1, name
        assert trace(name).header["flagprof_ledger"]["complete"], name


def test_the_window_is_a_span_of_the_file_and_the_metadatas_is_the_same(recorded):
    for name in ("options", "graph", "cycle1"):
        trace = recorded[0](name)
        span = [event for event in of(trace, "Trace") if event["name"].startswith("FlagProf window")]
        window = trace.header["flagprof_window"]
        assert len(span) == 1 and span[0]["pid"] == "Spans"
        assert (trace.start_ns(span[0]), trace.end_ns(span[0])) == (window["start_ns"], window["end_ns"])
        ledger = trace.header["flagprof_ledger"]
        assert (ledger["window_start_ns"], ledger["window_end_ns"]) == (window["start_ns"], window["end_ns"])
        assert all(trace.end_ns(e) >= window["start_ns"] and trace.start_ns(e) <= window["end_ns"] for e in trace.device + trace.host)


def test_the_last_ledger_is_that_of_the_last_file(recorded):
    assert recorded[1]["last_ledger"] == recorded[0]("cycle1").header["flagprof_ledger"]
