"""Stages of ./dev demo and ./dev e2e in which a version is judged before it gets any weight.

Shadow finds that version 3 of the model "trial", which was trained on wrong labels, answers otherwise than the stable version. BlueGreen
shows version 2 only to requests with a header, then gives it all requests at once, and a person returns to version 1.
"""

import json
import struct
import time

import checks
import decisions
import images
import load
import programs

MODEL = "trial"
RATE, RATE_OF_SWITCH = 60, 200
WAIT_MAX_S = 120
SWITCH_MAX_S = 3
HEADER = "x-longshore-preview"
LATENCY_OFF = {"analysis": {"latency": {"enabled": False}}}
# v2 is a better network than v1, so the labels of a good version differ for a few images.
SHADOW = {"strategy": "Shadow", **LATENCY_OFF,
          "shadow": {"share": 1, "budget": 0.5, "for": "2s", "compare": [{"output": "label", "measure": "Equal", "rows": 0.9}]}}
BLUE_GREEN = {"strategy": "BlueGreen", **LATENCY_OFF, "preview": {"header": HEADER}, "keepWarm": "5m"}
SHADOW_TITLE = f"{MODEL}: v3, trained on wrong labels, is found in the shadow of v1, before it answers any user"
PREVIEW_TITLE = f"{MODEL}: v2 is shown to testers, gets all requests at once, and is undone"


class Trials(decisions.Decisions):
    """Scenarios with these stages also define apply_trial and ask."""

    def apply_trial(self, version, rollout):
        """Applies the Model "trial" with this rollout and the versions of digits to the fleet "main"."""
        raise NotImplementedError

    def ask(self, headers):
        """Sends one image to the model over REST. Returns the version that answered."""
        raise NotImplementedError

    def find_in_shadow(self):
        self.apply_trial(1, SHADOW)
        if not self.wait(lambda: self.objects.serves(MODEL) == 1, WAIT_MAX_S):
            raise programs.DemoError(f"{MODEL} v1 was not served within {WAIT_MAX_S} s")
        self.pause(1)
        self.start_load(MODEL, "main", *images.load_flags(MODEL, self.folder, broken=False), f"--rate={RATE}")
        self.loads[MODEL].mark("shadow")
        self.apply_trial(3, SHADOW)
        seen = self.wait(lambda: self.objects.rollout(MODEL).get("phase") == "Shadow", WAIT_MAX_S)
        self.expect("v3 is loaded, and judged at a weight of 0 %", seen and not self.objects.rollout(MODEL).get("weight"),
                    self.objects.rollout(MODEL).get("phase"))
        met = self.wait(lambda: self.is_over(3, "RolledBack", MODEL), WAIT_MAX_S)
        failure = self.objects.failure(MODEL, 3) or {}
        self.expect("the pairs show that its labels differ from those of v1", met and failure.get("reason") == "OutputDiffers",
                    failure.get("message") or self.verdict(MODEL))
        self.loads[MODEL].mark("after the shadow")
        counts = self.loads[MODEL].segment("shadow")
        self.expect("meanwhile v1 answered every user", checks.answers(counts, 1) > 0 and checks.answers(counts, 3) == 0 and counts["failed"] == 0,
                    f"{checks.answers(counts, 1)} answers of v1, {checks.answers(counts, 3)} of v3; {load.describe_failures(counts)}")

    def switch_and_undo(self):
        self.apply_trial(2, BLUE_GREEN)
        met = self.wait(self.is_previewed, WAIT_MAX_S)
        self.loads[MODEL].mark("preview")
        tester, user = self.ask({HEADER: "1"}), self.ask({})
        self.pause(2)
        self.loads[MODEL].mark("before the switch")
        counts = self.loads[MODEL].segment("preview")
        self.expect(f"in the preview, only requests with the header {HEADER} get v2",
                    met and (tester, user) == (2, 1) and checks.answers(counts, 2) == 0 and checks.answers(counts, 1) > 0,
                    f"with the header v{tester}, without it v{user}; the load has {checks.answers(counts, 2)} answers of v2")
        self.loads[MODEL].set_rate(RATE_OF_SWITCH)
        self.switch("promote", 2, old=1)
        self.between_switch_and_undo()
        self.switch("undo", 1, old=2)

    def between_switch_and_undo(self):
        """What happens while v2 serves."""
        self.pause(2)

    def switch(self, command, version, old):
        """Gives the command, after which `version` has to answer instead of `old`."""
        self.loads[MODEL].mark(command)
        self.pause(1)
        began_ms = time.time() * 1000
        done, printed = self.run_longshore(command, MODEL)
        met = self.wait(lambda: self.objects.serves(MODEL) == version, WAIT_MAX_S)
        self.pause(SWITCH_MAX_S)
        self.loads[MODEL].mark(f"after {command}")
        counts = self.loads[MODEL].segment(command)
        seconds = checks.seconds_to_last_answer(began_ms, [counts], old)
        self.expect(f"`longshore {command} {MODEL}` gives all requests to v{version} within {SWITCH_MAX_S} s",
                    done and met and seconds is not None and seconds <= SWITCH_MAX_S,
                    f"{checks.format_number(seconds)} s from the command to the last answer of v{old}; {printed}")
        self.expect(f"{command}: no request fails", counts["answered"] > 0 and counts["failed"] == 0, load.describe_failures(counts))

    def is_previewed(self):
        rollout = self.objects.rollout(MODEL)
        return rollout.get("candidate") == 2 and rollout.get("phase") == "Preview" and rollout.get("pausedReason") == "Preview"


def body():
    """One image as the body of a REST request."""
    first = struct.unpack(f"<{images.IMAGE_BYTES // 4}f", (images.DIGITS / "traffic.f32").read_bytes()[:images.IMAGE_BYTES])
    return json.dumps({"instances": [[[[first[8 * row + column]] for column in range(8)] for row in range(8)]]})
