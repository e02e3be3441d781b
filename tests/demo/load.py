"""A running longshore-load: its rate, its segments, its ledger."""

import json
import subprocess
import threading


def trouble(counts):
    """What went wrong with the requests of a segment: "2 of 310 failed, 3 sent again; 2 UNAVAILABLE: Socket closed"."""
    told = "".join(f"; {how_often} {why}" for why, how_often in counts["failures"].items())
    return f"{counts['failed']} of {counts['sent']} failed, {counts['retried']} sent again{told}"


class Load:
    """One generator. What it says is read by a thread; everything here may be asked at any time."""

    def __init__(self, programs, name, command):
        self.name = name
        self.progress = {}
        self.final = None
        self._segments = {}
        self._news = threading.Condition()
        self._process = programs.start(name, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            said = json.loads(line)
            with self._news:
                if said["type"] == "segment":
                    self._segments[said["name"]] = said
                elif said["type"] == "progress":
                    self.progress = said
                else:
                    self.final = said
                self._news.notify_all()

    def _say(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def set_rate(self, per_second):
        self._say(f"rate {per_second}")

    def mark(self, name):
        """Ends the segment under way; what is sent from now on belongs to `name`."""
        self._say(f"mark {name}")

    def segment(self, name, patience_s=10):
        """The counts of a segment that has ended."""
        with self._news:
            if not self._news.wait_for(lambda: name in self._segments, patience_s):
                raise TimeoutError(f"load {self.name}: no report of the segment {name}")
            return self._segments[name]

    def segments(self):
        with self._news:
            return dict(self._segments)

    def stop(self, patience_s=20):
        """Waits for the last answers. Returns the whole ledger."""
        if self._process.poll() is None:
            self._say("stop")
        with self._news:
            if not self._news.wait_for(lambda: self.final is not None, patience_s):
                raise TimeoutError(f"load {self.name}: no final ledger")
        self._process.wait()
        return self.final
