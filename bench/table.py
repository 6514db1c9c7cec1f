#!/usr/bin/env python3
"""The table of bench_allocators: medians of its repetitions as Markdown.

Usage: table.py BENCH.JSON > BENCH.MD. Reads what --benchmark_out wrote. Times are net: without the loop's own, which is
measured in the same run as the contender "null". What a contender could not do, or was not there to do, is a dash.
"""

import json
import statistics
import sys

LOOP = "null"
CONTENDERS = {  # in the order of the columns, with their titles
    "cistern": "Cistern",
    "cistern_grow_first": "Cistern, grow first",
    "cistern_mag_4m": "Cistern, magazines 4 MiB",
    "cistern_mag_64m": "Cistern, magazines 64 MiB",
    "cistern_exact": "Cistern, exact best fit",
    "core": "core alone",
    "binned": "binned+map+mutex",
    "naive": "naive pool",
    "glibc": "glibc",
    "mimalloc": "mimalloc",
    "jemalloc": "jemalloc",
    "tcmalloc": "tcmalloc",
}
COMPARED = ["cistern", "cistern_grow_first", "cistern_mag_4m", "cistern_mag_64m"]
PEERS = ["binned", "naive", "glibc", "mimalloc", "jemalloc", "tcmalloc"]
ONE_THREAD = {
    "W1": "W1: 64 recurring inferences",
    "W1s": "W1s: one inference for ever",
    "W1f": "W1f: every inference new",
    "W3": "W3: LLaMA-7B serving",
    "W5": "W5: 4,096 small blocks live",
    "W2": "W2: 10,000 blocks live, 57 GB",
    "live10k": "live10k: 10,000 blocks live",
    "live100k": "live100k: 100,000 blocks live",
    "hit": "hit: recurring sizes, a pair",
    "alloc": "alloc: recurring sizes, an allocation",
}
THREADS = {
    "1t": "1t: W1, one thread",
    "2t": "2t: W1, two threads",
    "8t": "8t: W1, eight threads",
    "hit1t": "hit1t: recurring sizes, one thread",
    "hit2t": "hit2t: recurring sizes, two threads",
    "pc": "pc: one allocates, another frees",
}


def read_runs(data):
    """{(row, contender): [run, ...]} of the repetitions that ended well."""
    runs = {}
    for run in data["benchmarks"]:
        if run.get("run_type", "iteration") != "iteration" or run.get("error_occurred"):
            continue
        row, contender = run["name"].split("/")[:2]
        runs.setdefault((row, contender), []).append(run)
    return runs


def median_of(runs, row, contender, field):
    """None where it was not measured."""
    values = [run[field] for run in runs.get((row, contender), []) if field in run]
    return statistics.median(values) if values else None


def is_manual(runs, row):
    return any("/manual_time" in run["name"] for (name, _), group in runs.items() if name == row for run in group)


def net_time(runs, row, contender, field):
    own, loop = (median_of(runs, row, name, field) for name in (contender, LOOP))
    return None if own is None or loop is None else own - loop


def pair_time(runs, row, contender):
    """The time that is reported: CPU time of one thread, or what was timed by hand."""
    return net_time(runs, row, contender, "real_time" if is_manual(runs, row) else "cpu_time")


def nanoseconds(value):
    if value is None:
        return "-"
    return f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"


def ratio(value, other):
    if value is None or other is None or other <= 0:
        return "-"
    quotient = max(value, 0) / other
    return f"{quotient:.2f}" if quotient >= 0.01 else "<0.01"


def markdown(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "|---" + "|---:" * (len(titles) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def present(runs, order):
    found = {contender for _, contender in runs}
    return [name for name in order if name in found]


def times_table(runs, rows, value):
    columns = present(runs, CONTENDERS)
    measured = [row for row in rows if any((row, column) in runs for column in [LOOP, *columns])]
    lines = [[rows[row]] + [nanoseconds(value(row, column)) for column in columns] for row in measured]
    return markdown(["", *(CONTENDERS[column] for column in columns)], lines)


def ratio_tables(runs):
    peers = present(runs, PEERS)
    rows = {**ONE_THREAD, **THREADS}
    text = ""
    for ours in present(runs, COMPARED):
        lines = []
        for row, title in rows.items():
            own = pair_time(runs, row, ours)
            if own is not None:
                lines.append([title] + [ratio(own, pair_time(runs, row, peer)) for peer in peers])
        text += f"\n{CONTENDERS[ours]}, time over that of\n\n"
        text += markdown(["", *(CONTENDERS[peer] for peer in peers)], lines)
    return text


def counter_table(runs, rows, field, form):
    columns = [name for name in present(runs, CONTENDERS)
               if any(median_of(runs, row, name, field) for row in rows)]
    lines = []
    for row, title in rows.items():
        values = [median_of(runs, row, column, field) for column in columns]
        if any(value is not None for value in values):
            lines.append([title] + ["-" if value is None else form(value) for value in values])
    return markdown(["", *(CONTENDERS[column] for column in columns)], lines)


def report(data):
    runs = read_runs(data)
    context = data.get("context", {})
    repetitions = max((len(group) for group in runs.values()), default=0)
    load = ", ".join(f"{value:.1f}" for value in context.get("load_avg", []))
    text = (f"{context.get('num_cpus', '?')} processors, load {load or 'unknown'}; medians of {repetitions} "
            "interleaved repetitions. Times in ns, without the loop's own.\n\n")
    for name, reason in sorted(context.items()):
        if name.startswith("left_out_"):
            text += f"{name.removeprefix('left_out_')} is left out: {reason}\n\n"
    text += "One thread (another is parked), CPU time of a pair of allocation and free:\n\n"
    text += times_table(runs, ONE_THREAD, lambda row, column: pair_time(runs, row, column))
    text += "\nThreads on one allocator, wall time of a pair times busy processors (pc: wall time of a pair):\n\n"
    text += times_table(runs, THREADS, lambda row, column: pair_time(runs, row, column))
    text += "\nThe same, CPU time of all threads together by pairs (waiting asleep is not in it):\n\n"
    text += times_table(runs, THREADS, lambda row, column: net_time(runs, row, column, "cpu_ns"))
    text += ratio_tables(runs)
    text += "\nFootprint: highest end offset, or reserved bytes, over peak live:\n\n"
    text += counter_table(runs, ONE_THREAD, "footprint", lambda value: f"{value:.3f}")
    text += "\nMisses (requests that no hole held) per 1,000 pairs in the steady state:\n\n"
    text += counter_table(runs, {**ONE_THREAD, **THREADS}, "misses", lambda value: f"{1000 * value:.3f}")
    return text


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    if not text:
        sys.exit(f"table.py: {sys.argv[1]} is empty: no benchmark matched the filter")
    sys.stdout.write(report(json.loads(text)))


if __name__ == "__main__":
    main()
