# placeholders.py - what stands in a trace where the name of an API call is not known, all of it in one list.
#
# In:  a call's name. Out: whether it is such a label. A new tracer that labels unknown calls adds its label here.

import collections
import re

LABELS = (
    r"cudaCall_\d+",  # a domain that is neither runtime nor driver
    r"cudaRuntimeCall_\d+",
    r"cuDriverCall_\d+",
    r"hipCall_\d+",
    r"mc(Runtime|Driver)Call_\d+",
    r"musaRuntimeCall_\d+|muDriverCall_\d+",
    r"tops(Runtime|Driver)Call_\d+",
    r"(cuda|reserved)\d+",  # NVIDIA's own placeholders
    r"unnamed (runtime|driver) call",  # the vendor gave no name
    r"(runtime|driver)?\s*(call|api|cbid)?\s*\d+",
    r"INVALID|UNKNOWN",
)
# Of all calls of a trace, at most this share may be unknown; 0: every call has its name.
MOST_UNKNOWN = 0.0

_ANY = re.compile("|".join(f"(?:{label})" for label in LABELS), re.IGNORECASE)


def is_placeholder(name):
    return not name or _ANY.fullmatch(name) is not None


def unknown_share(names):
    """(share, histogram of the labels found) of a list of call names."""
    labels = collections.Counter(name for name in names if is_placeholder(name))
    return (sum(labels.values()) / len(names) if names else 0.0), labels


def too_many_unknown(names):
    """Why the calls of a trace do not count as named: one line with the histogram of the unknown ones; None: they do."""
    share, labels = unknown_share(names)
    if share <= MOST_UNKNOWN:
        return None
    return f"{share:.0%} of the calls are unknown, at most {MOST_UNKNOWN:.0%} may be: {dict(labels)}"
