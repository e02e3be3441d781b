"""The archive of the chart does not depend on the time of its build."""

import gzip
import io
import tarfile

import chart_archive


def archive(*files: tuple[str, bytes], time: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as target:
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), time
            target.addfile(entry, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=time)


def test_the_same_files_with_other_times_give_the_same_bytes():
    first, second = ("longshore/Chart.yaml", b"name: longshore\n"), ("longshore/values.yaml", b"{}\n")
    made = chart_archive.with_times(archive(first, second, time=1), 1000)
    assert made == chart_archive.with_times(archive(second, first, time=2), 1000)
    with tarfile.open(fileobj=io.BytesIO(made)) as read:
        entries = [(entry.name, entry.mtime, read.extractfile(entry).read()) for entry in read]
    assert entries == [(first[0], 1000, first[1]), (second[0], 1000, second[1])]
