"""The violations that the rules report."""

import dataclasses


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    """One violation: `path` from the repository root, `line` from 1 (0: the whole file), what is wrong and how to repair it."""

    path: str
    line: int
    problem: str
    fix: str

    def __str__(self):
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.problem}\n    fix: {self.fix}"
