"""Prints random samples and options for Judged.scala, one case a line:

    EXPERIMENT CONTROL DIRECTION NAN_STRATEGY OUTLIER_FACTOR CRITICAL MUST_HAVE_DATA MEASURE ALLOWED_DECREASE ALLOWED_INCREASE
    CRITICAL_DECREASE CRITICAL_INCREASE
"""

import random

CASES = 150
SIZES = ((0, 5), (2, 3), (9, 12), (15, 15), (24, 24), (12, 30), (20, 20), (24, 16))


def value(kind, shift):
    if kind == "normal":
        return round(random.gauss(10 + shift, 3), 3)
    if kind == "ties":
        return float(round(random.gauss(6 + shift, 2)))
    if kind == "errors":
        return sum(random.random() < 0.02 * (1 + abs(shift)) for _ in range(40)) / 40
    return round(random.lognormvariate(9.2 + 0.1 * shift, 0.25), 1)


def sample(size, kind, shift, nan_share):
    values = [float("nan") if random.random() < nan_share else value(kind, shift) for _ in range(size)]
    return ",".join("NaN" if one != one else repr(one) for one in values) or "-"


def limits(measure):
    neutral = 0.5 if measure == "cles" else 1.0
    if random.random() < 0.5:
        return [neutral] * 4
    return [round(neutral * factor, 2) for factor in (0.95, 1.05, 0.7, random.uniform(1, 1.6))]


def main():
    random.seed(1)
    for number in range(CASES):
        kind = ("normal", "ties", "errors", "run times")[number % 4]
        nan_share = random.choice([0, 0, 0.2])
        sizes = random.choice(SIZES)
        shift = random.choice([0, 1, 4, 4, -4, -4])
        measure = random.choice(["meanRatio", "cles"])
        print(
            sample(sizes[0], kind, shift, nan_share),
            sample(sizes[1], kind, 0, nan_share),
            random.choice(["increase", "decrease", "either"]),
            random.choice(["remove", "replace"]),
            random.choice(["-", "-", "3.0", "1.5"]),
            random.choice(["true", "false"]),
            random.choice(["true", "false"]),
            measure,
            *limits(measure),
        )


if __name__ == "__main__":
    main()
