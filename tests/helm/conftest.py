import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("helm", "crds", "cluster")]

from control_plane import CRDS, ControlPlane

from api import Api
from chart import Helm

STRANGERS = TESTS / "helm/strangers.yaml"


@pytest.fixture(scope="session")
def control_plane():
    """With controllers: Deployments have pods, which stay Pending, and what lost its owner is deleted."""
    with ControlPlane(controllers=True, crds=(CRDS, STRANGERS)) as it:
        yield it


@pytest.fixture(scope="session")
def api(control_plane):
    it = Api(control_plane.url(), control_plane.tls)
    yield it
    it.close()


@pytest.fixture(scope="session")
def helm(control_plane):
    return Helm(control_plane)


@pytest.fixture(scope="session")
def namespaces(api):
    """Operators live in ops, fleets in vision; other is nobody's business. What runs in ops must be restricted."""
    for name in ("ops", "vision", "other"):
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
