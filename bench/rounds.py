#!/usr/bin/env python3
"""rounds.py - the recipe of case 64, as many rounds as asked for, to standard output: five events a round, never kept.

    python3 bench/rounds.py ROUNDS | flagprof stats -

645 bytes a round; 34,000,000 rounds are 22 GB.
"""

import pathlib
import re
import sys

CASE = next((pathlib.Path(__file__).resolve().parents[1] / "tests/fixtures/cases").glob("64-*.json"))


def pieces():
    """The head, a round as a template of its numbers, those numbers with their steps, the tail."""
    lines = CASE.read_text().splitlines()
    events, steps = "\n".join(lines[1:-1]).replace("%", "%%"), []

    def number(match):
        steps.append((int(match[2]), 200 if "ts" in match[1] else 10))
        return match[1] + "%d"

    return lines[0] + "\n", re.sub(r'("ts": |"correlation": |"id": )(\d+)', number, events), steps, "\n" + lines[-1] + "\n"


def main():
    rounds = int(sys.argv[1])
    head, template, steps, tail = pieces()
    # A thousand rounds at once: one formatting each, and few writes.
    many = 1000
    out = sys.stdout.buffer
    out.write(head.encode())
    block = ",\n".join([template] * many)
    within = [(first + turn * step, step) for turn in range(many) for first, step in steps]
    firsts, moves = [first for first, _ in within], [step * many for _, step in within]
    for begin in range(0, rounds, many):
        if begin + many > rounds:
            block = ",\n".join([template] * (rounds - begin))
            firsts = firsts[: len(steps) * (rounds - begin)]
        text = block % tuple(firsts)
        out.write((",\n" * bool(begin) + text).encode())
        firsts = [first + move for first, move in zip(firsts, moves)]
    out.write(tail.encode())


if __name__ == "__main__":
    main()
