"""Latencies of longshore-load: rows of their tail, and quantiles of several segments together."""

from rows import row


def pooled_p999_ms(segments: list[dict]) -> float:
    """Returns the p99.9 of all answers of these segments, the upper end of its bucket."""
    counts: dict[float, int] = {}
    for segment in segments:
        for upper_us, count in segment["latency_us"]:
            counts[upper_us] = counts.get(upper_us, 0) + count
    wanted, seen = 0.999 * sum(counts.values()), 0
    for upper_us, count in sorted(counts.items()):
        seen += count
        if seen >= wanted:
            return upper_us / 1000
    raise SystemExit("bench: no request was answered")


def tail_rows(what: str, final: dict, p999_max_ms: float, longest_max_ms: float):
    """Yields rows of the tail of all answers: a stall shows in them, although every request is answered before its deadline."""
    yield row(f"{what}, p99.9, ms", "", final["p999_ms"], 0, f"<= {p999_max_ms}")
    yield row(f"{what}, longest answer, ms", "", final["max_ms"], 0, f"<= {longest_max_ms}")
