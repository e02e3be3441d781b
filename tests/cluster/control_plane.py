#!/usr/bin/env python3
"""A real API server for tests: etcd and kube-apiserver with Longshore's CRDs, in a temporary folder and on a free port.

    with ControlPlane() as control_plane:
        control_plane.kubectl("apply", "-f", "model.yaml")
        client = connect(control_plane.kubeconfig)

It can also run a command, such as a test program. The command finds the server by KUBECONFIG, and its exit status is returned:

    python3 tests/cluster/control_plane.py --run build/dev/bin/kube_store_test

There are no nodes, so pods stay Pending. With `controllers`, Deployments get pods, Services get endpoints, and objects
without an owner are deleted. A second API server on the same etcd can lag behind the first (stop it with SIGSTOP).
All programs end with the process that started them, even if it is killed.
"""

import argparse
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from authority import Authority
from program import Failure, Program, kill_with_parent, find_binaries, run_kubectl, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRDS = ROOT / "crds"
START_MAX_S = 60
ISSUER = "https://kubernetes.default.svc.cluster.local"


class Port:
    """A free port that stays reserved: it is bound here. The API server shares it by SO_REUSEPORT (--permit-port-sharing), the
    controller by SO_REUSEADDR, which is possible because this socket does not listen."""

    def __init__(self, address):
        self.socket = socket.socket()
        for option in (socket.SO_REUSEPORT, socket.SO_REUSEADDR):
            self.socket.setsockopt(socket.SOL_SOCKET, option, 1)
        self.socket.bind((address, 0))
        self.number = self.socket.getsockname()[1]

    def close(self):
        self.socket.close()


# Runs until its input is closed, by the end of this process. Then it kills the processes that the command left running, found by
# their environment, and removes the folder. It tries several times, because ending programs may still write to the folder.
REMOVER = """cat >/dev/null
for try in 1 2 3 4 5; do
  for process in $(grep -lszxF "LONGSHORE_CONTROL_PLANE=$0" /proc/[0-9]*/environ | cut -d / -f 3); do kill -9 "$process"; done
  rm -rf "$0" && exit
  sleep 0.2
done"""


class Folder:
    """A temporary folder that is removed when this process ends, even if it is killed."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="ls_kube_"))
        self.remover = None
        if not os.environ.get("LONGSHORE_KEEP"):
            self.remover = subprocess.Popen(["sh", "-c", REMOVER, self.path], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            start_new_session=True)

    def remove(self):
        if self.remover is None:
            print("kept:", self.path, file=sys.stderr)
            return
        self.remover.stdin.close()
        self.remover.wait()


class ControlPlane:
    """`crds`: files or folders to apply. `address`: the address to listen on. `api_server_flags`: added after the default
    flags, which they override. `folder`: an empty folder, which the caller removes."""

    def __init__(self, controllers=False, servers=1, crds=(CRDS,), address="127.0.0.1", service_cidr="10.96.0.0/16",
                 api_server_flags=(), controller_flags=(), folder=None):
        self.binaries = find_binaries()
        self.wants_controllers, self.server_count, self.crds = controllers, servers, crds
        self.address, self.service_cidr = address, service_cidr
        self.api_server_flags, self.controller_flags = api_server_flags, controller_flags
        self.ports, self.servers = [], []
        self.etcd = self.controller_manager = None
        self.folder, self._own_folder = folder, None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_failure):
        for program in self.programs():
            program.end()
        for port in self.ports:
            port.close()
        if self._own_folder is not None:
            self._own_folder.remove()
            self._own_folder = None

    def programs(self):
        return [program for program in (self.controller_manager, *self.servers, self.etcd) if program is not None]

    # Starting.

    def _start(self):
        if self.folder is None:
            self._own_folder = Folder()
            self.folder = self._own_folder.path
        self.start_etcd()
        self._prepare_identities()
        self.kubeconfigs = []
        for _ in range(self.server_count):
            self._add_server()
        for number in range(self.server_count):
            self.wait_for_server(number)
        self.kubeconfig = self.kubeconfigs[0]
        self.apply_crds()  # Before the controllers, which otherwise discover new kinds only after half a minute.
        if self.wants_controllers:
            self.start_controllers()

    def _prepare_identities(self):
        self.authority = Authority(self.folder / "pki")
        names = ["DNS:localhost", "DNS:kubernetes", "DNS:kubernetes.default", "DNS:kubernetes.default.svc",
                 "DNS:kubernetes.default.svc.cluster.local", "IP:127.0.0.1", f"IP:{self.address}",
                 f"IP:{self.service_cidr.rpartition('.')[0]}.1"]
        self.server_certificate = self.authority.certify("kube-apiserver", addresses=names)
        self.kubelet_client = self.authority.certify("kube-apiserver-kubelet-client", ["system:masters"])
        self.token_keys = self.authority.key_pair("service-accounts")
        self.tls = ssl.create_default_context(cafile=self.authority.certificate)
        self.tls.load_cert_chain(*self.authority.certify("longshore-test-probe", ["system:masters"]))

    def start_etcd(self):
        self.etcd = Program(self.folder, "etcd", [
            self.binaries / "etcd", "--name=test", "--unsafe-no-fsync", f"--data-dir={self.folder}/etcd", "--log-level=warn",
            f"--listen-client-urls=unix://{self.folder}/etcd.sock", f"--listen-peer-urls=unix://{self.folder}/peer.sock",
            "--advertise-client-urls=http://localhost:1"])  # Unused, but etcd requires a valid address.

    def _add_server(self):
        number = len(self.servers)
        self.ports.append(Port(self.address))
        self.servers.append(self._run_server(number))
        self.kubeconfigs.append(self.authority.write_kubeconfig(
            self.folder / f"admin-{number}.kubeconfig", self.url(number), "admin", ["system:masters"]))

    def _run_server(self, number):
        certificate, key = self.server_certificate
        private, public = self.token_keys
        kubelet_certificate, kubelet_key = self.kubelet_client
        flags = [
            f"--etcd-servers=unix://{self.folder}/etcd.sock", f"--bind-address={self.address}",
            f"--advertise-address={self.address}", f"--secure-port={self.ports[number].number}", "--permit-port-sharing=true",
            "--kubelet-preferred-address-types=InternalIP", f"--tls-cert-file={certificate}", f"--tls-private-key-file={key}",
            f"--client-ca-file={self.authority.certificate}", "--authorization-mode=Node,RBAC", "--allow-privileged=true",
            f"--kubelet-client-certificate={kubelet_certificate}", f"--kubelet-client-key={kubelet_key}",
            f"--service-account-issuer={ISSUER}", f"--service-account-key-file={public}",
            f"--service-account-signing-key-file={private}", f"--service-cluster-ip-range={self.service_cidr}"]
        if self.address.startswith("127."):
            flags.append("--endpoint-reconciler-type=none")  # Endpoints may not be loopback addresses.
        return Program(self.folder, f"apiserver-{number}",
                       [self.binaries / "kube", "kube-apiserver", *flags, *self.api_server_flags])

    def start_controllers(self):
        private, _ = self.token_keys
        self.controller_manager = Program(self.folder, "controller-manager", [
            self.binaries / "kube", "kube-controller-manager", f"--kubeconfig={self.kubeconfig}", "--leader-elect=false",
            "--kube-api-qps=500", "--kube-api-burst=1000",  # With the default its controllers need five seconds to start.
            "--secure-port=0", "--use-service-account-credentials=true", f"--service-account-private-key-file={private}",
            f"--root-ca-file={self.authority.certificate}", f"--cluster-signing-cert-file={self.authority.certificate}",
            f"--cluster-signing-key-file={self.authority.key}",
            f"--flex-volume-plugin-dir={self.folder}/volume-plugins",  # The default is a folder in /usr.
            *self.controller_flags])
        # Its controllers start one after the other; pods are rejected until their namespace has a service account.
        wait_for("the service account of the default namespace", lambda: self._get(
            0, "/api/v1/namespaces/default/serviceaccounts/default"), START_MAX_S, self.programs())

    # Stopping and restarting servers.

    def url(self, number=0):
        return f"https://{self.address}:{self.ports[number].number}"

    def stop_server(self, number=0, signal_number=signal.SIGTERM):
        self.servers[number].end(signal_number)

    def restart_server(self, number=0):
        """Starts the server again on the same port with the same certificate."""
        self.servers[number] = self._run_server(number)
        self.wait_for_server(number)

    def wait_for_server(self, number=0):
        wait_for(f"API server {number} to be ready", lambda: self._get(number, "/readyz"), START_MAX_S,
                 [self.etcd, self.servers[number]])

    def _get(self, number, path):
        try:
            with urllib.request.urlopen(self.url(number) + path, timeout=10, context=self.tls) as answer:
                return answer.read()
        except OSError:
            return None

    # Objects and users.

    def apply_crds(self):
        if self.crds:
            files = [word for path in self.crds for word in ("-f", path)]
            self.kubectl("apply", "--server-side", *files)
            self.kubectl("wait", "--for=condition=Established", "--timeout=30s", *files)

    def kubectl(self, *words, input=None, kubeconfig=None):
        """Returns the output of kubectl. Raises Failure with its error message."""
        return run_kubectl(self.folder, kubeconfig or self.kubeconfig, *words, input=input)

    def user(self, name, groups=()):
        """A kubeconfig file of a user with this name and these groups. Without RBAC bindings the user has no rights."""
        return self.authority.write_kubeconfig(self.folder / f"{name.replace(':', '_')}.kubeconfig", self.url(), name, groups)

    def environment(self):
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": str(self.folder / "kubectl"),
                "LONGSHORE_KUBERNETES": str(self.binaries),
                "LONGSHORE_KUBECONFIGS": ":".join(map(str, self.kubeconfigs)),
                "LONGSHORE_CONTROL_PLANE": str(self.folder), "PATH": f"{self.binaries}:{os.environ.get('PATH', '')}"}


def run_command(control_plane, command):
    """Runs a command with this control plane; returns its exit status as a shell would."""
    # Ctrl-C reaches the command too: the command decides what to do, and this process ends after it.
    signal.signal(signal.SIGINT, lambda *_: None)
    environment = control_plane.environment()
    if shutil.which(command[0], path=environment["PATH"]) is None:
        raise Failure(f"{command[0]}: No such file, or not executable")
    status = subprocess.Popen(kill_with_parent(command), env=environment).wait()
    return status if status >= 0 else 128 - status


def main():
    parser = argparse.ArgumentParser(description="Runs a command with a new API server that has Longshore's CRDs.")
    parser.add_argument("--controllers", action="store_true", help="start kube-controller-manager too")
    parser.add_argument("--servers", type=int, choices=(1, 2), default=1,
                        help="number of API servers; LONGSHORE_KUBECONFIGS lists their kubeconfig files, separated by colons")
    parser.add_argument("--no-crds", action="store_true", help="do not apply the CRDs of crds/")
    parser.add_argument("--server-flag", action="append", default=[], metavar="FLAG",
                        help="a flag of the API server, for example --server-flag=--etcd-compaction-interval=1s")
    parser.add_argument("--run", nargs=argparse.REMAINDER, required=True, metavar="CMD",
                        help="the command with its arguments; it finds the server by KUBECONFIG, kubectl by PATH, and "
                        "logs and process ids in the folder LONGSHORE_CONTROL_PLANE")
    options = parser.parse_args()
    if not options.run:
        parser.error("--run: a command is missing")
    if shutil.which("openssl") is None:
        raise Failure("openssl is missing: run ./dev setup")
    with ControlPlane(options.controllers, options.servers, () if options.no_crds else (CRDS,),
                      api_server_flags=options.server_flag) as control_plane:
        status = run_command(control_plane, options.run)
        for program in control_plane.programs() if status != 0 else ():
            if program.process.poll() is not None:
                print(f"control_plane: the command failed, and {program.name} has ended; {program.tail()}", file=sys.stderr)
        return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"control_plane: {failure}", file=sys.stderr)
        sys.exit(125)
