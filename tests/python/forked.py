# forked.py - many small programs for the price of one `import torch`: each runs in a child forked from a process that
# has imported torch and done nothing with it.
#
# In:  {name: (environment on top, script)}. Out: {name: Done}, each with the child's own output; its status is 1 where the
#      script raised. A script about the beginning or the end of a process belongs into run_torch instead.

import json

from conftest import TREE, Done, python_environment, run
from echo_accelerator import PREAMBLE

SERVER = """
import json, os, sys, traceback
import torch
cases, status = json.load(open("cases.json")), {}
for at, (environment, script) in enumerate(cases):
    pid = os.fork()
    if pid == 0:
        for number, suffix in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{at}.{suffix}", os.O_CREAT | os.O_WRONLY), number)
        os.mkdir(f"{at}")
        os.chdir(f"{at}")
        os.environ.update(environment)
        try:
            exec(compile(script, f"case{at}", "exec"), {"__name__": "__main__"})
            end = 0
        except BaseException:
            traceback.print_exc()
            end = 1
        sys.stdout.flush()
        os._exit(end)  # the interpreter's own end costs more than most scripts
    status[at] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps(status))
"""


def run_forked(cases, folder, environment, timeout=300):
    scripts = [
        ({name: str(value) for name, value in extra.items()}, PREAMBLE + script) for extra, script in cases.values()
    ]
    (folder / "cases.json").write_text(json.dumps(scripts))
    (folder / "server.py").write_text(SERVER)
    done = run([TREE.python, folder / "server.py"], env=python_environment(environment), cwd=folder, timeout=timeout).ok()
    status = json.loads(done.stdout.splitlines()[-1])
    return {
        name: Done([name], status[str(at)], (folder / f"{at}.out").read_text(), (folder / f"{at}.err").read_text(), 0.0)
        for at, name in enumerate(cases)
    }
