#!/usr/bin/env python3
"""Tests ./dev e2e --kubeconfig with a cluster of one node, as `./dev cluster up` starts it.

The kubeconfig's user has only the token of a service account. Needs root and `./dev setup`. Flags are passed to e2e.py.

    LONGSHORE_BIN=build/release/bin tests/e2e/named_cluster.py --json
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / name) for name in ("cluster", "demo", "integration")]

import programs
from cluster import Cluster
from target import prepare_cluster
from program import Failure
from e2e_scenario import NAMESPACE

ACCOUNT = "e2e"
TOKEN_LIFETIME = "2h"


def log(line):
    print(line, file=sys.stderr, flush=True)


def kubeconfig_with_token(cluster, folder):
    """Writes a kubeconfig of an administrator for programs in the cluster's network, and returns its path."""
    cluster.kubectl("create", "serviceaccount", ACCOUNT, "--namespace", "kube-system")
    cluster.kubectl("create", "clusterrolebinding", ACCOUNT, "--clusterrole=cluster-admin",
                    f"--serviceaccount=kube-system:{ACCOUNT}")
    token = cluster.kubectl("create", "token", ACCOUNT, "--namespace", "kube-system", f"--duration={TOKEN_LIFETIME}").strip()
    inside = cluster.environment_inside()["KUBECONFIG"]
    api = json.loads(cluster.kubectl("config", "view", f"--kubeconfig={inside}", "--raw", "--minify", "--flatten",
                                     "-o", "json"))["clusters"][0]["cluster"]
    path = folder / "kubeconfig"
    path.touch(mode=0o600)
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "e2e",
                                "clusters": [{"name": "e2e", "cluster": api}],
                                "users": [{"name": ACCOUNT, "user": {"token": token}}],
                                "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": ACCOUNT}}]}))
    return path


def main():
    programs.end_on_signals()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="longshore-e2e-cluster-"))
    try:
        with Cluster(folder / "cluster") as cluster:
            log("a cluster of one node is running")
            prepare_cluster(cluster, folder, programs.find_programs(), NAMESPACE, log)
            kubeconfig = kubeconfig_with_token(cluster, folder)
            return cluster.run_inside([sys.executable, "-B", HERE / "e2e.py", "--kubeconfig", kubeconfig, *sys.argv[1:]],
                                      check=False).returncode
    except programs.Interrupted:
        return 130
    except (programs.DemoError, Failure, subprocess.SubprocessError) as error:
        log(f"named_cluster: {error}")
        return 1
    finally:
        programs.ignore_signals()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
