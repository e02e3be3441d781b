"""The memory of candidates without weight, on one real node. Run: python3 tests/integration/shadow_memory_test.py"""

import unittest

from harness import Installation, needed_bytes, wait_for
from local_test import half_plus

TWO = {"instances": [2.0]}
OLD = {"predictions": [3.0]}  # The answer of version 1.


class ShadowMemory(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = half_plus(self.it.dir)

    def serve_version_1(self):
        self.it.apply_fleet()
        self.it.apply_model("half", self.source, 1)
        self.it.start_controller()
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_answers("half", TWO)

    def shadow_version_2(self, **shadow):
        self.it.apply_model("half", self.source, 2, rollout={"strategy": "Shadow", "shadow": {"for": "1h", **shadow}})

    def wait_for_half(self, phase, *reports):
        def message():
            return self.it.condition("Model", "half", "Progressing").get("message", "")

        wait_for(f"the phase {phase}", lambda: self.it.phase("half") == phase and all(report in message() for report in reports),
                 seen=lambda: self.it.status("half"))
        self.assertEqual(self.it.predict("half", TWO), OLD)

    def test_a_shadow_gives_its_memory_to_another_model_and_returns_when_there_is_room(self):
        self.it.limit_first_node(needed_bytes(self.source, 1) + needed_bytes(self.source, 2) + 100)
        self.serve_version_1()
        self.shadow_version_2()
        self.wait_for_half("Shadow")
        self.it.apply_model("other", self.source, 1)
        self.it.wait_for_stable("other", 1)
        self.wait_for_half("Loading", "bytes are free")
        self.assertIn("bytes are free", self.it.command("explain", "half").stdout)
        self.assertEqual(self.it.command("delete", "models", "other").returncode, 0)
        self.wait_for_half("Shadow")

    def test_a_candidate_above_its_limit_is_not_loaded_until_the_limit_is_raised(self):
        self.serve_version_1()
        self.shadow_version_2(memoryMax="10")
        self.wait_for_half("Validating", "rollout.shadow.memoryMax allows 10 bytes")
        self.shadow_version_2(memoryMax="1Gi")
        self.wait_for_half("Shadow")


if __name__ == "__main__":
    unittest.main()
