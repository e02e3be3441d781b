"""Ten times as many requests as a node can answer."""

import math
import statistics
import time

from models import made_model
from processes import BIN, client, node, say, traffic
from rows import QUICK_ROUNDS, ROUNDS, row_of_figures, row_of_rounds

WHAT = ("--input=x", "--shape=1,1024")
RUNS_MS = (1, 2, 5)
MEGABYTES_FIRST = 26
FLAGS = ("--max_concurrent_runs=1", "--threads=1")  # The engine runs on the same processor that reads and rejects the requests.


def peak_of(target: str, seconds: int) -> float:
    return client(BIN / "longshore-bench", "throughput", target, *WHAT, "--outstanding=8", f"--seconds={seconds}")["per_second"]


def megabytes_of(run_ms: float) -> int:
    """Returns the size of the model whose run takes about this time on this machine. Sizes are powers of 2^(1/4): few models are made."""
    megabytes = MEGABYTES_FIRST
    for _ in range(2):  # The time of a run is only roughly proportional to the size.
        with node(*FLAGS, model=made_model("wide", megabytes)) as ours:
            took_ms = 1000 / peak_of(f"--grpc=127.0.0.1:{ours.grpc}", 1)
        megabytes = max(1, round(2 ** (round(4 * math.log2(megabytes * run_ms / took_ms)) / 4)))
    return megabytes


def second_of(load, enough) -> tuple[int, dict]:
    """Returns the number, counted from now, and the progress of the first second for which `enough` is true; at most 60 seconds."""
    for second in range(1, 61):
        progress = load.read("progress")
        if enough(progress):
            return second, progress
    return second, progress


def overload_round(target: str, seconds: float) -> tuple[float, float, int]:
    """Returns the answers per second of a closed loop and under overload, and the seconds from there back to normal."""
    peak = peak_of(target, 3)
    with traffic(target, *WHAT, f"--rate={peak / 2:.0f}", "--deadline_ms=500", "--connections=4", "--in_flight_max=100000") as load:
        for _ in range(4):
            normal = load.read("progress")
        load.send("mark flood")
        load.send(f"rate {10 * peak:.0f}")
        time.sleep(seconds)
        load.send("mark after")
        load.send(f"rate {peak / 2:.0f}")
        flood = load.segment("flood")
        goodput = flood["answered"] / ((flood["ended_unix_ms"] - flood["began_unix_ms"]) / 1000)
        recovered, _ = second_of(load, lambda p: p["failed"] == 0 and p["answered"] > 0 and p["p99_ms"] <= 2 * normal["p99_ms"])
    return goodput, peak, recovered


def overload_rows(quick: bool):
    say(f"ten times the capacity of models that take {RUNS_MS} ms")
    for run_ms in RUNS_MS:
        yield from overload_of(megabytes_of(run_ms), QUICK_ROUNDS if quick else ROUNDS, 5 if quick else 10)


def overload_of(megabytes: int, count: int, seconds: float):
    rounds = []
    with node(*FLAGS, model=made_model("wide", megabytes)) as ours:
        for _ in range(count):
            rounds.append(overload_round(f"--grpc=127.0.0.1:{ours.grpc}", seconds))
            goodput, peak, _ = rounds[-1]
            say(f"  {goodput:.0f} answers per second of {peak:.0f}, {1000 / peak:.1f} ms each")
    goodput, peak, recovered = (list(values) for values in zip(*rounds, strict=True))
    what = f"{1000 / statistics.median(peak):.1f} ms a run"
    yield row_of_rounds(f"goodput at 10 x capacity, {what}, answers per second", "peak", goodput, peak, ">= 0.9")
    yield row_of_figures(f"seconds from overload to normal, {what}", recovered, "<= 10")
