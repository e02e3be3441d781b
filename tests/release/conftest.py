import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "deploy/release"))
sys.path.append(str(ROOT / "deploy/docker"))
