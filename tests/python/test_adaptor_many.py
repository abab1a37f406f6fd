# test_adaptor_many.py - very many events through Kineto into the file: none lost, and none dear.
#
# In:  the echo accelerator, which delivers as many pairs of call and kernel as it is asked for. FLAGPROF_MANY_EVENTS sets the
#      number: 200,000 here, a million by hand (FLAGPROF_MANY_EVENTS=1000000; docs/performance.md says what that takes).
# Out: counts from the ledger, from Kineto and from the file, which must be one number; bytes an event.

import os

import pytest
from counted_profile import COUNTED_PROFILE
from echo_accelerator import adaptor_cache, answer, echo, echo_package  # noqa: F401

EVENTS = int(os.environ.get("FLAGPROF_MANY_EVENTS", "200000"))
MOST_BYTES = 100  # an event, of the adaptor's own; the core's records have tests of their own (tests/c/test_recording.c)

SCRIPT = COUNTED_PROFILE + """
import time
before = counter.counted_bytes()
begin = time.monotonic()
prof.stop()
stopped = time.monotonic()
held = counter.counted_bytes() - before
path = "many.json"
prof.export_chrome_trace(path)
written = time.monotonic()
wanted = {'"cat": "kernel"': "kernels", '"cat": "privateuse1_runtime"': "calls", '"ph": "s",': "starts", '"ph": "f",': "finishes"}
counts = dict.fromkeys(wanted.values(), 0)
for line in open(path):
    for text, name in wanted.items():
        counts[name] += text in line
size = os.path.getsize(path)
os.unlink(path)
in_kineto = sum("echo_kernel" == event.name() for event in prof.profiler.kineto_results.events())
print(json.dumps({"ledger": flagprof.last_ledger(), "file": counts, "kineto": in_kineto, "held": held,
                  "seconds": [stopped - begin, written - stopped], "bytes": size}))
"""


def test_every_one_of_very_many_events_reaches_the_file_and_none_is_dear(echo, tree):
    counter = tree.build / "echo" / "libcount_allocations.so"
    if not counter.exists():
        pytest.skip(f"no {counter}: it is built with the tests and never installed")
    done = echo(SCRIPT, env={"FLAGPROF_ECHO_BULK": EVENTS // 2, "LD_PRELOAD": counter}, timeout=900, own=True)
    found = answer(done)
    kinds = found["ledger"]["kinds"]
    events = 2 * kinds["kernel"]["kept"]
    print(f"{events} events: {found['held'] / events:.1f} bytes an event; stop {found['seconds'][0]:.1f} s, "
          f"export {found['seconds'][1]:.1f} s, {found['bytes'] / 1e6:.0f} MB")
    assert events >= EVENTS and found["ledger"]["complete"]
    assert kinds["kernel"]["seen"] == kinds["kernel"]["kept"] == kinds["runtime"]["kept"]
    assert found["kineto"] == kinds["kernel"]["kept"]
    assert set(found["file"].values()) == {kinds["kernel"]["kept"]}, found["file"]
    assert 0 < found["held"] / events <= MOST_BYTES
