# forked.py - small programs for the price of one `import torch`: each runs in a child forked from a process that has imported
# torch and done nothing with it. Importing takes longer than all else that such a program does.
#
# In:  a script with its arguments, environment and folder; or {name: (environment on top, script)}, all of them at once.
# Out: a Done with the child's own output; its status is 1 where the script raised, -N where a signal ended it.
#
# A script about the beginning or the end of a process (what importing does, exit, signals, fork, a preloaded library)
# belongs into run_torch instead: the child ends without the interpreter's own end, which costs more than most scripts.

import atexit
import json
import os
import pathlib
import select
import signal
import subprocess
import tempfile
import time

from conftest import LIMIT_S, TREE, Done, laid_over, python_environment

SERVER = """
import gc, json, os, runpy, sys, tempfile, traceback
import torch
gc.freeze()
def child(asked):
    os.setsid()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(os.open(asked[name], os.O_RDWR | os.O_CREAT, 0o600), number)
    sys.stdin = open(0)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    tempfile.tempdir = None
    sys.argv[:] = [asked["script"], *asked["arguments"]]
    sys.path[0] = os.path.dirname(asked["script"])
    end = 0
    try:
        runpy.run_path(asked["script"], run_name="__main__")
    except SystemExit as asked_for:
        end = asked_for.code if isinstance(asked_for.code, int) else int(asked_for.code is not None)
    except BaseException:
        traceback.print_exc()
        end = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(end)
print("ready", flush=True)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        child(json.loads(line))
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Server:
    """One process that has imported torch, and forks once a program."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="forked-")
        script = pathlib.Path(self.folder.name) / "server.py"
        script.write_text(SERVER)
        self.log = open(script.with_suffix(".log"), "w+")
        self.process = subprocess.Popen(
            [TREE.python, script], env=laid_over(python_environment({})), cwd=self.folder.name,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, bufsize=0, start_new_session=True,
        )  # fmt: skip
        self.read = b""
        self.line(LIMIT_S)
        atexit.register(self.end)

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()

    def line(self, limit_s):
        """The next line of the server's; None when none came in time."""
        until = time.monotonic() + limit_s
        while b"\n" not in self.read:
            if not select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            more = os.read(self.process.stdout.fileno(), 4096)
            assert more, f"the process that imports torch has ended\n{pathlib.Path(self.log.name).read_text()}"
            self.read += more
        first, self.read = self.read.split(b"\n", 1)
        return first.decode()

    def run(self, script, arguments=(), env=None, input=None, timeout=LIMIT_S, cwd=None):
        with tempfile.TemporaryDirectory(dir=self.folder.name) as name:
            place = pathlib.Path(name)
            files = {which: str(place / which) for which in ("stdin", "stdout", "stderr")}
            given = b"" if input is None else input if isinstance(input, bytes) else input.encode()
            (place / "stdin").write_bytes(given)
            asked = {**files, "script": str(script), "arguments": list(map(str, arguments)), "cwd": str(cwd or os.getcwd()),
                     "env": laid_over(python_environment(env))}  # fmt: skip
            start = time.monotonic()
            self.process.stdin.write(json.dumps(asked).encode() + b"\n")
            pid = int(self.line(LIMIT_S))
            status = self.line(timeout)
            timed_out = status is None
            if timed_out:
                os.killpg(pid, signal.SIGKILL)
                status = self.line(LIMIT_S)
            out, err = ((place / which).read_bytes().decode(errors="replace") for which in ("stdout", "stderr"))
            return Done([script, *arguments], int(status), out, err, time.monotonic() - start, timed_out)


_servers = []


def run_in_child(script, *arguments, env=None, input=None, timeout=LIMIT_S, cwd=None):
    """Runs a script's file as conftest's run_python does, in a child of the process that has imported torch."""
    if not _servers:
        _servers.append(Server())
    return _servers[0].run(script, arguments, env, input, timeout, cwd)


def run_forked(cases, folder, environment, timeout=300):
    """{name: Done} of {name: (environment on top, script)}."""
    found = {}
    for at, (name, (extra, script)) in enumerate(cases.items()):
        own = folder / f"{at}"
        own.mkdir()
        (own / "script.py").write_text(script)
        found[name] = run_in_child(own / "script.py", env={**environment, **extra}, timeout=timeout, cwd=own)
    return found
