# test_adaptor.py - what the adaptor makes of records: arrows, links, ranges, args, rows, and a file that is always JSON.

import itertools
import json
import random

from echo_accelerator import adaptor_cache, answer, echo, echo_package  # noqa: F401

NASTY = [
    b'quote"inside',
    b"back\\slash\\",
    b"\\",
    b'\\"',
    b"line\nbreak\r\ttab",
    b"\x01\x02\x1b[0m\x7f",
    "Ünïcode 核函数 😀".encode(),
    b"broken \xff\xfe\xc3 utf8 \xed\xa0\x80 \xc0\x80 \xf5\x80\x80\x80",
    b"truncated \xe6\xa0",
    b"kernel",
    b"",
    b" ",
    b"{}[]:,'",
    b"%s%n{0}",
    b"</script><b>",
    b"void f<int, (char)34>(A&&)::operator\"\"_x",
    b"x" * 8192,
    b"\\u0041\\n",
]

VALUES = [
    (b"1", "1"), (b"-0.5e+10", "-0.5e+10"), (b"1e5", "1e5"), (b"[1, 2, 3]", "[1, 2, 3]"), (b'{"a": [true]}', '{"a": [true]}'),
    (b'"text"', '"text"'), (b"true", "true"), (b"null", "null"), (b"0", "0"), (b"[]", "[]"), (b"{}", "{}"),
    (b"abc", '"abc"'), (b"nan", '"nan"'), (b"NaN", '"NaN"'), (b"inf", '"inf"'), (b"01", '"01"'), (b"+1", '"+1"'),
    (b"1.", '"1."'), (b".5", '".5"'), (b"0x10", '"0x10"'), (b"[1,", '"[1,"'), (b"1 2", '"1 2"'), (b"", '""'),
    (b"truer", '"truer"'), (b'"a\\"b"', "\"'a/'b'\""), (b"[1]]", '"[1]]"'), (b'{"a" 1}', "\"{'a' 1}\""), (b"-", '"-"'),
    (b"1e", '"1e"'), (b"[\xff]", '"[<FF>]"'), (b"[" * 40 + b"]" * 40, '"' + "[" * 40 + "]" * 40 + '"'),
]  # fmt: skip


def strict(text):
    def constant(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=constant)


def test_any_bytes_become_text_that_no_writer_can_break(echo):
    random.seed(7)
    alphabet = [b'"', b"\\", b"\n", b"\0", b"a", b"{", b"1", b",", b"\xc3", b"\xa9", b"\xff", b"e", b".", b"-", b"[", b"]"]
    texts = NASTY + [b"".join(random.choices(alphabet, k=random.randrange(12))) for _ in range(2000)]
    done = echo(
        """
import torch
from flagprof import _adaptor
adaptor = _adaptor.load()
texts = [bytes.fromhex(line) for line in sys.stdin.read().split(",")]
print(json.dumps([[adaptor.safe(text), adaptor.value(text)] for text in texts]))
""",
        input=",".join(text.hex() for text in texts),
    )
    for text, (safe, value) in zip(texts, answer(done)):
        assert all(" " <= byte <= "~" and byte not in '"\\' for byte in safe), (text, safe)
        # As Kineto's writer treats it: every backslash becomes a slash, line ends vanish.
        strict(value.replace("\\", "/").replace("\n", ""))
        if b"\0" not in text and text.isascii() and text.isalnum() and not text.isdigit() and text.isalpha():
            assert safe == text.decode()


def test_numbers_and_lists_stay_raw_and_what_is_in_doubt_is_quoted(echo):
    done = echo(
        """
import torch
from flagprof import _adaptor
adaptor = _adaptor.load()
print(json.dumps([adaptor.value(bytes.fromhex(line)) for line in sys.stdin.read().split(",")]))
""",
        input=",".join(text.hex() for text, _ in VALUES),
    )
    assert dict(zip([text for text, _ in VALUES], answer(done))) == dict(VALUES)


def test_different_names_stay_different(echo):
    names = ["é".encode(), "è".encode(), b"\xe9", "核".encode(), "心".encode(), b"e"]
    done = echo(
        """
import torch
from flagprof import _adaptor
adaptor = _adaptor.load()
print(json.dumps([adaptor.safe(bytes.fromhex(line)) for line in sys.stdin.read().split(",")]))
""",
        input=",".join(name.hex() for name in names),
    )
    shown = answer(done)
    assert len(set(shown)) == len(names), shown


def test_nasty_names_and_fields_leave_the_file_valid_and_the_names_readable(echo):
    kinds = itertools.cycle("tj")
    extras = [(b"key " + bytes([97 + at]) + name[:40], next(kinds), name) for at, name in enumerate(NASTY)]
    extras += [(b"real %d" % at, "r", value) for at, value in enumerate((b"nan", b"inf", b"-inf", b"0.1", b"1e300"))]
    extras += [(b"Ev Idx", "i", b"3"), (b"whole", "i", b"-5")]
    done = echo(
        """
import flagprof, torch
def body():
    for turn in range(40):
        torch.ones(3)
prof = record(body)
prof.key_averages().table()
kernels = [e for e in trace(prof)["traceEvents"] if e.get("cat") == "kernel"]
from flagprof import _torch
safe = [_torch._State.adaptor.safe(bytes.fromhex(line)) for line in open(os.environ["FLAGPROF_ECHO_NAMES"])]
print(json.dumps([sorted({e["name"] for e in kernels}), safe, kernels[0]["args"]]))
""",
        names=NASTY,
        extras=extras,
    )
    names, safe, arguments = answer(done)
    assert "unknown" not in names
    wanted = {name or "unnamed kernel" for name in safe} - {"kernel"} | {"Kernel"}  # Kineto's own renaming
    assert set(names) == wanted
    assert "Ev Idx" not in arguments
    assert arguments["whole"] == -5 and arguments["real 3"] == 0.1 and arguments["real 0"] == "nan"


def test_args_rows_and_header_read_as_torch_cudas(echo):
    done = echo(
        """
import flagprof, torch
found = trace(record(lambda: torch.ones(3)))
events = found["traceEvents"]
rows = {(e["name"], e["pid"], e["tid"]): list(e["args"].values())[0] for e in events if e["ph"] == "M"}
pick = lambda category: next(e for e in events if e.get("cat") == category)
print(json.dumps([found["deviceProperties"], pick("kernel"), pick("privateuse1_runtime"), os.getpid(),
                  [[*key, value] for key, value in rows.items()], found["flagprof"], found["echo_version"]]))
"""
    )
    devices, kernel, call, pid, rows, header, version = answer(done)
    assert devices[0] == {
        "id": 0, "name": "Echo '0'", "totalGlobalMem": 1 << 30, "computeMajor": 9, "computeMinor": 0, "warpSize": 32,
        "numSms": 132,
    }  # fmt: skip
    correlation = kernel["args"]["correlation"]
    assert list(kernel["args"]) == [
        "External id", "queued", "device", "context", "stream", "correlation", "registers per thread", "shared memory",
        "blocks per SM", "warps per SM", "grid", "block", "est. achieved occupancy %",
    ]  # fmt: skip
    # The figures of the H200's first kernel, which has this geometry.
    assert kernel["args"]["blocks per SM"] == 0.969697 and kernel["args"]["warps per SM"] == 3.878788
    assert kernel["args"]["grid"] == [8, 16, 1] and kernel["args"]["block"] == [128, 1, 1]
    assert (kernel["pid"], kernel["tid"]) == (0, 7)
    assert list(call["args"]) == ["External id", "cbid", "correlation"]
    assert (call["pid"], call["tid"]) == (pid, pid)
    assert call["args"]["correlation"] == correlation and correlation != call["args"]["External id"]
    named = {(row[0], row[1], row[2]): row[3] for row in rows}
    assert named["process_labels", 0, 0] == "GPU 0" and named["process_labels", 1, 0] == "GPU 1"
    assert named["process_sort_index", 1, 0] == 5000001
    assert named["thread_name", 0, 7] == "stream 7 "
    assert named["thread_name", pid, pid].startswith(f"thread {pid} (")
    assert ("process_labels", 2, 0) not in named
    assert header["library_version"] == "1.0 'quoted'" and header["simulated"] == "echo" and version == 10


def test_a_thread_that_torch_names_is_not_named_once_more(echo):
    done = echo(
        """
import flagprof, torch
def threads(prof):
    return sorted(e["tid"] for e in trace(prof)["traceEvents"] if e["name"] == "thread_name" and e["pid"] == os.getpid())
body = lambda: torch.ones(3)
print(json.dumps([threads(record(body)), threads(record(body, activities=[torch.profiler.ProfilerActivity.CPU]))]))
"""
    )
    with_device, alone = answer(done)
    assert alone and with_device == alone


def test_arrows_have_one_start_and_one_finish_and_time_goes_to_the_operator_that_caused_it(echo):
    done = echo(
        """
import flagprof, torch
def body():
    a = torch.ones(8, 8, requires_grad=True)
    (a @ a).relu().sum().backward()
prof = record(body)
own = {e.id: round(e.self_device_time_total * 1000) for e in prof.events() if e.name.startswith("aten::")}
print(json.dumps([trace(prof)["traceEvents"], own]))
"""
    )
    events, own = answer(done)
    arrows = {}
    for event in events:
        if event.get("cat") == "ac2g":
            arrows.setdefault(event["id"], []).append(event["ph"])
    assert arrows and all(sorted(halves) == ["f", "s"] for halves in arrows.values()), arrows
    operators = {e["args"]["External id"] for e in events if e.get("cat") == "cpu_op"}
    assert not operators & set(arrows), "the vendor's ids and torch's never coincide here, so neither can stand for the other"
    kernels = [e for e in events if e.get("cat") == "kernel"]
    assert {e["args"]["External id"] for e in kernels} == operators
    assert all(nanoseconds == 700 for nanoseconds in own.values()), own


def test_a_range_is_shown_on_the_device_and_its_time_counts_once(echo):
    done = echo(
        """
import flagprof, torch
from torch.profiler import record_function
def body():
    with record_function('my \\\\ range'):
        torch.ones(3)
prof = record(body)
total = sum(e.self_device_time_total for e in prof.key_averages() if e.key.startswith("aten::"))
print(json.dumps([trace(prof)["traceEvents"], round(total * 1000)]))
"""
    )
    events, total = answer(done)
    ranges = [e for e in events if e.get("cat") == "gpu_user_annotation"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    assert {e["pid"] for e in ranges} == {e["pid"] for e in kernels}
    annotation = next(e for e in events if e.get("cat") == "user_annotation")
    assert {e["args"]["External id"] for e in ranges} == {annotation["args"]["External id"]}
    # Quotes are stock torch's own trouble: up to 2.13 it writes the operator's row as invalid JSON.
    assert all(e["name"] == "my / range" for e in ranges)
    assert total == 700 * len(kernels)


def test_many_sessions_and_a_reload_never_double_an_event(echo):
    done = echo(
        """
import flagprof, torch, importlib
counts = []
for turn in range(3):
    found = trace(record(lambda: torch.ones(3)), f"t{turn}.json")
    counts.append([sum(e.get("cat") == c for e in found["traceEvents"]) for c in ("cpu_op", "kernel")])
    importlib.reload(flagprof)
print(json.dumps(counts))
"""
    )
    for operators, kernels in answer(done):
        assert operators == kernels > 0


def test_the_trace_outlives_profile_and_session(echo):
    done = echo(
        """
import flagprof, torch, gc
first = record(lambda: torch.ones(3))
second = record(lambda: torch.ones(3))
gc.collect()
print(json.dumps([len([e for e in trace(p, f"{at}.json")["traceEvents"] if e.get("cat") == "kernel"]) > 0
                  for at, p in enumerate((second, first))]))
"""
    )
    assert answer(done) == [True, True]


def test_the_story_is_told_with_flagos_trace_and_only_then(echo):
    script = "import flagprof, torch\nrecord(lambda: torch.ones(3))\nprint('null')"
    told = echo(script, env={"FLAGOS_TRACE": "Yes"}).ok().stderr
    for word in ("registered with torch", "configure: ", "window [", "linked"):
        assert word in told, word
    assert "flagprof" not in echo(script, env={"FLAGOS_TRACE": "off"}).ok().stderr
