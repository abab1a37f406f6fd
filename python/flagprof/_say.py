# _say.py - the few lines that FlagProf writes to standard error from Python.
#
# In:  one sentence. Out: "flagprof: ..." on standard error, once where asked for once. Never an exception: a closed
#      standard error is the program's choice.

import sys

_said = set()


def say(sentence):
    try:
        print(f"flagprof: {sentence}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        pass


def say_once(key, sentence):
    if key not in _said:
        _said.add(key)
        say(sentence)
