"""A running longshore-load: sets its rate, divides its run into segments, and reads its counts."""

import json
import subprocess
import threading


def describe_failures(counts):
    """Describes the failures of a segment: "2 of 310 requests failed, 3 were retried; 2 UNAVAILABLE: Socket closed"."""
    reasons = "".join(f"; {count} {why}" for why, count in counts["failures"].items())
    return f"{counts['failed']} of {counts['sent']} requests failed, {counts['retried']} were retried{reasons}"


class Load:
    """One load generator. A thread reads its output. All methods may be called from any thread."""

    def __init__(self, programs, name, command):
        self.name = name
        self.progress = {}
        self.final = None
        self._segments = {}
        self._changed = threading.Condition()
        self._process = programs.start(name, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            message = json.loads(line)
            with self._changed:
                if message["type"] == "segment":
                    self._segments[message["name"]] = message
                elif message["type"] == "progress":
                    self.progress = message
                else:
                    self.final = message
                self._changed.notify_all()

    def _send(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def set_rate(self, per_second):
        self._send(f"rate {per_second}")

    def mark(self, name):
        """Ends the current segment; requests sent from now on belong to the segment `name`."""
        self._send(f"mark {name}")

    def segment(self, name, timeout_s=10):
        """Waits for the counts of a segment that was ended by mark()."""
        with self._changed:
            if not self._changed.wait_for(lambda: name in self._segments, timeout_s):
                raise TimeoutError(f"load {self.name}: no counts of the segment \"{name}\" within {timeout_s} s")
            return self._segments[name]

    def segments(self):
        with self._changed:
            return dict(self._segments)

    def wait(self, timeout_s):
        """Waits until it ends by itself, after --requests or --duration_s. Returns the counts of the whole run."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.final is not None, timeout_s):
                raise TimeoutError(f"load {self.name}: no final counts within {timeout_s} s")
        self._process.wait()
        return self.final

    def stop(self, timeout_s=60):
        """Waits for the last answers, as long as longshore-load waits for them. Returns the counts of the whole run."""
        if self._process.poll() is None:
            self._send("stop")
        return self.wait(timeout_s)
