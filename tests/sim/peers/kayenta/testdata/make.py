"""Makes mannwhitney.json: random samples, with and without ties, and what SciPy computes for them.

    python3 -m venv VENV && VENV/bin/pip install scipy==1.17.1 && VENV/bin/python make.py > mannwhitney.json
"""

import json
import sys

import numpy
import scipy.stats

ROWS = 60


def main():
    random = numpy.random.default_rng(1)
    rows = []
    for number in range(ROWS):
        x_size, y_size = random.integers(2, 80, size=2)
        digits = [0, 1, 12][number % 3]  # Fewer digits make more ties.
        x = numpy.round(random.normal(3, 2, x_size), digits)
        y = numpy.round(random.normal(3 + random.normal(), 2, y_size), digits)
        shift = round(float(random.normal()), digits)
        found = scipy.stats.mannwhitneyu(x - shift, y, use_continuity=True, alternative="two-sided", method="asymptotic")
        rows.append({"x": x.tolist(), "y": y.tolist(), "shift": shift, "u": float(found.statistic), "p": float(found.pvalue)})
    sys.stdout.write('{"scipy": "%s", "rows": [\n' % scipy.__version__)
    sys.stdout.write(",\n".join(json.dumps(row) for row in rows) + "\n]}\n")


if __name__ == "__main__":
    main()
