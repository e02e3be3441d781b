"""Stages of ./dev demo and ./dev e2e in which a person decides about version 2 of the model "quiet".

The traffic does not suffice for a proof, so the rollout is paused as Inconclusive. A person promotes the version, and undoes that.
"""

import subprocess
import time

import checks
import images
import load
import programs
import scenario

MODEL = "quiet"
WEIGHT = 50
RATE, RATE_OF_UNDO = 20, 200
PATIENCE_S = 20           # With 20 requests/s a proof takes more than a minute.
# Only the errors are compared, so what the analysis says does not depend on how busy this machine is.
ROLLOUT = {"steps": [{"weight": WEIGHT}], "hold": "1s", "requestsMin": 50,
           "analysis": {"patience": f"{PATIENCE_S}s", "latency": {"enabled": False}}}
WAIT_MAX_S = 120
EXPLAINED_MAX_S = 20      # The analysis does not state the time that a proof takes before the evidence has grown.
UNDO_MAX_S = 3
COMMAND_MAX_S = 60
INCONCLUSIVE_TITLE = f"{MODEL}: {RATE} requests/s are too few to prove within {PATIENCE_S} s that v2 is not worse"
UNDO_TITLE = f"{MODEL}: a person promotes v2 without the proof, and then returns to v1"


class Decisions(scenario.Scenario):
    """Scenarios with these stages define apply_quiet, start_load, place and environment."""

    def apply_quiet(self, version):
        """Applies the Model "quiet" with ROLLOUT and the versions of digits to the fleet "main"."""
        raise NotImplementedError

    def start_load(self, name, fleet, *flags):
        """Starts longshore-load as self.loads[name]."""
        raise NotImplementedError

    def place(self):
        """The flags of `longshore` that say where the Models are."""
        raise NotImplementedError

    def environment(self):
        """The environment of `longshore`."""
        return None

    def start_longshore(self, *words):
        """Starts the command line tool as a person would."""
        return subprocess.Popen([self.bin / "longshore", *words, *self.place()], env=self.environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run_longshore(self, *words):
        """Returns whether the command succeeded, and what it printed."""
        return finish(self.start_longshore(*words))

    # -------------------------------------------------------------------------------------------- stages

    def pause_without_a_proof(self):
        self.apply_quiet(1)
        if not self.wait(lambda: self.objects.serves(MODEL) == 1, WAIT_MAX_S):
            raise programs.DemoError(f"{MODEL} v1 was not served within {WAIT_MAX_S} s")
        self.pause(1)
        self.start_load(MODEL, "main", *images.load_flags(MODEL, self.folder, broken=False), f"--rate={RATE}")
        self.apply_quiet(2)
        met = self.wait(self.is_inconclusive, WAIT_MAX_S)
        self.loads[MODEL].mark("inconclusive")
        self.pause(4)
        self.wait(self.explain_missing_proof, EXPLAINED_MAX_S)
        explained = self.explain_missing_proof()
        self.loads[MODEL].mark("decided")
        rollout = self.objects.rollout(MODEL)
        self.expect(f"without a proof in time {MODEL} v2 is paused as Inconclusive", met and self.is_inconclusive(),
                    f"{rollout.get('phase')} at {checks.format_number(rollout.get('weight'))} %: {rollout.get('pausedReason')}")
        self.expect(f"`longshore explain {MODEL}` says how long a proof takes", explained, explained or self.verdict(MODEL))
        self.expect_shared_answers(self.loads[MODEL].segment("inconclusive"))

    def explain_missing_proof(self):
        return checks.missing_proof(self.run_longshore("explain", MODEL)[1])

    def is_inconclusive(self):
        rollout = self.objects.rollout(MODEL)
        return rollout.get("candidate") == 2 and rollout.get("phase") == "Paused" and rollout.get("pausedReason") == "Inconclusive"

    def expect_shared_answers(self, counts):
        """`counts`: the segment of the load during the pause."""
        deviation = checks.split_deviation_pp(counts, 2, WEIGHT, "unkeyed")
        seen = f"{checks.answers(counts, 1)} answers of v1, {checks.answers(counts, 2)} of v2; {load.describe_failures(counts)}"
        self.expect("during the pause stable keeps its share, and no request fails",
                    deviation is not None and deviation <= 15 and counts["failed"] == 0, seen)

    def undo_a_promotion(self):
        done, printed = self.run_longshore("promote", MODEL)
        met = self.wait(lambda: self.objects.serves(MODEL) == 2, WAIT_MAX_S)
        self.expect(f"`longshore promote {MODEL}` promotes v2 without the proof", done and met, printed)
        generator = self.loads[MODEL]
        generator.set_rate(RATE_OF_UNDO)
        generator.mark("undo")
        self.pause(2)
        began_ms = time.time() * 1000
        done, printed = self.run_longshore("undo", MODEL)
        self.pause(UNDO_MAX_S)
        generator.mark("returned")
        counts = generator.segment("undo")
        seconds = checks.seconds_to_last_answer(began_ms, [counts], 2)
        self.result["undo_seconds"] = seconds
        at_once = done and "version 1 serves all requests" in printed  # If v1 were not loaded any more, undo would begin a rollout.
        self.expect(f"`longshore undo {MODEL}` returns to v1 within {UNDO_MAX_S} s", at_once and seconds is not None and seconds <= UNDO_MAX_S,
                    f"{checks.format_number(seconds)} s from the command to the last answer of v2; {printed}")
        self.expect("an undo: no request fails", counts["answered"] > 0 and counts["failed"] == 0, load.describe_failures(counts))
        self.expect_undone("v2 is remembered as Undone, and not rolled out again by itself", "undone")

    def is_reconciled(self):
        return self.objects.serves(MODEL) == 1 and any(condition["type"] == "Reconciling" and condition["status"] == "False"
                                                       for condition in self.objects.status("Model", MODEL).get("conditions", []))

    def expect_undone(self, what, segment):
        """When all nodes route by the undo, the requests belong to this segment of the load, in which v2 may not answer."""
        self.wait(self.is_reconciled, 10)
        self.pause(1)  # Requests in progress end; other expectations limit how long the switch takes.
        self.loads[MODEL].mark(segment)
        self.pause(4)
        self.loads[MODEL].mark(f"after {segment}")
        counts = self.loads[MODEL].segment(segment)
        failure = self.objects.failure(MODEL, 2) or {}
        self.expect(what, failure.get("reason") == "Undone" and self.is_over(2, "RolledBack", MODEL)
                    and self.objects.serves(MODEL) == 1 and checks.answers(counts, 1) > 0 and checks.answers(counts, 2) == 0,
                    f"{failure.get('message')}; afterwards {checks.answers(counts, 1)} answers of v1, {checks.answers(counts, 2)} of v2")


def finish(command):
    """Waits for a started command. Returns whether it succeeded, and what it printed."""
    try:
        printed = command.communicate(timeout=COMMAND_MAX_S)[0]
    except subprocess.TimeoutExpired as error:
        raise programs.DemoError(str(error)) from None
    return command.returncode == 0, printed.strip()
