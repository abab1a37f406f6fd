# test_verbs_signals.py - a verb that is told to end leaves nothing half-written, and ends by the signal.

import os
import signal
import subprocess
import time

import pytest

VERBS = {
    "convert": ["convert", "{input}", "-o", "{output}"],
    "sqlite": ["convert", "{input}", "-o", "{output}.db"],
    "cut": ["cut", "{input}", "--from", "0s", "--to", "9s", "-o", "{output}.gz"],
    "check": ["check", "{input}", "-o", "{output}"],
}


@pytest.mark.parametrize("verb, ending", [("convert", signal.SIGTERM), ("sqlite", signal.SIGINT), ("cut", signal.SIGHUP), ("check", signal.SIGTERM)])
def test_a_signal_removes_what_is_half_written_and_ends_the_program(tree, tmp_path, verb, ending):
    # The input is a pipe that never ends: whatever the machine is doing, the program is in the middle.
    pipe, folder = tmp_path / "pipe.json", tmp_path / "out"
    folder.mkdir()
    os.mkfifo(pipe)
    words = [word.format(input=pipe, output=folder / "o.json") for word in VERBS[verb]]
    program = subprocess.Popen([tree.cli, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        with open(pipe, "w") as feed:
            feed.write("[" + '{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1},\n' * 20000)
            feed.flush()
            # The others copy all of a pipe before they write.
            until = time.monotonic() + 60
            while verb == "check" and not list(folder.iterdir()) and time.monotonic() < until:
                time.sleep(0.01)
            program.send_signal(ending)
            assert program.wait(60) == -ending
    finally:
        program.kill()
        program.wait()
    assert list(folder.iterdir()) == []
