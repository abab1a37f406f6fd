"""Draws a part of a trace as an SVG, for the README: operators, API calls and device work on a common time axis, with arrows.

    python docs/draw_trace.py tests/fixtures/pairs/train.flagprof.json.gz docs/trace.svg --from-us 747 --for-us 300

The part begins `--from-us` microseconds after the first kernel's launch. Lanes are torch's: thread, then device streams.
"""

import argparse
import gzip
import html
import json
import pathlib

WIDTH, ROW, LEFT, FONT = 1080, 15, 108, 10
COLORS = {
    "cpu_op": "#8ecae6",
    "user_annotation": "#cdb4db",
    "cuda_runtime": "#ffb703",
    "cuda_driver": "#fb8500",
    "privateuse1_runtime": "#ffb703",
    "privateuse1_driver": "#fb8500",
    "kernel": "#52b788",
    "gpu_memcpy": "#e76f51",
    "gpu_memset": "#e9c46a",
    "gpu_user_annotation": "#d8e2dc",
}
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver", "privateuse1_runtime", "privateuse1_driver")


def read(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt") as file:
        return json.load(file)["traceEvents"]


def depths(events):
    """The row of each event of one lane: nested ones lie below what contains them."""
    open_ends, rows = [], {}
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        while open_ends and open_ends[-1] <= event["ts"]:
            open_ends.pop()
        rows[id(event)] = len(open_ends)
        open_ends.append(event["ts"] + event["dur"])
    return rows


def box(x, y, width, color, label, title):
    shown = html.escape(label[: max(0, int(width / 5.6))])
    text = f'<text x="{x + 2:.1f}" y="{y + ROW - 5}">{shown}</text>' if len(shown) > 2 else ""
    return (
        f'<g><title>{html.escape(title)}</title><rect x="{x:.1f}" y="{y}" width="{max(width, 0.8):.1f}" '
        f'height="{ROW - 2}" rx="1.5" fill="{color}"/>{text}</g>'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("picture", type=pathlib.Path)
    parser.add_argument("--from-us", type=float, default=0)
    parser.add_argument("--for-us", type=float, default=400)
    options = parser.parse_args()
    events = [event for event in read(options.trace) if event.get("ph") == "X" and event.get("cat") in COLORS]
    kernel_ids = {event["args"]["correlation"] for event in events if event["cat"] == "kernel"}
    launches = [e for e in events if e["cat"] in CALLS and e["args"].get("correlation") in kernel_ids]
    start = min(event["ts"] for event in launches) + options.from_us
    end = start + options.for_us
    events = [event for event in events if event["ts"] < end and event["ts"] + event["dur"] > start]
    scale = (WIDTH - LEFT - 8) / options.for_us
    lanes = {}
    for event in events:
        on_device = event["cat"] in DEVICE or event["cat"] == "gpu_user_annotation"
        lanes.setdefault((on_device, event["pid"], event["tid"]), []).append(event)
    parts, places, y = [], {}, 22
    for (on_device, pid, tid), lane in sorted(lanes.items(), key=str):
        rows = depths(lane)
        name = f"device {pid}, stream {tid}" if on_device else f"thread {tid}"
        parts.append(f'<text x="4" y="{y + ROW - 5}" font-weight="bold">{name}</text>')
        for event in lane:
            left, right = max(event["ts"], start), min(event["ts"] + event["dur"], end)
            x, top = LEFT + (left - start) * scale, y + rows[id(event)] * ROW
            title = f"{event['name']}\n{event['cat']}, {event['dur']:.3f} us"
            parts.append(box(x, top, (right - left) * scale, COLORS[event["cat"]], event["name"], title))
            if event["cat"] in DEVICE or event["cat"] in CALLS:
                places.setdefault(event["args"].get("correlation"), {})[on_device] = (x, top)
        y += (max(rows.values()) + 1) * ROW + 8
    for ends in places.values():
        if len(ends) == 2:
            (x1, y1), (x2, y2) = ends[False], ends[True]
            parts.append(f'<path d="M{x1:.1f},{y1 + ROW - 2} L{x2:.1f},{y2}" stroke="#555" stroke-width="0.7" fill="none" '
                         'marker-end="url(#tip)"/>')
    ticks = "".join(
        f'<text x="{LEFT + at * scale:.0f}" y="12" fill="#666">{at:.0f} us</text>'
        for at in range(0, int(options.for_us), max(1, int(options.for_us / 8)))
    )
    options.picture.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" font-family="sans-serif" '
        f'font-size="{FONT}"><rect width="100%" height="100%" fill="white"/><defs><marker id="tip" viewBox="0 0 6 6" '
        'refX="5" refY="3" markerWidth="5" markerHeight="5" orient="auto"><path d="M0,0 L6,3 L0,6 z" fill="#555"/>'
        f"</marker></defs>{ticks}{''.join(parts)}</svg>\n"
    )


if __name__ == "__main__":
    main()
