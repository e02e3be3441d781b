"""The programs in their images: all files are present, the root is read-only, and PID 1 handles signals."""

import json
import pathlib
import re
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.request

import grpc
import numpy as np
import pytest
import serving
from calls import MODELS, SECONDS
from calls import request as request_of
from certificates import Authority
from images import VERSION
from root import PROGRAMS
from serving import running_node
from tensorflow_serving.apis import prediction_service_pb2_grpc

MODEL = "half_plus_two_tf1"
LOADER = "ld-linux-x86-64.so.2"
X = np.array([1, 2, 5], np.float32)


@pytest.fixture
def node(node_image, scratch):
    """A function that starts a node with half_plus_two in a container: `with node(*flags, mounts=[...]) as running`."""
    def start(*flags: str, mounts=(), model: str | None = MODEL):
        options = [f"--mount={MODELS}:/models", *(f"--mount={pair}" for pair in mounts)]
        return running_node(scratch, MODEL, pathlib.Path("/models") / model if model else None, *flags,
                            program=node_image.command(scratch, *options))
    return start


def predicted(stub, **inputs) -> list[float]:
    return list(stub.Predict(request_of(MODEL, **inputs), timeout=SECONDS).outputs["y"].float_val)


def test_an_image_has_exactly_the_libraries_of_its_programs(image, scratch):
    needed = set()
    for name in PROGRAMS[image.name]:
        done = image.run(scratch, "--list", f"/usr/bin/{name}", entrypoint=f"/lib64/{LOADER}")
        assert done.returncode == 0 and "not found" not in done.stdout, (done.stdout, done.stderr)
        needed |= set(re.findall(r"=> \S*/(\S+) \(", done.stdout))
    assert {path.split("/")[-1] for path in image.entries() if ".so" in path} - {LOADER} == needed - {LOADER}


def test_programs_print_their_version(image, scratch):
    for name in PROGRAMS[image.name]:
        done = image.run(scratch, "--version", entrypoint=f"/usr/bin/{name}")
        assert (done.returncode, done.stderr) == (0, "")
        assert f"{name} {VERSION}\n" in done.stdout


@pytest.mark.parametrize(("name", "code"), [("longshore-node", 1), ("longshore-controller", 2), ("longshore", 2), ("longshore-model", 2)])
def test_an_unknown_flag_ends_the_program_with_a_message(request, scratch, name, code):
    image = request.getfixturevalue("node_image" if name in PROGRAMS["node"] else "controller_image")
    done = image.run(scratch, "--no_such_flag", entrypoint=f"/usr/bin/{name}")
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr


def test_the_node_serves_over_grpc_and_rest(node):
    with node() as running:
        running.serving()
        assert predicted(running.predictions, x=X) == [2.5, 3, 4.5]
        assert running.rest_predict({"instances": [1.0, 2.0, 5.0]}) == (200, {"predictions": [2.5, 3.0, 4.5]})
        with urllib.request.urlopen(f"{running.admin_url}/readyz", timeout=SECONDS) as ready:
            assert ready.status == 200


def test_the_variables_of_the_official_image_select_the_model(node_image, scratch):
    mounts = [f"--mount={MODELS / MODEL}:/models/model"]
    with running_node(scratch, "model", None, program=node_image.command(scratch, *mounts)) as running:
        assert running.rest_predict({"instances": [2.0]}) == (200, {"predictions": [3.0]})


def test_after_sigterm_a_running_request_is_answered(node):
    with node("--simulated_run_ms=1000", "--connection_age_max_ms=1000") as running:
        running.serving()
        call = running.predictions.Predict.future(request_of(MODEL, x=X), timeout=SECONDS)
        running.until(lambda: "longshore_running 1" in metrics(running) or None)
        running.process.send_signal(signal.SIGTERM)
        assert list(call.result().outputs["y"].float_val) == [2.5, 3, 4.5]
        assert running.process.wait(SECONDS) == 0


def test_a_second_sigterm_ends_the_node_immediately(node_image, scratch):
    # Without the second signal the node would wait for the connection forever.
    command = [*node_image.command(scratch, f"--mount={MODELS}:/models"), f"--model_base_path=/models/{MODEL}",
               f"--model_name={MODEL}", "--port=0", "--admin_port=0", f"--port_file={scratch / 'ports'}",
               "--connection_age_max_ms=0"]
    with open(scratch / "log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    port = json.loads(text_of(scratch / "ports", process))["grpc"]
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        assert predicted(prediction_service_pb2_grpc.PredictionServiceStub(channel), x=X) == [2.5, 3, 4.5]
        process.send_signal(signal.SIGTERM)
        text_of(scratch / "log", process, "shutting down: ")
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 1


def text_of(path: pathlib.Path, process: subprocess.Popen, word: str = "") -> str:
    """Waits until the file exists and contains the word; returns its text."""
    end = time.monotonic() + SECONDS
    while not path.exists() or word not in path.read_text():
        assert process.poll() is None and time.monotonic() < end, (path, process.returncode)
        time.sleep(0.02)
    return path.read_text()


def metrics(node: serving.Node) -> str:
    with urllib.request.urlopen(f"{node.admin_url}/metrics", timeout=SECONDS) as response:
        return response.read().decode()


def test_the_node_uses_tls_and_requires_client_certificates(node, scratch):
    ca = Authority(scratch)
    for end, content in zip(("crt", "key"), ca.sign("server"), strict=True):
        (scratch / f"server.{end}").write_bytes(content)
        (scratch / f"server.{end}").chmod(0o644)
    flags = [f"--tls_cert_file={scratch}/server.crt", f"--tls_key_file={scratch}/server.key",
             f"--tls_client_ca_file={ca.certificate}"]
    with node(*flags) as running:
        running.ready()
        certificate, key = ca.sign("client")
        allowed = grpc.ssl_channel_credentials(ca.pem, key, certificate)
        refused = grpc.ssl_channel_credentials(ca.pem)
        address = f"localhost:{running.grpc_port}"
        with grpc.secure_channel(address, allowed) as channel:
            assert predicted(prediction_service_pb2_grpc.PredictionServiceStub(channel), x=X) == [2.5, 3, 4.5]
        with grpc.secure_channel(address, refused) as channel, pytest.raises(grpc.RpcError):
            predicted(prediction_service_pb2_grpc.PredictionServiceStub(channel), x=X)


@pytest.fixture
def name_resolution(scratch):
    """A DNS server with one name and a hosts file with another; returns the mounts that make a container use them."""
    (scratch / "hosts").write_text("127.0.0.1 localhost\n127.0.0.1 by-hosts.test\n")
    (scratch / "resolv.conf").write_text("nameserver 127.53.0.1\noptions timeout:2\n")
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.53.0.1", 53))
    thread = threading.Thread(target=answer_dns_queries, args=[server], daemon=True)
    thread.start()
    yield [f"{scratch / name}:/etc/{name}" for name in ("hosts", "resolv.conf")]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"", ("127.53.0.1", 53))
    thread.join()
    server.close()


def answer_dns_queries(server: socket.socket) -> None:
    """Answers by-dns.test with 127.0.0.1 and no IPv6 address, and all other names with NXDOMAIN. An empty message ends it."""
    while query := (received := server.recvfrom(4096))[0]:
        end = query.index(b"\0", 12) + 5
        question, kind = query[12:end], struct.unpack(">H", query[end - 4:end - 2])[0]
        known = question.startswith(b"\6by-dns\4test\0")
        answers = [b"\xc0\x0c" + struct.pack(">HHIH4s", 1, 1, 60, 4, b"\x7f\0\0\1")] if known and kind == 1 else []
        header = query[:2] + struct.pack(">HHHHH", 0x8580 | (0 if known else 3), 1, len(answers), 0, 0)
        server.sendto(header + question + b"".join(answers), received[1])


@pytest.mark.parametrize("name", ["by-hosts.test", "by-dns.test"])
def test_the_node_resolves_the_name_of_its_controller(node, scratch, name_resolution, name):
    (scratch / "state").mkdir()
    (scratch / "state").chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as controller:
        controller.settimeout(SECONDS)
        address = f"{name}:{controller.getsockname()[1]}"
        with node(f"--controller={address}", "--fleet=default/main", f"--state_dir={scratch}/state", mounts=name_resolution, model=None):
            controller.accept()[0].close()


@pytest.mark.parametrize("name", ["by-hosts.test", "by-dns.test"])
def test_glibc_resolves_names(image, scratch, name_resolution, name):
    """Uses the host's getent with the image's glibc, whose resolver the controller's HTTP client also uses."""
    done = image.run(scratch, "ahostsv4", name, entrypoint="/tmp/getent", mounts=[*name_resolution, "/usr/bin/getent:/tmp/getent"])
    assert (done.returncode, done.stdout.split()[0]) == (0, "127.0.0.1"), done.stderr


def test_openssl_trusts_the_public_cas_by_default(image, scratch):
    """Uses the host's openssl with the image's libraries, without openssl.cnf."""
    end = "-----END CERTIFICATE-----\n"
    first = pathlib.Path("/etc/ssl/certs/ca-certificates.crt").read_text().split(end)[0]
    (scratch / "root.pem").write_text(first + end)
    (scratch / "root.pem").chmod(0o644)
    done = image.run(scratch, "verify", str(scratch / "root.pem"), entrypoint="/tmp/openssl",
                     mounts=["/usr/bin/openssl:/tmp/openssl"])
    assert (done.returncode, done.stdout) == (0, f"{scratch}/root.pem: OK\n"), done.stderr


def test_the_controller_starts_and_stops(controller_image, scratch):
    for folder in ("state", "manifests"):
        (scratch / folder).mkdir()
        (scratch / folder).chmod(0o777)
    command = [*controller_image.command(scratch), f"--state_dir={scratch}/state", f"--manifests={scratch}/manifests",
               "--admin_port=0", "--console_port=0", f"--port_file={scratch}/port", "--node_binary=/usr/bin/longshore"]
    process = subprocess.Popen(command)
    ports = json.loads(text_of(scratch / "port", process))
    for name, path in (("admin", "/livez"), ("console", "/")):
        with urllib.request.urlopen(f"http://127.0.0.1:{ports[name]}{path}", timeout=SECONDS) as live:
            assert live.status == 200
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0


def test_the_controller_image_has_the_command_line_tool(controller_image, scratch):
    (scratch / "manifests").mkdir()
    (scratch / "manifests").chmod(0o777)
    done = controller_image.run(scratch, "get", "models", f"--manifests={scratch}/manifests", entrypoint="/usr/bin/longshore")
    assert done.returncode == 0, done.stderr
