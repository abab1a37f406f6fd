# test_export.py - the ledger put at the end of a file that torch wrote: whole, or not at all.
#
# In:  a file as torch leaves it, and room on the disk or none. Out: valid JSON in each case.

import json

import pytest

CODE = """
import resource, signal, sys
from flagprof import _export

class Profile:
    pass

path, room = sys.argv[1], int(sys.argv[2])
profile = Profile()
profile._flagprof_findings = '"flagprof_ledger": {"complete": true, "text": "' + "x" * 900 + '"}'
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
if room >= 0:
    size = len(open(path, "rb").read())
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, size + room))
_export.add_findings(profile, path, None)
"""
TRACE = '{"traceEvents": [' + ", ".join('{"ph": "X", "name": "a", "ts": %d, "dur": 1}' % at for at in range(100)) + "],\n"
TRACE += '"traceName": "trace.json"\n}\n'


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(TRACE)
    return path


def test_the_findings_stand_at_the_end_of_the_file(run_python, trace):
    run_python(CODE, trace, -1).ok()
    assert json.loads(trace.read_text())["flagprof_ledger"]["complete"] is True


@pytest.mark.parametrize("room", [0, 1, 5, 500])
def test_a_full_disk_leaves_the_file_as_torch_wrote_it(run_python, trace, room):
    run_python(CODE, trace, room).ok()
    assert trace.read_text() == TRACE
