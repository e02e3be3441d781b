"""Models from archives over HTTPS on one host, with an archive server that misbehaves.

Run: python3 tests/integration/archives_test.py
"""

import hashlib
import os
import signal
import subprocess
import unittest

from archive_host import ArchiveHost, archive_of
from harness import MODELS, Installation, wait_for
from local_test import Load

TWO = {"instances": [2.0]}
ONE, OTHER = MODELS / "half_plus_two_tf2/1", MODELS / "half_plus_three_tf2/1"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class Archives(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.host = ArchiveHost(self.it.dir)
        self.addCleanup(lambda: self.host.stop())
        self.flags = [f"--node_flag=source_ca_file={self.host.ca_file}"]

    def start(self, nodes=1, flags=()):
        self.it.apply_fleet(nodes=nodes)
        self.it.start_controller(env={"no_proxy": "127.0.0.1"}, flags=[*self.flags, *flags])

    def apply(self, url, digest, version):
        self.it.write_manifest("half.yaml", f"""apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {{name: half}}
spec:
  fleet: cpu
  source: {{uri: "{url}", sha256: "{digest}"}}
  {f"version: {version}" if version else "versionPolicy: Latest"}
  rollout: {{strategy: Immediate, keepWarm: 100ms}}
""")

    def offer(self, path, content, version):
        self.host.files[path] = content
        self.apply(self.host.url(path), sha256(content), version)

    def serve_first(self, **options):
        self.start(**options)
        self.offer("/1.tar", archive_of({1: ONE}), 1)
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_answers("half", TWO)

    def source_ready(self):
        return self.it.condition("Model", "half", "SourceReady")

    def wait_for_source_condition(self, *texts):
        """Waits until the condition SourceReady contains all texts, and checks that the first version still answers."""
        wait_for(f"the condition to contain {texts}", lambda: all(text in str(self.source_ready()) for text in texts),
                 seen=self.source_ready)
        self.assertEqual(self.it.predict("half", TWO), {"predictions": [3.0]})
        self.assertEqual(self.it.status("half")["failed"], [])

    def cached(self):
        """Returns the SHA-256 digests of all archives in the caches of the nodes."""
        return {entry.name for entry in self.it.state.glob("nodes/*/cache/*") if len(entry.name) == 64}

    def test_a_model_becomes_ready_and_survives_a_restart_without_its_host(self):
        self.serve_first()
        self.assertEqual(len(self.host.requests), 1)
        self.assertEqual(self.cached(), {sha256(self.host.files["/1.tar"])})
        self.host.stop()
        self.addCleanup(self.host.start)
        (name, pid), = self.it.node_pids().items()
        os.kill(pid, signal.SIGKILL)
        wait_for("a new process", lambda: self.it.node_pids().get(name, 0) not in (0, pid))
        self.it.wait_for_answers("half", TWO)
        self.assertEqual(self.it.predict("half", TWO), {"predictions": [3.0]})

    def test_the_next_version_comes_from_another_archive_and_no_request_is_lost(self):
        self.serve_first(nodes=2)
        with Load(self.it, "half") as load:
            self.offer("/2.tgz", archive_of({2: OTHER}, compressed=True), None)
            self.it.wait_for_stable("half", 2)
            wait_for("the new version to answer", lambda: load.answers[-1] == 4.0)
        self.assertEqual((load.errors, set(load.answers)), ([], {3.0, 4.0}))

    def test_a_cut_download_is_resumed_and_redirects_are_followed(self):
        self.start()
        content = archive_of({1: ONE}, padding=200_000)
        self.host.cut_after = [100_000, 50_000]
        self.host.redirects["/moved.tar"] = "/1.tar"
        self.host.files["/1.tar"] = content
        self.apply(self.host.url("/moved.tar?token=secret"), sha256(content), 1)
        self.it.wait_for_stable("half", 1)
        ranges = [byte_range for path, byte_range in self.host.requests if path == "/1.tar"]
        self.assertEqual(ranges, [None, "bytes=100000-", "bytes=150000-"])
        logs = "".join(log.read_text() for log in self.it.state.glob("nodes/*/log"))
        self.assertNotIn("secret", logs)

    def test_a_slow_download_reports_its_progress_while_stable_serves(self):
        self.serve_first()
        self.host.seconds_per_chunk = 0.05
        with Load(self.it, "half") as load:
            self.offer("/2.tar", archive_of({2: OTHER}, padding=1_000_000), 2)
            self.wait_for_source_condition("Fetching", "fetching https://127.0.0.1", " % of 1.0 MB")
            self.it.wait_for_stable("half", 2)
        self.assertEqual(load.errors, [])

    def test_each_failure_is_reported_while_stable_serves_and_a_good_archive_is_then_served(self):
        self.serve_first()
        good = archive_of({2: OTHER})
        self.apply(self.host.url("/2.tar"), sha256(good), 2)
        self.wait_for_source_condition("FetchFailed", "/2.tar: the host answers 404", "attempt 1")
        self.host.files["/2.tar"] = good + b"more"
        self.wait_for_source_condition("FetchFailed", f"have the SHA-256 {sha256(good + b'more')}, not {sha256(good)}")
        self.assertEqual(self.it.condition("Model", "half", "Stalled")["reason"], "FetchFailed")
        self.apply(f"https://127.0.0.2:{self.host.port}/2.tar", sha256(b"x"), 2)  # No server listens at this address.
        self.wait_for_source_condition("FetchFailed", "https://127.0.0.2", "onnect")
        self.apply("https://nowhere.invalid/2.tar", sha256(b"y"), 2)
        self.wait_for_source_condition("FetchFailed", "Could not resolve host: nowhere.invalid")
        self.offer("/html.tar", b"<html>" * 1000, 2)
        self.wait_for_source_condition("FetchFailed", "not a tar archive")
        self.offer("/2.tar", good, 2)
        self.it.wait_for_stable("half", 2)
        self.assertEqual(self.source_ready()["status"], "True")

    def test_a_host_with_a_certificate_of_another_authority_is_not_trusted(self):
        self.flags = []
        self.start()
        self.offer("/1.tar", archive_of({1: ONE}), 1)
        wait_for("the condition", lambda: "certificate" in str(self.source_ready()), seen=self.source_ready)
        self.assertEqual(self.it.condition("Model", "half", "Ready")["status"], "False")

    def test_archives_that_no_model_uses_are_evicted_when_the_cache_is_full(self):
        padding = 400_000
        self.start(flags=["--node_flag=cache_bytes_max=1500000"])
        digests = []
        for version, model in ((1, ONE), (2, OTHER), (3, ONE)):
            content = archive_of({version: model}, padding=padding)
            digests.append(sha256(content))
            self.offer(f"/{version}.tar", content, version)
            self.it.wait_for_stable("half", version)
        self.assertEqual(self.cached(), set(digests[1:]))
        huge = archive_of({4: ONE}, padding=2_000_000)
        self.offer("/4.tar", huge, 4)
        wait_for("the condition", lambda: "its limit is 1500000" in str(self.source_ready()) or
                 "exceeds the limit of 1500000 bytes" in str(self.source_ready()), seen=self.source_ready)
        self.assertEqual(self.it.status("half")["stableVersion"], 3)

    def test_a_full_disk_is_named_and_serving_continues(self):
        disk = self.it.dir / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("a small file system cannot be mounted here: " + mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        self.serve_first(flags=[f"--node_flag=cache_dir={disk}/cache"])
        content = archive_of({2: OTHER}, padding=600_000)
        self.offer("/2.tar", content, 2)
        self.wait_for_source_condition("FetchFailed", f"the disk of the cache {disk}/cache is full")
        subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
        self.it.wait_for_stable("half", 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
