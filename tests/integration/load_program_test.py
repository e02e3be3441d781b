"""longshore-load as a person runs it, against a real node: the live line, the summary, the comparison and the lines for programs.

Run: ./dev test load_program_test
"""

import json
import os
import pty
import re
import subprocess
import sys

import pytest
from harness import BIN, MODELS, ROOT

sys.path.insert(0, str(ROOT / "tests/judge"))
from serving import running_node  # noqa: E402

MODEL = "half_plus_two_tf1"


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """Flags that name a node and its model."""
    with running_node(tmp_path_factory.mktemp("load"), MODEL, MODELS / MODEL, f"--grpc_socket_path={tmp_path_factory.getbasetemp()}/g") as node:
        node.serving()
        yield f"--grpc=unix:{tmp_path_factory.getbasetemp()}/g", f"--model={MODEL}"


def run(*flags, code=0, stdin=""):
    done = subprocess.run([BIN / "longshore-load", *map(str, flags)], input=stdin, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def run_on_terminal(*flags) -> str:
    """Returns what the terminal got."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(BIN / "longshore-load", [str(BIN / "longshore-load"), *flags])
    shown = b""
    try:
        while block := os.read(terminal, 4096):
            shown += block
    except OSError:  # The program has ended.
        pass
    os.close(terminal)
    assert os.waitpid(pid, 0)[1] == 0
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_shows_a_live_line_and_then_the_summary(target):
    shown = run_on_terminal(*target, "--rate=200", "--duration_s=3")
    live = re.findall(r"\r(\d+) s  [\d.]+ requests/s  0 errors  p50 \S+ m?s  p99 \S+ m?s  \d+ in flight\x1b\[K", shown)
    assert live[:2] == ["1", "2"]
    summary = shown.split("\r\x1b[K")[-1]
    assert re.match(r"3\.\d s: 200\.0 requests/s asked for, [\d.]+ requests/s sent \([\d.]+ %\), [\d.]+ requests/s answered\n", summary)
    assert re.search(r"\nrequests  (\d+) sent, \1 answered, 0 failed \(0\.00 %\)\nlatency   p50 ", summary)
    assert re.search(r"\n  up to +\S+ m?s +\d+ +[\d.]+ %  #+\n", summary)
    assert re.search(r"\nanswers by version\n +\d+  100\.0 %  1\n", summary)


def test_without_a_terminal_there_is_only_the_summary_with_a_line_for_each_segment(target):
    done = run(*target, "--rate=100", "--requests=100", stdin="mark second\n")
    assert done.stderr == ""
    assert re.search(r"\nsegments\n  start: .*\n  second: .* sent, .*\n$", done.stdout)


def test_errors_are_counted_by_code_with_their_first_message(target):
    done = run(*target, "--signature=none", "--rate=100", "--requests=20", code=1)
    assert re.search(r"\nerrors, each with its first message\n         20  [A-Z_]+: .*none", done.stdout)
    assert "latency" not in done.stdout


def test_two_saved_runs_are_compared(target, tmp_path):
    for name, more in (("a", []), ("b", ["--signature=none"])):
        lines = run(*target, "--rate=50", "--duration_s=7.5", "--json", *more, code=1 if more else 0).stdout
        assert [json.loads(line)["type"] for line in lines.splitlines()].count("final") == 1
        (tmp_path / f"{name}.json").write_text(lines)
    compared = run("--compare", tmp_path / "a.json", tmp_path / "b.json").stdout
    assert re.search(r"^failed +0\.00 % +100\.00 % +\+100\.00 points  \+100\.00 to \+100\.00  B is higher$", compared, re.MULTILINE)
    same = run("--compare", tmp_path / "a.json", tmp_path / "a.json").stdout
    assert "B is" not in same and same.count("no difference beyond its uncertainty") == 7


def test_a_file_that_is_not_a_saved_run_is_named(tmp_path):
    (tmp_path / "x").write_text("3.0 s: 200 requests/s\n")
    done = run("--compare", tmp_path / "x", tmp_path / "x", code=2)
    assert f"{tmp_path}/x: not the output of longshore-load --json" in done.stderr
