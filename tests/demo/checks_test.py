"""Tests of the demo's calculations. Run: ./dev test tests_demo_test"""

import datetime
import json
import pathlib
import unittest

import checks

VECTORS = pathlib.Path(__file__).resolve().parents[1] / "judge/assignment_vectors.json"


def segment(**versions):
    made = {"versions": {}, "version_disputed": 0}
    for name, counts in versions.items():
        made["versions"][name.lstrip("v")] = counts
    return made


class Checks(unittest.TestCase):
    def test_buckets_equal_the_published_vectors(self):
        for row in json.loads(VECTORS.read_text()):
            self.assertEqual(checks.bucket_of(row["salt"], row["key"]), row["bucket"], row)

    def test_the_deviation_of_a_split_counts_one_kind_of_request_only(self):
        counts = segment(v1={"keyed": 0, "unkeyed": 740}, v2={"keyed": 500, "unkeyed": 260})
        self.assertAlmostEqual(checks.split_deviation_pp(counts, 2, 25, "unkeyed"), 1.0)
        self.assertIsNone(checks.split_deviation_pp(segment(), 2, 25, "unkeyed"))

    def test_an_answer_is_wrong_if_its_version_is_not_allowed_in_the_segment(self):
        segments = {"a": segment(v1={"keyed": 1, "unkeyed": 2}), "b": segment(v1={"keyed": 0, "unkeyed": 5})}
        self.assertEqual(checks.count_wrong_versions(segments, lambda name: {1} if name == "a" else {2}), 5)

    def test_a_disputed_version_is_wrong_in_every_segment(self):
        disputed = segment(v1={"keyed": 1, "unkeyed": 0})
        disputed["version_disputed"] = 2
        self.assertEqual(checks.count_wrong_versions({"a": disputed}, lambda name: {1}), 2)

    def test_wrong_versions_are_not_counted_without_answers(self):
        self.assertIsNone(checks.count_wrong_versions({"a": segment()}, lambda name: {1}))
        self.assertIsNone(checks.count_wrong_versions({}, lambda name: {1}))

    def test_the_time_to_the_last_answer_of_a_version_ends_with_its_last_answer_in_any_segment(self):
        segments = [segment(v4={"last_answer_unix_ms": 10_250}), segment(v2={"last_answer_unix_ms": 10_900}),
                    segment(v4={"last_answer_unix_ms": None})]
        self.assertEqual(checks.last_answer_ms(segments, 4), 10_250)
        self.assertIsNone(checks.last_answer_ms(segments, 5))
        self.assertEqual(checks.seconds_to_last_answer(10_000, segments, 4), 0.25)
        self.assertEqual(checks.seconds_to_last_answer(10_300, segments, 4), 0)

    def test_the_time_to_the_last_answer_is_not_measured_without_a_beginning_or_without_an_answer(self):
        segments = [segment(v4={"last_answer_unix_ms": 10_250})]
        self.assertIsNone(checks.seconds_to_last_answer(None, segments, 4))
        self.assertIsNone(checks.seconds_to_last_answer(10_300, [segment()], 4))
        self.assertIsNone(checks.seconds_to_last_answer(10_300, segments, 5))

    def test_a_missing_proof_is_explained_by_an_interval_and_a_time(self):
        verdict = ("Inconclusive (NotProven): after 15 s there is neither a failed test nor a proof; it is not shown yet that its error rate"
                   " is within the tolerance: its error rate is 4.0 percentage points lower to 4.0 percentage points higher than stable's"
                   " (95 % confidence)")
        time = "; at this traffic the proof takes about 40 s more if the versions are equal"
        self.assertEqual(checks.missing_proof(f"The numbers\n  {verdict}{time}\n  pairs   61\n"), verdict + time)
        for incomplete in ("", verdict, time, (verdict + time).replace("95 % confidence", ""), (verdict + time).replace("Inconclusive", "Undecided")):
            self.assertIsNone(checks.missing_proof(f"The numbers\n  {incomplete}\n"), incomplete)

    def test_the_first_bad_answer_is_the_earliest_one_of_all_logs(self):
        line = '2026-01-02T03:04:05.{} W longshore-node: model "digits" version {}: guard NonFinite tripped: an output is NaN\n'
        logs = ["2026-01-02T03:04:04.000 I longshore-node: gRPC on port 1\n" + line.format("678", 4),
                line.format("120", 3) + line.format("345", 4)]
        first = datetime.datetime(2026, 1, 2, 3, 4, 5, 345_000).timestamp() * 1000
        self.assertEqual(checks.first_trip_ms(logs, "digits", 4), first)
        self.assertIsNone(checks.first_trip_ms(logs, "digits", 5))

    def test_failed_unanswered_and_twice_answered_requests_are_failures(self):
        self.assertEqual(checks.failures_of({"failed": 1, "unanswered": 2, "answered_twice": 4}), 7)

    def test_a_load_has_no_failure_only_if_it_has_answers(self):
        self.assertTrue(checks.has_no_failure({**final(1), "failed": 0}))
        self.assertFalse(checks.has_no_failure({**final(1), "failed": 1}))
        self.assertFalse(checks.has_no_failure(idle_final()))

    def test_a_node_with_another_pid_and_a_node_that_is_gone_count_as_restarts(self):
        self.assertEqual(checks.count_restarts({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 9}), 2)
        self.assertIsNone(checks.count_restarts({}, {"a": 1}))

    def test_the_share_of_a_node_needs_answers(self):
        self.assertEqual(checks.share_of_node({"nodes": {"a": 1, "b": 3}}, "a"), 25)
        self.assertEqual(checks.share_of_node({"nodes": {"b": 3}}, "a"), 0)
        self.assertIsNone(checks.share_of_node({"nodes": {}}, "a"))


def final(version, answered=50_000):
    """The counts of a load that `version` answered without a failure."""
    counts = {"keyed": answered, "unkeyed": 0}
    return {**segment(**{f"v{version}": counts}), "sent": answered, "answered": answered, "failed": 0, "unanswered": 0,
            "answered_twice": 0, "retried": 0, "distinct_keys": 100_000, "nodes": {"a": answered}}


def idle_final():
    return {**final(1, answered=0), "versions": {}, "distinct_keys": 0, "nodes": {}}


class Limits(unittest.TestCase):
    finals = {"digits": final(1), "users": final(2), "busy": final(1), "nan": final(4), "quiet": final(2), "trial": final(2)}
    segments = {"v1 serves": finals["digits"]}
    allowed = {"v1 serves": {1}}
    # The results that are measured outside of checks.totals.
    others = {"rollback_seconds": 0.5, "split_deviation_pp": 0.1, "keyed_deviation_pp": 0.1, "node_restarts": 0, "scaled_out_to": 3,
              "new_node_share": 30}

    def totals(self, finals=None, segments=None):
        timeline = [(10_000, {"id": "u/2/1", "phase": "Completed", "weight": 100, "stable": 2, "candidate": 2})]
        moves = [(20_000, f"user-{i}", 1, 2) for i in range(1000)]
        return checks.totals(finals or self.finals, segments or self.segments, self.allowed, moves, timeline)

    def missed(self, result):
        return {what.partition(":")[0] for what, met, _ in checks.judge(result) if not met}

    def test_a_run_without_faults_meets_every_limit(self):
        self.assertEqual(self.missed({**self.totals(), **self.others}), set())

    def test_an_idle_run_meets_no_limit(self):
        idle = idle_final()
        results = [{}, checks.totals({}, {}, {}, [], []), checks.totals({name: idle for name in checks.LOADS}, {"v1 serves": idle}, {}, [], [])]
        measured = {"rollback_seconds": checks.seconds_to_last_answer(None, [idle, idle], 4),
                    "split_deviation_pp": checks.split_deviation_pp(idle, 2, 5, "unkeyed"),
                    "keyed_deviation_pp": checks.split_deviation_pp(idle, 2, 30, "keyed"),
                    "node_restarts": checks.count_restarts({}, {}), "scaled_out_to": 2,
                    "new_node_share": checks.share_of_node(idle, "a")}
        for result in results:
            with self.subTest(result):
                self.assertEqual(self.missed({**result, **measured}), {limit.name for limit in checks.LIMITS})

    def test_a_load_that_was_not_started_or_got_no_answers_misses_the_limits_of_failures(self):
        for name in checks.LOADS:
            without = {other: counts for other, counts in self.finals.items() if other != name}
            for finals in (without, {**without, name: idle_final()}):
                with self.subTest(name):
                    self.assertLessEqual({"failed", "wrong_version", "retried"}, self.missed(self.totals(finals)))

    def test_a_wrong_version_in_any_load_is_counted(self):
        for name in checks.LOADS:
            with self.subTest(name):
                wrong = final(5, answered=7)
                finals = {**self.finals, name: wrong}
                segments = {"v1 serves": wrong} if name == "digits" else self.segments
                self.assertEqual(self.totals(finals, segments)["wrong_version"], 7)

    def test_each_limit_rejects_a_value_beyond_it(self):
        beyond = {"requests": 99_999, "failed": 1, "retried": 101, "wrong_version": 1, "rollback_seconds": 3.1,
                  "split_deviation_pp": 0.6, "keyed_deviation_pp": 0.6, "keyed_keys": 99_999, "keys_moved": 99,
                  "keys_moved_wrongly": 1, "node_restarts": 1, "scaled_out_to": 2, "new_node_share": 19}
        self.assertEqual(self.missed(beyond), {limit.name for limit in checks.LIMITS})


class Moves(unittest.TestCase):
    salt = "u/2/1"

    def setUp(self):
        keys = sorted((f"user-{i}" for i in range(1000)), key=lambda key: checks.bucket_of(self.salt, key))
        self.low, self.high = keys[0], keys[-1]
        self.timeline = [(10_000, self.at("Step", 5)), (20_000, self.at("Step", 50)), (30_000, self.at("RolledBack", 0))]

    def at(self, phase, weight):
        return {"id": self.salt, "phase": phase, "weight": weight, "stable": 1, "candidate": 2}

    def is_explained(self, sent, key, before, after, timeline=None):
        return checks.is_move_explained((sent, key, before, after), timeline or self.timeline)

    def test_a_key_below_the_weight_may_move_to_the_candidate_once_the_weight_is_set(self):
        self.assertTrue(self.is_explained(11_000, self.low, 1, 2))
        self.assertFalse(self.is_explained(5_000, self.low, 1, 2))

    def test_a_key_above_the_weight_may_not_move_to_the_candidate(self):
        self.assertFalse(self.is_explained(25_000, self.high, 1, 2))

    def test_a_key_may_return_to_stable_only_after_the_rollback(self):
        self.assertFalse(self.is_explained(22_000, self.low, 2, 1))
        self.assertTrue(self.is_explained(30_100, self.low, 2, 1))

    def test_no_key_moves_to_a_candidate_that_was_rolled_back(self):
        self.assertTrue(self.is_explained(31_000, self.low, 1, 2))
        self.assertFalse(self.is_explained(40_000, self.low, 1, 2))

    def test_every_key_moves_to_a_promoted_candidate_and_none_returns(self):
        timeline = [(10_000, self.at("Step", 5)), (20_000, self.at("Completed", 100))]
        self.assertTrue(self.is_explained(20_500, self.high, 1, 2, timeline))
        self.assertFalse(self.is_explained(60_000, self.low, 2, 1, timeline))

    def test_a_user_without_requests_during_the_promotion_gets_the_new_stable_version(self):
        later = {"id": "u/3/2", "phase": "Validating", "weight": 0, "stable": 2, "candidate": 3}
        timeline = [(10_000, self.at("Completed", 100)), (20_000, later)]
        self.assertTrue(self.is_explained(60_000, self.high, 1, 2, timeline))
        self.assertFalse(self.is_explained(60_000, self.low, 2, 3, timeline))

    def test_parses_the_lines_that_the_load_generator_writes(self):
        self.assertEqual(checks.parse_moves("12,user-3,1,2\n"), [(12, "user-3", 1, 2)])
        self.assertEqual(checks.count_unexplained_moves([(22_000, self.low, 2, 1)], self.timeline), 1)


if __name__ == "__main__":
    unittest.main()
