"""The README's quick start for Kubernetes on a temporary cluster, run as it is written.

Two things differ: the images are already built, and they are copied into archives that the cluster loads, instead of a registry.
"""

import json
import os
import shutil
import subprocess

from program import Failure, find_binaries
from readme import block_of
from target import IMAGES, ROOT, create_namespace_with_models

NAMESPACE = "longshore"
REGISTRY = "registry.example"  # Part of the images' names. No line connects to it.
BODY, ANSWER = {"instances": [1.0, 2.0, 5.0]}, {"predictions": [2.5, 3.0, 4.5]}
LINE_MAX_S = 300
CALL_MAX_S = 60


class QuickStart:
    def __init__(self, target):
        self.target = target
        self.folder = target.folder / "quickstart"

    def prepare(self):
        """Creates a folder like a clone after `./dev image`, and what the README asks for: the namespace with the claim."""
        self.folder.mkdir()
        for name in ("deploy", "helm"):
            (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "images").symlink_to(self.target.folder / "images")
        models = self.folder / "models"
        shutil.copytree(ROOT / "tests/models/half_plus_two_tf2", models / "half_plus_two")
        create_namespace_with_models(self.target.cluster, NAMESPACE, models)

    def run(self):
        """Runs the lines. Returns what the last one prints."""
        build, *lines = block_of("Quick start: Kubernetes")
        if not build.startswith("./dev image"):
            raise Failure(f"the first line of the quick start builds no images: {build}")
        printed = ""
        for line in lines:
            printed = self._run_line(line)
            if line.startswith("skopeo copy"):
                self._load_copied_images()
        return printed

    def predict(self):
        """The answer of the fleet's Service, called once from the cluster's network: a Model that is Ready answers."""
        return json.loads(self._run(self.target.command_inside(
            ["curl", "--silent", "--fail", "--max-time", str(CALL_MAX_S), "-d", json.dumps(BODY),
             f"http://longshore-cpu.{NAMESPACE}.svc.cluster.local:8501/v1/models/half-plus-two:predict"])))

    def remove(self):
        self.target.helm("uninstall", "longshore", "--namespace", NAMESPACE, "--wait", "--timeout=60s")
        self.target.kubectl("delete", "namespace", NAMESPACE, "--timeout=120s")
        self.target.kubectl("delete", "persistentvolume", f"{NAMESPACE}-models", "--timeout=60s")

    def _run_line(self, line):
        # skopeo writes an archive with the name that the image would have in the registry.
        line = line.replace("docker://REGISTRY/longshore/controller:", f"docker-archive:controller.tar:{REGISTRY}/longshore/controller:")
        line = line.replace("docker://REGISTRY/longshore/node:", f"docker-archive:node.tar:{REGISTRY}/longshore/node:")
        return self._run(["bash", "-c", line.replace("REGISTRY", REGISTRY)])

    def _load_copied_images(self):
        for name in IMAGES:
            archive = self.folder / f"{name}.tar"
            if archive.exists():
                self.target.cluster.load(archive)
                archive.unlink()

    def _run(self, command):
        helm = self.target.folder / "helm"
        environment = {**os.environ, "PATH": f"{find_binaries('helm')}:{os.environ['PATH']}", "KUBECONFIG": str(self.target.kubeconfig),
                       "KUBECACHEDIR": str(self.target.folder / "kubectl"), "HELM_CACHE_HOME": str(helm),
                       "HELM_CONFIG_HOME": str(helm), "HELM_DATA_HOME": str(helm)}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
                              timeout=LINE_MAX_S)
        if done.returncode != 0:
            raise Failure(f"{' '.join(map(str, command))}: {(done.stderr + done.stdout).strip()}")
        return done.stdout
