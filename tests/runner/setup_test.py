"""What ./dev installs into its cache folder: the keys of the folders, and that a folder is made once and completely.

The installers are replaced by functions and scripts.
"""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROLOGUE = """
set -euo pipefail
say() { printf '== %s\\n' "$*" >&2; }
die() { exit 1; }
source cmake/setup.sh
setup_packages() { printf '%s\\n' "$@" >>"$CACHE/packages"; }
fill() { touch "$1/filled"; printf '%s\\n' "${@:2}" >>"$CACHE/calls"; }
"""


@pytest.fixture
def run(tmp_path: pathlib.Path):
    """Runs commands of bash after cmake/setup.sh, with an empty cache folder; returns the output."""
    def run_script(script: str, code: int = 0) -> str:
        done = subprocess.run(["bash", "-c", f"CACHE={tmp_path} JOBS=1{PROLOGUE}{script}"], cwd=ROOT, capture_output=True, text=True, check=False,
                              timeout=60)
        assert done.returncode == code, done.stderr
        return done.stdout

    return run_script


def test_a_folder_is_made_once(run, tmp_path: pathlib.Path):
    script = 'make_folder tools-1 "making tools" fill a b'
    assert run(script) == run(script) == f"{tmp_path}/tools-1"
    assert (tmp_path / "calls").read_text() == "a\nb\n"


def test_calls_at_the_same_time_make_a_folder_once(run, tmp_path: pathlib.Path):
    run('slow() { sleep 0.3; fill "$@"; }\nfor i in 1 2 3; do make_folder tools-1 "making tools" slow a & done; wait')
    assert (tmp_path / "calls").read_text() == "a\n"


def test_an_incomplete_folder_is_emptied_and_made_again(run, tmp_path: pathlib.Path):
    (tmp_path / "tools-1").mkdir()
    (tmp_path / "tools-1/half").touch()
    run('make_folder tools-1 "making tools" fill a')
    assert sorted(path.name for path in (tmp_path / "tools-1").iterdir()) == [".complete", ".lock", "filled"]


def test_a_folder_is_not_complete_if_a_step_fails(run, tmp_path: pathlib.Path):
    run('broken() { fill "$@"; return 3; }\nfolder="$(make_folder tools-1 "making tools" broken a)"\necho "$folder"', code=3)
    run('broken() { return 3; fill "$@"; }\nTOOL="$(make_python_folder tools "tools" broken /dev/null)/bin/tool"', code=3)
    assert (tmp_path / "tools-1/filled").exists() and not list(tmp_path.glob("tools-*/.complete"))


def test_the_key_of_python_packages_changes_with_the_lists_and_with_the_version_of_python(run, tmp_path: pathlib.Path):
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("a==1\n")
    second.write_text("b==1\n")
    key = 'make_python_folder venv "packages" fill '
    found = [run(f"{key}{first}"), run(f"{key}{second}"), run(f"{key}{first} {second}")]
    # A function may have the name of a path.
    found.append(run(f"/usr/bin/python3() {{ echo 3 99; }}\n{key}{first}"))
    first.write_text("a==2\n")
    found.append(run(f"{key}{first}"))
    assert len(set(found)) == 5 and all(it.startswith(f"{tmp_path}/venv-") for it in found)


def test_python3_venv_is_installed_before_a_virtual_environment_is_made(run, tmp_path: pathlib.Path):
    (tmp_path / "list.txt").touch()
    run(f'checked() {{ grep -qx python3-venv "$CACHE/packages"; }}\nmake_python_folder venv "packages" checked {tmp_path}/list.txt')


def test_a_virtual_environment_has_a_python(run, tmp_path: pathlib.Path):
    (tmp_path / "list.txt").touch()
    folder = run(f'make_python_folder venv "packages" fill_venv {tmp_path}/list.txt')
    assert subprocess.run([f"{folder}/bin/python", "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True).stdout == f"{folder}\n"


APT = """
apt-get() { for name in "${@:5}"; do touch "$name.deb"; done; echo apt >>"$CACHE/calls"; }
dpkg() { touch "$3/$(basename "$2" .deb)"; }
"""


def test_unpacked_packages_have_a_folder_for_their_names_and_a_link_to_it(run, tmp_path: pathlib.Path):
    (tmp_path / "containers").mkdir()  # An older ./dev made a folder.
    names = run(APT + 'setup_containers; setup_containers; printf "%s\\n" "${CONTAINER_PACKAGES[@]}"').splitlines()
    folder = (tmp_path / "containers").resolve()
    assert folder.name.startswith("containers-") and set(names) < {path.name for path in folder.iterdir()}
    assert (folder / "bin/iptables").is_symlink() and not (folder / "packages").exists()
    assert (tmp_path / "calls").read_text() == "apt\n"
    run(APT + "setup_prometheus")
    assert (tmp_path / "prometheus").resolve().name.startswith("prometheus-") and (tmp_path / "prometheus/prometheus").exists()


def test_other_names_of_packages_give_another_folder(run, tmp_path: pathlib.Path):
    for name in ("a", "b", "a"):
        run(APT + f'folder="$(make_folder "tools-$(key_of <<<{name})" unpacking fill_unpacked {name})"; link_folder tools "$folder"')
        assert (tmp_path / "tools" / name).exists()
    assert len(list(tmp_path.glob("tools-*"))) == 2
