#!/usr/bin/env python3
"""The tables of docs/design/allocation.md: recorded traces replayed under many settings, as Markdown.

Usage: policy_table.py [--passes N] [--zones BYTES] CISTERN TRACE...

Each setting is one run of `cistern replay --json SETTING... TRACE...`. Overheads repeat exactly, times do not. With
--zones, requests below so many bytes and the others are replayed in pools of their own, and the two reserves are added
(traces must be CSV in zstd for that, and the program zstd must be there).
"""

import argparse
import csv
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile


@dataclasses.dataclass(frozen=True)
class Setting:
    title: str
    options: tuple


SETTINGS = [
    Setting("default", ()),
    Setting("first fit", ("--policy", "FIRST_FIT")),
    Setting("exact best fit", ("--policy", "EXACT_BEST_FIT")),
    Setting("slack 0 %", ("--slack-percent", "0")),
    Setting("slack 5 %", ("--slack-percent", "5")),
    Setting("grow first", ("--on-miss", "GROW_FIRST")),
    Setting("grow first, first fit", ("--on-miss", "GROW_FIRST", "--policy", "FIRST_FIT")),
    Setting("grow first, exact best fit", ("--on-miss", "GROW_FIRST", "--policy", "EXACT_BEST_FIT")),
    Setting("pages 64 KiB", ("--page-bytes", "64KiB")),
    Setting("pages 512 KiB", ("--page-bytes", "512KiB")),
    Setting("pages 2 MiB", ("--page-bytes", "2MiB")),
    Setting("arenas", ("--growth", "ARENAS")),
    Setting("arenas, first fit", ("--growth", "ARENAS", "--policy", "FIRST_FIT")),
    Setting("segments (caching allocator)", ("--growth", "SEGMENTS")),
    Setting("magazines 1 MiB", ("--magazine-bytes", "1MiB")),
    Setting("magazines 4 MiB", ("--magazine-bytes", "4MiB")),
    Setting("magazines 64 MiB", ("--magazine-bytes", "64MiB")),
]
PER_TRACE = ["default", "first fit", "exact best fit", "slack 0 %", "grow first", "pages 512 KiB", "pages 2 MiB",
             "arenas", "segments (caching allocator)", "magazines 4 MiB"]
SMALL_PEAK = 60 << 20  # pages of 2 MiB weigh too much below


def replay(cistern, setting, traces, passes):
    """{trace: figures}. Exit code 1 is a finding, shown in the figures."""
    command = [cistern, "replay", "--json", "--passes", str(passes), *setting.options, *traces]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"policy_table.py: {' '.join(command[:8])} ...: {done.stderr.strip()}")
    return {figures["trace"]: figures for figures in json.loads(done.stdout)}


def number(value, digits=1):
    return "-" if value is None else f"{value:,.{digits}f}"


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def markdown(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "|---" + "|---:" * (len(titles) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def summary(results):
    """A row a setting: overheads and times over all traces."""
    rows = []
    for title, figures in results.items():
        traces = list(figures.values())
        large = [trace for trace in traces if trace["peak_live_bytes"] >= SMALL_PEAK]
        worst = max(large or traces, key=lambda trace: trace["reserved_over_live"])
        rows.append([
            title,
            number(median(trace["reserved_over_live"] for trace in traces), 4),
            f"{worst['reserved_over_live']:.3f} ({worst['trace']})",
            number(median(trace["steady_ns_per_pair"] for trace in traces)),
            number(median(trace["ns_per_pair"] for trace in traces)),
            f"{sum(trace['maps'] for trace in traces):,}",
            f"{sum(trace['stitches'] for trace in traces):,}",
            str(sum(trace["failed_events"] for trace in traces)),
        ])
    return markdown(["setting", "overhead, median", "worst above 60 MiB of peak", "ns a pair, steady, median",
                     "growing, median", "maps, all traces", "stitches", "failed"], rows)


def per_trace(results, value):
    titles = [title for title in PER_TRACE if title in results]
    rows = [[trace] + [value(results[title][trace]) for title in titles] for trace in next(iter(results.values()))]
    return markdown(["trace", *titles], rows)


# --- Zones ------------------------------------------------------------------------------------------------------------

def split_by_size(text, least_large):
    """CSV of a trace as two: requests below least_large, and the others; frees go with their blocks."""
    rows = list(csv.DictReader(text.splitlines()))
    is_large = {row["id"]: int(row["size"]) >= least_large for row in rows if row["op"] == "a"}
    parts = []
    for large in (False, True):
        lines = ["op,id,size,time_ns,stream"]
        lines += [f"{row['op']},{row['id']},{row['size']},{row['time_ns']},{row['stream']}"
                  for row in rows if is_large.get(row["id"], False) == large]
        parts.append("\n".join(lines) + "\n" if len(lines) > 1 else None)
    return parts


def zones_table(cistern, traces, least_large):
    rows = []
    options = {"grow first": ("--on-miss", "GROW_FIRST"), "default": (), "arenas": ("--growth", "ARENAS")}
    whole = {title: replay(cistern, Setting(title, words), traces, 0) for title, words in options.items()}
    with tempfile.TemporaryDirectory() as folder:
        for path in traces:
            text = subprocess.run(["zstd", "-dc", path], capture_output=True, text=True, check=True).stdout
            name = pathlib.Path(path).name.split(".")[0]
            files = []
            for part, content in zip(("small", "large"), split_by_size(text, least_large)):
                if content is not None:
                    files.append(str(pathlib.Path(folder, f"{name}_{part}.csv")))
                    pathlib.Path(files[-1]).write_text(content, encoding="utf-8")
            row = [name]
            for title, words in options.items():
                one = whole[title][name]
                parts = replay(cistern, Setting(title, words), files, 0).values()
                both = sum(part["peak_reserved_bytes"] for part in parts)
                row += [f"{one['reserved_over_live']:.4f}", f"{both / one['peak_live_bytes']:.4f}"]
            rows.append(row)
    medians = [f"{statistics.median(float(row[column]) for row in rows):.4f}" for column in range(1, len(rows[0]))]
    rows.append(["median", *medians])
    return markdown(["trace", *(f"{title}, {zones}" for title in options for zones in ("one", "two"))], rows)


def main():
    parser = argparse.ArgumentParser(description="Recorded traces under many settings, as Markdown.")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--zones", type=int, metavar="BYTES")
    parser.add_argument("cistern")
    parser.add_argument("traces", nargs="+")
    arguments = parser.parse_args()
    if arguments.zones:
        print(zones_table(arguments.cistern, arguments.traces, arguments.zones), end="")
        return
    results = {setting.title: replay(arguments.cistern, setting, arguments.traces, arguments.passes)
               for setting in SETTINGS}
    print(summary(results))
    print("Overhead:\n")
    print(per_trace(results, lambda figures: f"{figures['reserved_over_live']:.4f}"))
    print("ns a pair, steady, without the loop's own:\n")
    print(per_trace(results, lambda figures: number(figures["steady_ns_per_pair"])), end="")


if __name__ == "__main__":
    main()
