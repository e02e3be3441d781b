"""Shows the demo's progress: a live screen on a terminal, otherwise plain lines."""

import sys
import threading
import time

REDRAW_INTERVAL_S = 0.25
LINE_INTERVAL_S = 5
BAR_WIDTH = 24
GREEN, RED, BOLD, DIM, PLAIN = "\033[32m", "\033[31m", "\033[1m", "\033[2m", "\033[0m"


def bar(percent):
    filled = round(BAR_WIDTH * percent / 100)
    return "█" * filled + "░" * (BAR_WIDTH - filled)


def model_line(name, status):
    rollout = status.get("rollout") or {}
    line = f"  {name:<8} serves v{status.get('stableVersion', 0) or '-'}"
    phase = rollout.get("phase", "None")
    if phase in ("None", "Completed", "RolledBack"):
        return line
    return f"{line}   v{rollout['candidate']} {bar(rollout['weight'])} {rollout['weight']:g} %  {phase}"


def fleet_line(name, status):
    scale = status.get("autoscale") or {}
    why = f"   desired: {scale['desired']} ({scale['reason']})" if scale.get("reason") else ""
    return f"  {name:<8} {status.get('readyReplicas', 0)} of {status.get('replicas', 0)} nodes ready{why}"


def load_line(name, progress):
    if not progress:
        return f"  {name:<8} starting"
    versions = ", ".join(f"v{version}: {counts['keyed'] + counts['unkeyed']}"
                         for version, counts in sorted(progress["versions"].items()))
    total = progress["total"]
    return (f"  {name:<8} {progress['rate']:g}/s   p50 {progress['p50_ms']:.1f} ms   p99 {progress['p99_ms']:.1f} ms   "
            f"last second {versions or '-'}   total {total['answered']}, failed {total['failed']}, retried {total['retried']}")


def table(rows):
    """Formats rows; each column is as wide as its widest cell."""
    widths = [max(len(str(cell)) for cell in column) for column in zip(*rows)]
    return "\n".join("   ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def print_expectations(expectations, out):
    rows = [("EXPECTED", "MET", "OBSERVED")]
    rows += [(entry["what"], "yes" if entry["met"] else "NO", entry["seen"]) for entry in expectations]
    print("\n" + table(rows), file=out)


class View:
    """Draws in a thread until close(). `state()` returns (models, fleets, loads), each a list of (name, values)."""

    def __init__(self, out, state):
        self.out = out
        self.live = out.isatty()
        self._state = state
        self._began = time.monotonic()
        self._lines = []        # The log of events, newest last.
        self._stage = ""
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._drawer = threading.Thread(target=self._run, daemon=True)
        self._drawer.start()

    def stage(self, title):
        with self._lock:
            self._stage = title
        self._log(title, BOLD)

    def note(self, text):
        self._log("  " + text, DIM)

    def expectation(self, what, met, seen):
        self._log(f"  {'ok     ' if met else 'FAILED '}{what}: {seen}", GREEN if met else RED)

    def close(self):
        self._ending.set()
        self._drawer.join()
        if self.live:
            self._draw()
            print(file=self.out)

    def _log(self, text, colour):
        at = f"{time.monotonic() - self._began:5.1f} s  "
        with self._lock:
            self._lines.append(f"{colour}{at}{text}{PLAIN}" if self.live else at + text)
        if not self.live:
            print(self._lines[-1], file=self.out, flush=True)

    def _run(self):
        while not self._ending.wait(REDRAW_INTERVAL_S if self.live else LINE_INTERVAL_S):
            if self.live:
                self._draw()
            else:
                for line in self._status_lines():
                    print("         " + line, file=self.out)
                self.out.flush()

    def _status_lines(self):
        models, fleets, loads = self._state()
        return ([model_line(*model) for model in models] + [fleet_line(*fleet) for fleet in fleets]
                + [load_line(*load) for load in loads])

    def _draw(self):
        models, fleets, loads = self._state()
        with self._lock:
            lines = [f"{BOLD}Longshore{PLAIN}  {time.monotonic() - self._began:.0f} s   {self._stage}", "", "Models"]
            lines += [model_line(*model) for model in models] + ["", "Fleets"]
            lines += [fleet_line(*fleet) for fleet in fleets] + ["", "Load"]
            lines += [load_line(*load) for load in loads] + ["", "Events"]
            lines += self._lines[-24:]
        print("\033[H\033[2J" + "\n".join(lines), end="", file=self.out, flush=True)


def choose_out(as_json):
    """The stream for text: standard error if standard output is reserved for the JSON object."""
    return sys.stderr if as_json else sys.stdout
