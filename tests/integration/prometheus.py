"""Runs a real Prometheus that scrapes an installation."""

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from harness import wait_for


def find_prometheus():
    """Returns the path of Prometheus from LONGSHORE_PROMETHEUS or else from PATH; None if neither has it."""
    return os.environ.get("LONGSHORE_PROMETHEUS") or shutil.which("prometheus")


def prometheus_or_skip(case):
    """As find_prometheus, but skips the test case without a Prometheus."""
    program = find_prometheus()
    if not program:
        case.skipTest("no Prometheus: LONGSHORE_PROMETHEUS is not set and PATH has none")
    return program


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Prometheus:
    """A Prometheus that scrapes the targets in given files every second. It can be stopped and started again.

    `jobs`: job name -> file of targets (file_sd); `rules`: rule files; `tls`: files of the certificate, its key, and the CA certificate.
    """

    def __init__(self, program, directory, jobs, rules=(), tls=None):
        self.directory = directory / "prometheus"
        self.directory.mkdir()
        self.program = program
        self.port = free_port()
        self.process = None
        self.scheme = "https" if tls else "http"
        self.context = ssl.create_default_context(cafile=tls[2]) if tls else None
        server = {"tls_server_config": {"cert_file": str(tls[0]), "key_file": str(tls[1])}} if tls else {}
        (self.directory / "web.yml").write_text(json.dumps(server))
        scraped = "".join(f'- job_name: {name}\n  file_sd_configs: [{{files: ["{targets}"], refresh_interval: 1s}}]\n'
                          for name, targets in jobs.items())
        (self.directory / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
            f"rule_files: {json.dumps([str(path) for path in rules])}\nscrape_configs:\n{scraped}")

    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def start(self):
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.program, f"--config.file={self.directory}/prometheus.yml", f"--storage.tsdb.path={self.directory}/data",
                 f"--web.config.file={self.directory}/web.yml", f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log)
        wait_for("Prometheus to answer", self.is_ready)

    def is_ready(self):
        try:
            return urllib.request.urlopen(f"{self.url()}/-/ready", timeout=5, context=self.context).status == 200
        except OSError:
            return False

    def stop(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.process = None

    def ask(self, path, **parameters):
        """Returns the data of the answer. Raises AssertionError with the message of Prometheus if it rejects the request."""
        body = urllib.parse.urlencode(parameters).encode() or None
        try:
            with urllib.request.urlopen(f"{self.url()}/api/v1/{path}", data=body, timeout=20, context=self.context) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"Prometheus rejects {parameters}: {json.loads(error.read())['error']}") from None

    def now(self, expr):
        """Runs an instant query. Returns labels (as sorted pairs) -> value."""
        return {tuple(sorted(each["metric"].items())): float(each["value"][1]) for each in self.ask("query", query=expr)["result"]}
