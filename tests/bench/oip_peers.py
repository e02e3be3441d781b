"""Other servers of the Open Inference Protocol: Triton with its Python backend, and KServe's Python server."""

import contextlib
import functools
import os
import pathlib
import shutil
import socket
import tempfile

from models import made_model
from processes import BIN, ROOT, client, get, node, say, server, wait_for
from rows import QUICK_ROUNDS, ROUNDS, in_turns, shown

FILES = ROOT / "tests/bench/peers"
START_SECONDS = 120


def free_ports(count: int) -> list[int]:
    """Returns ports that nothing listens on. Neither of the servers can choose its ports itself."""
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in listeners]


@contextlib.contextmanager
def ready(name: str, command: list, http: int, environment: dict[str, str] | None = None):
    """Runs a server until it is ready. Its log is in the message if it exits."""
    with tempfile.TemporaryFile("w+") as log, server(*command, log=log, environment=environment) as process:
        def answers():
            if process.poll() is not None:
                log.seek(0)
                raise SystemExit(f"bench: {name} exited: {log.read()[-2000:]}")
            return get(http, "/v2/models/identity/ready")[0] == 200
        wait_for(answers, f"{name} to be ready", START_SECONDS, pause=0.1)
        yield


@contextlib.contextmanager
def triton(venv: pathlib.Path):
    """Runs tritonserver from PyTriton's wheel and yields its gRPC port."""
    packages = venv / "lib/python3.11/site-packages"
    installed = packages / "pytriton/tritonserver"
    http, grpc = free_ports(2)
    with tempfile.TemporaryDirectory() as folder:
        backends, repository = pathlib.Path(folder) / "backends", pathlib.Path(folder) / "repository"
        shutil.copytree(installed / "backends", backends)
        shutil.copy(installed / "python_backend_stubs/3.11/triton_python_backend_stub", backends / "python")
        (repository / "identity/1").mkdir(parents=True)
        shutil.copy(FILES / "triton_config.pbtxt", repository / "identity/config.pbtxt")
        shutil.copy(FILES / "triton_model.py", repository / "identity/1/model.py")
        command = [installed / "bin/tritonserver", f"--model-repository={repository}", f"--backend-directory={backends}",
                   "--http-address=127.0.0.1", "--grpc-address=127.0.0.1", f"--http-port={http}", f"--grpc-port={grpc}",
                   "--allow-metrics=false"]
        environment = {"LD_LIBRARY_PATH": str(packages / "nvidia_pytriton.libs"), "LONGSHORE_PACKAGES": str(packages)}
        with ready("Triton", command, http, environment):
            yield grpc


@contextlib.contextmanager
def kserve(venv: pathlib.Path):
    """Runs KServe's Python server with one worker and yields its gRPC port."""
    http, grpc = free_ports(2)
    command = [venv / "bin/python", "-B", FILES / "kserve_server.py", f"--http_port={http}", f"--grpc_port={grpc}"]
    with ready("KServe's server", command, http):
        yield grpc


def infers(port: int, outstanding: int) -> float:
    """Returns the answers per second with this number of requests in flight."""
    return client(BIN / "longshore-bench", "throughput", f"--infer=127.0.0.1:{port}", f"--outstanding={outstanding}")["per_second"]


def peer_rows(quick: bool):
    for name, start, variable in (("Triton 2.51, Python backend with dynamic batching", triton, "LONGSHORE_TRITON"),
                                  ("KServe's Python server", kserve, "LONGSHORE_KSERVE")):
        if variable in os.environ:
            yield from rows_of(name, start(pathlib.Path(os.environ[variable])), QUICK_ROUNDS if quick else ROUNDS)
        else:
            say(f"  skipped: {name}: its packages could not be installed, see above")


def rows_of(name: str, started, rounds: int):
    say(f"one float by the Open Inference Protocol, beside {name}")
    with node("--model_name=identity", model=made_model("shorten", 1)) as ours, started as port:
        for outstanding in (64, 1):
            measures = {"ours": functools.partial(infers, ours.grpc, outstanding), "theirs": functools.partial(infers, port, outstanding)}
            taken = in_turns(measures, rounds)
            yield shown(f"ModelInfer over gRPC, one float, {outstanding} in flight, answers per second", name, taken["ours"], taken["theirs"])
