"""Tests of control_plane.py: its API server behaves like a real one, and nothing is left after it."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from control_plane import ControlPlane
from program import Failure, wait_for

COMMAND = [sys.executable, str(HERE / "control_plane.py")]
FLEET = """apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {name: main}
spec:
  replicas: {min: 2, max: 2}
"""


def run(*words, **options):
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False, timeout=120, **options)


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class ControlPlaneTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.control_plane = cls.enterClassContext(ControlPlane(controllers=True, servers=2))

    def test_accepts_objects_that_the_crds_allow_and_rejects_others(self):
        self.control_plane.kubectl("apply", "-f", "-", input=FLEET)
        self.assertEqual(json.loads(self.control_plane.kubectl("get", "servingfleet", "main", "-o", "json"))["spec"]["replicas"]["max"], 2)
        with self.assertRaisesRegex(Failure, "replicas"):
            self.control_plane.kubectl("apply", "-f", "-", input=FLEET.replace("max: 2", "max: many"))

    def test_both_servers_show_the_same_objects(self):
        self.control_plane.kubectl("create", "configmap", "seen", kubeconfig=self.control_plane.kubeconfigs[0])
        self.assertIn("seen", self.control_plane.kubectl("get", "configmaps", "-o", "name", kubeconfig=self.control_plane.kubeconfigs[1]))

    def test_a_user_has_only_the_rights_of_its_roles(self):
        user = self.control_plane.user("alice")
        with self.assertRaisesRegex(Failure, "Forbidden"):
            self.control_plane.kubectl("get", "servingfleets", kubeconfig=user)
        self.control_plane.kubectl("create", "role", "reader", "--verb=list", "--resource=servingfleets.longshore.dev")
        self.control_plane.kubectl("create", "rolebinding", "reader", "--role=reader", "--user=alice")
        wait_for("the role to take effect", lambda: self.may_list(user), 10)

    def may_list(self, kubeconfig):
        try:
            self.control_plane.kubectl("get", "servingfleets", kubeconfig=kubeconfig)
            return True
        except Failure:
            return False

    def test_the_controllers_create_pods_and_delete_orphans(self):
        self.control_plane.kubectl("create", "deployment", "idle", "--image=none")
        wait_for("the deployment's pod", lambda: self.control_plane.kubectl("get", "pods", "-l", "app=idle", "-o", "name"), 30)
        self.control_plane.kubectl("delete", "deployment", "idle")
        wait_for("the pod to be deleted", lambda: not self.control_plane.kubectl("get", "pods", "-l", "app=idle", "-o", "name"), 30)

    def test_a_restarted_server_has_the_same_objects(self):
        self.control_plane.kubectl("create", "configmap", "kept")
        self.control_plane.stop_server(1)
        with self.assertRaises(Failure):
            self.control_plane.kubectl("get", "configmap", "kept", kubeconfig=self.control_plane.kubeconfigs[1])
        self.control_plane.restart_server(1)
        self.assertIn("kept", self.control_plane.kubectl("get", "configmap", "kept", kubeconfig=self.control_plane.kubeconfigs[1]))


class CommandTest(unittest.TestCase):
    def test_returns_the_exit_status_of_the_command_and_leaves_nothing(self):
        seen = run("--run", "sh", "-c", "kubectl get crds -o name; cat $LONGSHORE_CONTROL_PLANE/*.pid; "
                   "echo $LONGSHORE_CONTROL_PLANE; exit 7")
        self.assertEqual(seen.returncode, 7, seen.stderr)
        *crds, server, etcd, folder = seen.stdout.split()
        self.assertIn("customresourcedefinition.apiextensions.k8s.io/models.longshore.dev", crds)
        self.assertFalse(is_running(server) or is_running(etcd))
        self.assertFalse(os.path.exists(folder))

    def test_a_command_killed_by_a_signal_has_the_exit_status_of_a_shell(self):
        self.assertEqual(run("--no-crds", "--run", "sh", "-c", "kill -9 $$").returncode, 137)

    def test_leaves_nothing_when_it_is_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            ready = pathlib.Path(folder) / "ready"
            process = subprocess.Popen([*COMMAND, "--no-crds", "--run", "sh", "-c", 'cat $LONGSHORE_CONTROL_PLANE/*.pid '
                                        f'>{ready}.new; sleep 1000 & echo $$ $! $LONGSHORE_CONTROL_PLANE >>{ready}.new; '
                                        f'mv {ready}.new {ready}; wait'])
            wait_for("the command to run", lambda: ready.exists() or process.poll() is not None, 60)
            *pids, home = ready.read_text().split()
            process.send_signal(signal.SIGKILL)
            process.wait()
            wait_for("all to end", lambda: not any(map(is_running, pids)), 10)
            wait_for("the folder to be removed", lambda: not os.path.exists(home), 10)

    def test_an_error_names_the_cause(self):
        for words, text in ((["--run"], "a command is missing"), (["--no-crds", "--run", "/no/such"], "/no/such: No such file"),
                            ([], "--run")):
            with self.subTest(words):
                seen = run(*words)
                self.assertNotEqual(seen.returncode, 0)
                self.assertIn(text, seen.stderr)
        with tempfile.TemporaryDirectory() as empty:
            seen = run("--run", "true", env={**os.environ, "LONGSHORE_KUBERNETES": empty})
            self.assertEqual(seen.returncode, 125)
            self.assertIn("run ./dev setup", seen.stderr)


if __name__ == "__main__":
    unittest.main()
