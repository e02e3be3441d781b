"""Prints the time of each stage of .ci/run beside its budgets, which are in a table of CONTRIBUTING.md.

    python3 .ci/stages.py FILE

FILE has a line for the beginning of each stage, and one for the end of the run: the time in seconds, and the name in the table.
"""

import pathlib
import re
import sys

TABLE = pathlib.Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"


def budgets(page: str) -> dict[str, tuple[str, str]]:
    """Stage -> its budgets with empty caches and with a warm compiler cache."""
    table = page[page.index("| stage |"):].partition("\n\n")[0]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()[2:]]
    return {stage.replace("`", ""): (cold, warm) for stage, cold, warm, *_ in rows}


def report(begun: list[str], page: str) -> list[str]:
    rows = budgets(page)
    times = [(int(time), stage) for time, _, stage in (line.partition(" ") for line in begun)]
    lines = [f"{'stage':60} {'time':>9} {'budget, cold':>13} {'budget, warm':>13}"]
    for (time, stage), (following, _) in zip(times, times[1:]):
        cold, warm = rows.get(stage, ("none", "none"))
        lines.append(f"{stage:60} {(following - time) / 60:5.1f} min {cold:>13} {warm:>13}")
    lines.append(f"{'all stages':60} {(times[-1][0] - times[0][0]) / 60:5.1f} min")
    return lines


if __name__ == "__main__":
    print(*report(pathlib.Path(sys.argv[1]).read_text().splitlines(), TABLE.read_text(encoding="utf-8")), sep="\n")
