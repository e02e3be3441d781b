"""The API server for tests is a real one, and it leaves nothing behind."""

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
        cls.it = cls.enterClassContext(ControlPlane(controllers=True, servers=2))

    def test_keeps_what_our_crds_allow_and_refuses_the_rest(self):
        self.it.kubectl("apply", "-f", "-", input=FLEET)
        self.assertEqual(json.loads(self.it.kubectl("get", "servingfleet", "main", "-o", "json"))["spec"]["replicas"]["max"], 2)
        with self.assertRaisesRegex(Failure, "replicas"):
            self.it.kubectl("apply", "-f", "-", input=FLEET.replace("max: 2", "max: many"))

    def test_both_servers_show_one_state(self):
        self.it.kubectl("create", "configmap", "seen", kubeconfig=self.it.kubeconfigs[0])
        self.assertIn("seen", self.it.kubectl("get", "configmaps", "-o", "name", kubeconfig=self.it.kubeconfigs[1]))

    def test_a_user_may_do_only_what_a_role_says(self):
        somebody = self.it.user("somebody")
        with self.assertRaisesRegex(Failure, "Forbidden"):
            self.it.kubectl("get", "servingfleets", kubeconfig=somebody)
        self.it.kubectl("create", "role", "reader", "--verb=list", "--resource=servingfleets.longshore.dev")
        self.it.kubectl("create", "rolebinding", "reader", "--role=reader", "--user=somebody")
        wait_for("the role to hold", lambda: self.may_list(somebody), 10)

    def may_list(self, kubeconfig):
        try:
            self.it.kubectl("get", "servingfleets", kubeconfig=kubeconfig)
            return True
        except Failure:
            return False

    def test_the_controllers_make_pods_and_remove_orphans(self):
        self.it.kubectl("create", "deployment", "idle", "--image=none")
        wait_for("the deployment's pod", lambda: self.it.kubectl("get", "pods", "-l", "app=idle", "-o", "name"), 30)
        self.it.kubectl("delete", "deployment", "idle")
        wait_for("the pod to go", lambda: not self.it.kubectl("get", "pods", "-l", "app=idle", "-o", "name"), 30)

    def test_a_server_that_ended_comes_back_with_all_it_knew(self):
        self.it.kubectl("create", "configmap", "kept")
        self.it.stop_server(1)
        with self.assertRaises(Failure):
            self.it.kubectl("get", "configmap", "kept", kubeconfig=self.it.kubeconfigs[1])
        self.it.restart_server(1)
        self.assertIn("kept", self.it.kubectl("get", "configmap", "kept", kubeconfig=self.it.kubeconfigs[1]))


class CommandTest(unittest.TestCase):
    def test_hands_on_the_status_of_the_command_and_leaves_nothing(self):
        seen = run("--run", "sh", "-c", "kubectl get crds -o name; cat $LONGSHORE_CONTROL_PLANE/*.pid; "
                   "echo $LONGSHORE_CONTROL_PLANE; exit 7")
        self.assertEqual(seen.returncode, 7, seen.stderr)
        *crds, server, etcd, folder = seen.stdout.split()
        self.assertIn("customresourcedefinition.apiextensions.k8s.io/models.longshore.dev", crds)
        self.assertFalse(is_running(server) or is_running(etcd))
        self.assertFalse(os.path.exists(folder))

    def test_a_command_that_a_signal_ended_has_the_status_a_shell_gives(self):
        self.assertEqual(run("--no-crds", "--run", "sh", "-c", "kill -9 $$").returncode, 137)

    def test_leaves_nothing_when_it_is_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            told = pathlib.Path(folder) / "told"
            process = subprocess.Popen([*COMMAND, "--no-crds", "--run", "sh", "-c", 'cat $LONGSHORE_CONTROL_PLANE/*.pid '
                                        f'>{told}.new; sleep 1000 & echo $$ $! $LONGSHORE_CONTROL_PLANE >>{told}.new; '
                                        f'mv {told}.new {told}; wait'])
            wait_for("the command to run", lambda: told.exists() or process.poll() is not None, 60)
            *pids, home = told.read_text().split()
            process.send_signal(signal.SIGKILL)
            process.wait()
            wait_for("all to end", lambda: not any(map(is_running, pids)), 10)
            wait_for("the folder to go", lambda: not os.path.exists(home), 10)

    def test_says_what_is_wrong(self):
        for words, text in ((["--run"], "say which command"), (["--no-crds", "--run", "/no/such"], "/no/such: No such file"),
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
