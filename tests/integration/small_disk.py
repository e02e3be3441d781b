"""A small file system in a folder of a test, which can be filled. Needs the right to mount."""

import subprocess


def mount(test, folder, size):
    """Mounts an empty tmpfs of this size until the test ends. Skips the test where that is not possible."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode != 0:
        test.skipTest("a small file system cannot be mounted here: " + mounted.stderr.decode().strip())
    test.addCleanup(subprocess.run, ["umount", "--lazy", folder], check=True)


def fill(folder):
    """Takes all room by the file "filler". To delete the file makes room again."""
    with open(folder / "filler", "wb", buffering=0) as filler:
        try:
            while True:
                filler.write(b"x" * 4096)
        except OSError:
            pass
