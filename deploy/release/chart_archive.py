"""The Helm chart as an archive that has the same bytes whenever it is made from the same commit."""

import gzip
import io
import pathlib
import subprocess
import tarfile
import tempfile

CHART = pathlib.Path(__file__).resolve().parents[2] / "helm/longshore"


def package(helm: pathlib.Path, version: str, epoch: int, output: pathlib.Path) -> None:
    """Writes OUTPUT/longshore-VERSION.tgz. `helm package` checks the chart, but stores the time of the call: the times are replaced."""
    with tempfile.TemporaryDirectory(prefix="longshore-chart-") as folder:
        made = subprocess.run([helm, "package", CHART, f"--version={version}", f"--app-version={version}", f"--destination={folder}"],
                              check=False, capture_output=True, text=True)
        if made.returncode != 0:
            raise SystemExit(f"release: helm package failed: {made.stderr.strip()}")
        name = f"longshore-{version}.tgz"
        (output / name).write_bytes(with_times((pathlib.Path(folder) / name).read_bytes(), epoch))


def with_times(archive: bytes, epoch: int) -> bytes:
    """The same files, sorted by name and all of the time `epoch` (seconds since 1970)."""
    buffer = io.BytesIO()
    with (tarfile.open(fileobj=io.BytesIO(archive)) as source,
          tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as target):
        # Helm reads the chart's name from Chart.yaml, wherever it is in the archive.
        for entry in sorted(source.getmembers(), key=lambda it: it.name):
            plain = tarfile.TarInfo(entry.name)
            plain.size, plain.mode, plain.mtime = entry.size, 0o644, epoch
            target.addfile(plain, source.extractfile(entry))
    return gzip.compress(buffer.getvalue(), compresslevel=9, mtime=0)
