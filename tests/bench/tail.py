"""Latencies of longshore-load: rows of their tail, and quantiles of several segments together."""

import random

from rows import row

RESAMPLES = 1000
BUCKET_GROWTH = 2 ** (1 / 8)  # A bucket of longshore-load ends at this multiple of its begin.


def _bucket_of(segments: list[dict], quantile: float) -> tuple[float, float]:
    """Finds the bucket of this quantile of all answers. Returns its upper end in us, and the share of its answers up to the quantile."""
    counts: dict[float, int] = {}
    for segment in segments:
        for upper_us, count in segment["latency_us"]:
            counts[upper_us] = counts.get(upper_us, 0) + count
    wanted, seen = quantile * sum(counts.values()), 0
    for upper_us, count in sorted(counts.items()):
        if seen + count >= wanted:
            return upper_us, (wanted - seen) / count
        seen += count
    raise SystemExit("bench: no request was answered")


def pooled_p999_ms(segments: list[dict]) -> float:
    """Returns the p99.9 of all answers of these segments, the upper end of its bucket."""
    return _bucket_of(segments, 0.999)[0] / 1000


def pooled_p99_ms(segments: list[dict]) -> float:
    """Returns the p99 of all answers of these segments, interpolated within its bucket."""
    upper_us, share = _bucket_of(segments, 0.99)
    lower_us = upper_us / BUCKET_GROWTH
    return (lower_us + (upper_us - lower_us) * share) / 1000


def ratio_of_pooled_p99(ours: list[dict], theirs: list[dict]) -> tuple[float, float, float]:
    """Returns the ratio of the p99 of all segments of `ours` to that of `theirs`, and its 95 % interval.

    The i-th segments of both sides are one round. The interval is that of the bootstrap over the rounds: the 2.5 % and 97.5 % quantiles
    of the ratios of RESAMPLES draws of as many rounds with replacement (Efron, Tibshirani, An Introduction to the Bootstrap, 13.3).
    """
    drawn = random.Random(1)
    rounds = range(len(ours))

    def ratio(chosen) -> float:
        return pooled_p99_ms([ours[i] for i in chosen]) / pooled_p99_ms([theirs[i] for i in chosen])

    ratios = sorted(ratio(drawn.choices(rounds, k=len(rounds))) for _ in range(RESAMPLES))
    return ratio(rounds), ratios[round(0.025 * RESAMPLES)], ratios[round(0.975 * RESAMPLES) - 1]


def tail_rows(what: str, final: dict, p999_max_ms: float, longest_max_ms: float):
    """Yields rows of the tail of all answers: a stall shows in them, although every request is answered before its deadline."""
    yield row(f"{what}, p99.9, ms", "", final["p999_ms"], 0, f"<= {p999_max_ms}")
    yield row(f"{what}, longest answer, ms", "", final["max_ms"], 0, f"<= {longest_max_ms}")
