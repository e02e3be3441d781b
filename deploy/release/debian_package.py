"""The Debian package of the programs."""

import datetime
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import man_page
import root

# The programs, each with the line that `apropos` shows. longshore-load is included because docs/operating.md sends load with it.
PROGRAMS = {
    "longshore": "look at models and fleets, and steer their rollouts",
    "longshore-controller": "run models on fleets of serving nodes",
    "longshore-load": "send requests to a serving node and keep a ledger of the answers",
    "longshore-model": "examine and run a TensorFlow SavedModel",
    "longshore-node": "serve TensorFlow models over gRPC and REST",
}
# The folder of libraries that no Debian package has: oneDNN.
PRIVATE_LIBRARIES = "/usr/lib/longshore"
PARTS = pathlib.Path(__file__).with_name("debian")
MAINTAINER = f"{os.environ.get('DEBFULLNAME', 'Longshore maintainers')} <{os.environ.get('DEBEMAIL', 'maintainers@longshore.dev')}>"
DESCRIPTION = """serving control plane for TensorFlow models
 A serving node answers prediction requests over the gRPC and REST APIs of
 TensorFlow Serving. A controller runs fleets of nodes and rolls new versions
 of models out step by step: it compares a new version with the old one, and
 promotes it or returns the traffic to the old one. A command line shows and
 steers the rollouts, and examines models.
 .
 The service longshore-node is installed, but not enabled."""


def build(programs: pathlib.Path, version: str, epoch: int, output: pathlib.Path) -> pathlib.Path:
    """Writes OUTPUT/longshore_VERSION_ARCHITECTURE.deb. `version` is Debian's form, `epoch` the time of all files.

    The same programs, version and epoch give the same bytes.
    """
    architecture = tool("dpkg", "--print-architecture").strip()
    path = output / f"longshore_{version}_{architecture}.deb"
    with tempfile.TemporaryDirectory(prefix="longshore-debian-") as folder:
        tree = pathlib.Path(folder) / "tree"
        private = install_programs(programs, tree)
        depends = dependencies_of(tree, pathlib.Path(folder) / "work", private)
        install_documents(programs, version, epoch, private, tree)
        write_control(tree, version, architecture, depends)
        set_times(tree, epoch)
        # One thread: how xz divides a file can depend on the number of processors.
        tool("dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zxz", "--build", tree, path, SOURCE_DATE_EPOCH=str(epoch))
    return path


def tool(*command: str | pathlib.Path, cwd: pathlib.Path | None = None, **environment: str) -> str:
    """Runs a program of Debian and returns its output; ends the release, with the program's message, if it fails."""
    if not shutil.which(command[0]):
        raise SystemExit(f"release: {command[0]} was not found: run ./dev setup release")
    ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, env={**os.environ, "LC_ALL": "C.UTF-8", **environment})
    if ran.returncode != 0:
        raise SystemExit(f"release: {' '.join(map(str, command[:2]))} failed: {ran.stderr.strip()}")
    return ran.stdout


def install_programs(programs: pathlib.Path, tree: pathlib.Path) -> list[pathlib.Path]:
    """Copies the stripped programs and the libraries that no Debian package has; returns the original paths of those libraries."""
    private = [pathlib.Path(library) for library in root.libraries_of([programs / name for name in PROGRAMS])
               if library != root.path_in_image(library)]
    names = {library.name for library in private}
    for library in private:
        target = tree / PRIVATE_LIBRARIES.lstrip("/") / library.name
        root.strip(library, target)
        target.chmod(0o644)
    for name in PROGRAMS:
        target = tree / "usr/bin" / name
        root.strip(programs / name, target)
        set_library_folder(target, names)
    (tree / "usr/bin/kubectl-longshore").symlink_to("longshore")
    return private


def set_library_folder(program: pathlib.Path, private: set[str]) -> None:
    """The compiler's cache folder is replaced in the program by the folder that the package installs."""
    if private & set(tool("patchelf", "--print-needed", program).split()):
        tool("patchelf", "--set-rpath", PRIVATE_LIBRARIES, program)
    else:
        tool("patchelf", "--remove-rpath", program)


def dependencies_of(tree: pathlib.Path, work: pathlib.Path, private: list[pathlib.Path]) -> str:
    """The packages, with the oldest versions that suffice, as dpkg-shlibdeps computes them from the symbols that the programs use."""
    (work / "debian").mkdir(parents=True)
    (work / "debian/control").write_text("Source: longshore\n\nPackage: longshore\nArchitecture: any\n")
    # A line without a package: the library is in this package.
    own = [library.name.split(".so.") for library in private]
    (work / "debian/shlibs.local").write_text("".join(f"{name} {version}\n" for name, version in own))
    (tree / "DEBIAN").mkdir()
    files = [path for folder in ("usr/bin", PRIVATE_LIBRARIES.lstrip("/")) for path in sorted((tree / folder).glob("*")) if not path.is_symlink()]
    text = tool("dpkg-shlibdeps", "-O", f"-l{tree}{PRIVATE_LIBRARIES}", *files, cwd=work)
    return text.strip().removeprefix("shlibs:Depends=")


def install_documents(programs: pathlib.Path, version: str, epoch: int, private: list[pathlib.Path], tree: pathlib.Path) -> None:
    documents = tree / "usr/share/doc/longshore"
    root.copy(PARTS / "copyright", documents / "copyright")
    root.copy(root.LICENSE.with_name("NOTICE"), documents / "NOTICE")
    for library in private:
        for name in ("LICENSE", "THIRD-PARTY-PROGRAMS"):
            for path in sorted((library.parent.parent / "share/doc").glob(f"*/{name}")):
                # Debian has the text of this licence in /usr/share/common-licenses.
                if name != "LICENSE" or "Apache License" not in path.read_text():
                    root.copy(path, documents / path.parent.name / name)
    date = datetime.datetime.fromtimestamp(epoch, datetime.UTC)
    entry = (f"longshore ({version}) stable; urgency=medium\n\n  * Release {version}.\n\n"
             f" -- {MAINTAINER}  {date:%a, %d %b %Y %H:%M:%S +0000}\n")
    write_gzip(documents / "changelog.gz", entry.encode())
    for name, about in PROGRAMS.items():
        page = tree / "usr/share/man/man1" / f"{name}.1"
        man_page.write(programs / name, about, version, date.date(), page)
        write_gzip(page.with_name(f"{name}.1.gz"), page.read_bytes())
        page.unlink()
    (tree / "usr/share/man/man1/kubectl-longshore.1.gz").symlink_to("longshore.1.gz")
    for unit in sorted(PARTS.glob("*.service")):
        root.copy(unit, tree / "lib/systemd/system" / unit.name)


def write_gzip(path: pathlib.Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content, compresslevel=9, mtime=0))


def write_control(tree: pathlib.Path, version: str, architecture: str, depends: str) -> None:
    files = [path for path in sorted(tree.rglob("*")) if path.is_file() and "DEBIAN" not in path.relative_to(tree).parts]
    kibibytes = sum(-(-path.stat().st_size // 1024) for path in files if not path.is_symlink())
    fields = {"Package": "longshore", "Version": version, "Architecture": architecture, "Maintainer": MAINTAINER,
              "Installed-Size": str(kibibytes), "Depends": depends, "Recommends": "ca-certificates", "Section": "science",
              "Priority": "optional", "Description": DESCRIPTION}
    (tree / "DEBIAN/control").write_text("".join(f"{name}: {value}\n" for name, value in fields.items()))
    sums = tool("md5sum", *(path.relative_to(tree) for path in files if not path.is_symlink()), cwd=tree)
    (tree / "DEBIAN/md5sums").write_text(re.sub(r"^\\", "", sums, flags=re.MULTILINE))


def set_times(tree: pathlib.Path, epoch: int) -> None:
    for path in [tree, *tree.rglob("*")]:
        os.utime(path, (epoch, epoch), follow_symlinks=False)
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
