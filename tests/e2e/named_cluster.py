#!/usr/bin/env python3
"""The trial of ./dev e2e --kubeconfig: a cluster of one node, as `./dev cluster up` makes it, is named by a kubeconfig whose user
has nothing but the token of a service account. Needs root and what `./dev setup` installs; flags go to e2e.

    LONGSHORE_BIN=build/release/bin tests/e2e/named_cluster.py --json
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / name) for name in ("cluster", "demo")]

import programs
from cluster import Cluster
from place import furnish
from program import Failure
from story import NAMESPACE

ACCOUNT = "e2e"
TOKEN_LASTS = "2h"


def say(line):
    print(line, file=sys.stderr, flush=True)


def kubeconfig_with_token(cluster, folder):
    """Of an administrator, as programs in the cluster's network reach the API server."""
    cluster.kubectl("create", "serviceaccount", ACCOUNT, "--namespace", "kube-system")
    cluster.kubectl("create", "clusterrolebinding", ACCOUNT, "--clusterrole=cluster-admin",
                    f"--serviceaccount=kube-system:{ACCOUNT}")
    token = cluster.kubectl("create", "token", ACCOUNT, "--namespace", "kube-system", f"--duration={TOKEN_LASTS}").strip()
    inside = cluster.environment_inside()["KUBECONFIG"]
    api = json.loads(cluster.kubectl("config", "view", f"--kubeconfig={inside}", "--raw", "--minify", "--flatten",
                                     "-o", "json"))["clusters"][0]["cluster"]
    path = folder / "kubeconfig"
    path.touch(mode=0o600)
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "trial",
                                "clusters": [{"name": "trial", "cluster": api}],
                                "users": [{"name": ACCOUNT, "user": {"token": token}}],
                                "contexts": [{"name": "trial", "context": {"cluster": "trial", "user": ACCOUNT}}]}))
    return path


def main():
    programs.end_on_signals()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="longshore-trial-"))
    try:
        with Cluster(folder / "cluster") as cluster:
            say("a cluster of one node is up")
            furnish(cluster, folder, programs.find_programs(), NAMESPACE, say)
            kubeconfig = kubeconfig_with_token(cluster, folder)
            return cluster.run_inside([sys.executable, "-B", HERE / "e2e.py", "--kubeconfig", kubeconfig, *sys.argv[1:]],
                                      check=False).returncode
    except programs.Interrupted:
        return 130
    except (programs.DemoError, Failure, subprocess.SubprocessError) as error:
        say(f"named_cluster: {error}")
        return 1
    finally:
        programs.ignore_signals()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
