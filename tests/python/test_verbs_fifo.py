# test_verbs_fifo.py - verbs that read a file twice take a pipe as well: its bytes come only once.

import os
import threading

import pytest

TRACE = "h200_streams.json.gz"
VERBS = {
    "fix": [],
    "cut": ["--from", "0ms", "--to", "2ms"],
    "merge": [],
    "convert": ["--from", "0ms"],
    "stats": ["--from", "0ms", "--format", "json"],
    "check": ["--from", "0ms", "--format", "json"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_pipe_gives_what_the_file_gives(run_cli, fixtures_dir, tmp_path, verb):
    trace = fixtures_dir / "traces" / TRACE
    pipe, from_pipe, from_file = tmp_path / "pipe", tmp_path / "pipe.json", tmp_path / "file.json"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(trace.read_bytes()), daemon=True)
    writer.start()
    others = [trace] if verb == "merge" else []
    run_cli(verb, pipe, *others, *VERBS[verb], "-o", from_pipe, timeout=60).ok()
    writer.join(10)
    run_cli(verb, trace, *others, *VERBS[verb], "-o", from_file, timeout=60).ok()
    differences = from_pipe.read_text().replace(str(pipe), str(trace)) != from_file.read_text()
    assert not differences or verb == "merge"  # a merge names its inputs in ways of its own
    assert from_pipe.stat().st_size > 1000
