"""./dev e2e: Longshore on a real Kubernetes, from helm install to helm uninstall, under load.

Without --kubeconfig it makes a cluster of one node in namespaces of its own (root is needed) and removes it. With it, that
cluster is used: it must be able to pull longshore/controller and longshore/node with the tags dev and 0.1.0, and have a
namespace longshore-e2e with a claim "models" that holds tests/models/digits and half_plus_two_tf2 (as halves); its nodes'
ports are called from here. The kubeconfig's user has a client certificate or a token. tests/e2e/named_cluster.py tries that.
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
sys.path += [str(TESTS / name) for name in ("cluster", "demo")]

import programs
import view
from objects import Objects, restarts
from place import NamedCluster, OwnCluster
from program import Failure
from story import OUTAGE_S, Story

OUTAGE_MAX_S = 3600


def outage(text):
    seconds = int(text)
    if not OUTAGE_S <= seconds <= OUTAGE_MAX_S:
        raise argparse.ArgumentTypeError(f"from {OUTAGE_S} to {OUTAGE_MAX_S} seconds")
    return seconds


def read_flags():
    parser = argparse.ArgumentParser(prog="./dev e2e", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="end with one JSON object on standard output")
    parser.add_argument("--kubeconfig", type=pathlib.Path, help="a cluster that is there, instead of one of its own")
    parser.add_argument("--outage", type=outage, metavar="SECONDS", default=OUTAGE_S,
                        help=f"how long the API server of its own cluster is away [{OUTAGE_S}]")
    parser.add_argument("--keep", action="store_true", help="keep logs and images also when all was as expected")
    flags = parser.parse_args()
    if flags.kubeconfig and flags.outage != OUTAGE_S:
        parser.error("--outage: the API server of a cluster that is there is not stopped")
    return flags


def play(story, flags, out):
    """The exit code."""
    began = time.monotonic()
    story.view = view.View(out, story.state)
    try:
        story.play()
    finally:
        story.view.close()
    view.print_expectations(story.expectations, out)
    seconds = round(time.monotonic() - began, 1)
    print(f"\n{'Everything as expected' if story.all_met() else 'NOT as expected'}, in {seconds:.0f} seconds.", file=out)
    if flags.json:
        print(json.dumps({**story.result, "seconds": seconds, "expectations": story.expectations}), flush=True)
    return 0 if story.all_met() else 1


def keep_logs(story):
    """What the pods said and what was said of them, before they are gone."""
    if story.seen is None:
        return
    pods = story.seen.pods()
    wanted = {f"{name}.log": ("logs", name, "--tail=2000") for name in pods}
    wanted |= {f"{name}.former.log": ("logs", name, "--tail=2000", "--previous") for name, pod in pods.items() if restarts(pod)}
    wanted |= {"events.txt": ("get", "events", "--sort-by=.lastTimestamp"), "pods.txt": ("describe", "pods"),
               "objects.yaml": ("get", "servingfleets,models,deployments,leases", "-o", "yaml")}
    for file, words in wanted.items():
        with contextlib.suppress(Failure, subprocess.TimeoutExpired):
            (story.folder / "logs" / file).write_text(story.place.kubectl(*words, "--namespace", story.seen.namespace))


def main():
    flags = read_flags()
    out = view.choose_out(flags.json)
    programs.end_on_signals()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="longshore-e2e-"))
    (folder / "logs").mkdir()
    story, code = None, 1
    try:
        bin_folder = programs.find_programs()
        place = NamedCluster(folder, flags.kubeconfig) if flags.kubeconfig else OwnCluster(folder, bin_folder)
        story = Story(folder, place, Objects, bin_folder, flags.outage)
        code = play(story, flags, out)
    except programs.Interrupted:
        print("\ninterrupted", file=out)
        code = 130
    except (programs.DemoError, Failure, TimeoutError, subprocess.TimeoutExpired) as error:
        print(f"e2e: {error}", file=sys.stderr)
    finally:
        programs.ignore_signals()
        if story is not None:
            if code not in (0, 130) or flags.keep:
                keep_logs(story)
            if story.seen is not None:
                story.seen.end()
            story.place.end()
            story.programs.end_all()
        if code in (0, 130) and not flags.keep:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"e2e: logs are kept in {folder / 'logs'}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
