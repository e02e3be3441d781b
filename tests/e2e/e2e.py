"""./dev e2e: Longshore on a real Kubernetes, from helm install to helm uninstall, under load.

Without --kubeconfig it starts a temporary cluster of one node in Linux namespaces, which needs root, and removes it at the end.

With --kubeconfig it uses an existing cluster, which must meet these conditions:
- it can pull longshore/controller and longshore/node with the tags dev and 0.2.0;
- its namespace longshore-e2e has a PersistentVolumeClaim "models" with tests/models/digits and half_plus_two_tf2 (as halves);
- node ports of its nodes can be reached from this machine;
- the user of the kubeconfig has a client certificate or a token.
tests/e2e/named_cluster.py tests this way of running.
"""

import argparse
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / name) for name in ("cluster", "demo", "integration")]

import programs
import view
from objects import Objects, restarts
from target import ExistingCluster, TemporaryCluster
from program import Failure
from e2e_scenario import OUTAGE_S, E2eScenario

OUTAGE_MAX_S = 3600


def outage(text):
    seconds = int(text)
    if not OUTAGE_S <= seconds <= OUTAGE_MAX_S:
        raise argparse.ArgumentTypeError(f"{seconds} is not between {OUTAGE_S} and {OUTAGE_MAX_S} seconds")
    return seconds


def read_flags():
    parser = argparse.ArgumentParser(prog="./dev e2e", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true",
                        help="print the results as one JSON object on standard output, and everything else on standard error")
    parser.add_argument("--kubeconfig", type=pathlib.Path, help="use this existing cluster instead of a temporary one")
    parser.add_argument("--outage", type=outage, metavar="SECONDS", default=OUTAGE_S,
                        help=f"how long the API server of the temporary cluster is stopped (default: {OUTAGE_S})")
    parser.add_argument("--keep", action="store_true", help="keep the logs and images even if everything went as expected")
    flags = parser.parse_args()
    if flags.kubeconfig and flags.outage != OUTAGE_S:
        parser.error("--outage cannot be used with --kubeconfig: the API server of an existing cluster is not stopped")
    return flags


def run(scenario, flags, out):
    """Returns the exit code."""
    began = time.monotonic()
    scenario.view = view.View(out, scenario.state)
    try:
        scenario.run()
    finally:
        scenario.view.close()
    view.print_expectations(scenario.expectations, out)
    seconds = round(time.monotonic() - began, 1)
    outcome = "Everything went as expected" if scenario.all_met() else "Some results were NOT as expected"
    print(f"\n{outcome}, in {seconds:.0f} seconds.", file=out)
    if flags.json:
        print(json.dumps({**scenario.result, "seconds": seconds, "expectations": scenario.expectations}), flush=True)
    return 0 if scenario.all_met() else 1


def save_logs(scenario):
    """Saves the logs of the pods, the events and the objects before the cluster is removed."""
    if scenario.objects is None:
        return
    pods = scenario.objects.pods()
    wanted = {f"{name}.log": ("logs", name, "--tail=2000") for name in pods}
    wanted |= {f"{name}.former.log": ("logs", name, "--tail=2000", "--previous") for name, pod in pods.items() if restarts(pod)}
    wanted |= {"events.txt": ("get", "events", "--sort-by=.lastTimestamp"), "pods.txt": ("describe", "pods"),
               "objects.yaml": ("get", "servingfleets,models,deployments,leases", "-o", "yaml")}
    for file, arguments in wanted.items():
        with contextlib.suppress(Failure, subprocess.TimeoutExpired):
            (scenario.folder / "logs" / file).write_text(scenario.target.kubectl(*arguments, "--namespace", scenario.objects.namespace))


def main():
    flags = read_flags()
    out = view.choose_out(flags.json)
    programs.end_on_signals()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="longshore-e2e-"))
    (folder / "logs").mkdir()
    scenario, code = None, 1
    try:
        bin_folder = programs.find_programs()
        target = ExistingCluster(folder, flags.kubeconfig) if flags.kubeconfig else TemporaryCluster(folder, bin_folder)
        scenario = E2eScenario(folder, target, Objects, bin_folder, flags.outage)
        code = run(scenario, flags, out)
    except programs.Interrupted:
        print("\nInterrupted.", file=out)
        code = 130
    except (programs.DemoError, Failure, TimeoutError, subprocess.TimeoutExpired) as error:
        print(f"e2e: {error}", file=sys.stderr)
    finally:
        programs.ignore_signals()
        if scenario is not None:
            if code not in (0, 130) or flags.keep:
                save_logs(scenario)
            if scenario.objects is not None:
                scenario.objects.end()
            scenario.target.end()
            scenario.programs.end_all()
        if code in (0, 130) and not flags.keep:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"e2e: the logs are in {folder / 'logs'}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
