"""./dev demo: Longshore's main job, live, in less than five minutes.

Starts Prometheus, a controller and its nodes in a folder of its own on free ports, sends constant load, and shows
versions promoted and rolled back, a fleet scaled, programs killed. Ends with what was expected beside what was seen;
exits with 1 when anything differs. Leaves no process behind, unless told --stay.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

import programs
import story
import view


def read_flags():
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="end with one JSON object on standard output")
    parser.add_argument("--stay", action="store_true", help="leave everything running and say what to try; Ctrl-C ends it")
    return parser.parse_args()


def find_prometheus():
    path = os.environ.get("LONGSHORE_PROMETHEUS") or shutil.which("prometheus")
    if path and pathlib.Path(path).exists():
        return pathlib.Path(path).resolve()
    raise programs.DemoError("Prometheus is not there: ./dev setup unpacks it, or set LONGSHORE_PROMETHEUS to the program")


def report(played, seconds):
    names = ["requests", "failed", "wrong_version", "retried", "rollback_seconds", "split_deviation_pp", "keyed_deviation_pp",
             "keyed_keys", "keys_moved", "keys_moved_wrongly", "node_restarts", "scaled_out_to", "new_node_share"]
    return {**{name: played.result.get(name) for name in names}, "seconds": round(seconds, 1),
            "expectations": played.expectations}


def stay(played, out):
    manifests = played.folder / "manifests"
    program = played.bin / "longshore"
    print(f"""
Everything goes on. In another terminal:

  export LONGSHORE_MANIFESTS={manifests}
  {program} get models --watch
  {program} get fleets
  {program} explain digits
  {program} retry digits                           # v5, once more
  sed -i 's/version: .*/version: 1/' {manifests}/digits.yaml      # back to v1, as a rollout
  curl -s http://{played.cluster.address('main', 'rest')}/v1/models/halves:predict -d '{{"instances": [1.0, 2.0]}}'

Prometheus: http://127.0.0.1:{played.prometheus_port}    logs: {played.folder / 'logs'}
Ctrl-C ends all of it.""", file=out, flush=True)
    while True:
        played.pause(1)


def play(played, flags, out):
    """The exit code."""
    began = time.monotonic()
    played.view = view.View(out, played.state)
    try:
        played.play()
    finally:
        played.view.close()
    view.print_expectations(played.expectations, out)
    result = report(played, time.monotonic() - began)
    met = played.all_met()
    print(f"\n{'Everything as expected' if met else 'NOT as expected'}, in {result['seconds']:.0f} seconds.", file=out)
    if flags.json:
        print(json.dumps(result), flush=True)
    if flags.stay:
        stay(played, out)
    return 0 if met else 1


def main():
    flags = read_flags()
    out = view.choose_out(flags.json)
    programs.end_on_signals()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="longshore-"))
    played, code = None, 1
    try:
        played = story.Story(folder, programs.find_programs(), find_prometheus())
        code = play(played, flags, out)
    except programs.Interrupted:
        print("\ninterrupted", file=out)
        code = 130
    except (programs.DemoError, TimeoutError) as error:
        print(f"demo: {error}", file=sys.stderr)
    finally:
        programs.ignore_signals()
        if played is not None:
            played.cluster.end()
            played.programs.end_all()
        if code in (0, 130):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"demo: logs are kept in {folder / 'logs'}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
