import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("helm", "crds", "cluster")]

from control_plane import CRDS, ControlPlane

from api import Api
from chart import Helm

THIRD_PARTY_CRDS = TESTS / "helm/third_party_crds.yaml"


@pytest.fixture(scope="session")
def control_plane():
    """With controllers: Deployments get pods, which stay Pending, and objects without an owner are deleted."""
    with ControlPlane(controllers=True, crds=(CRDS, THIRD_PARTY_CRDS)) as server:
        yield server


@pytest.fixture(scope="session")
def api(control_plane):
    client = Api(control_plane.url(), control_plane.tls)
    yield client
    client.close()


@pytest.fixture(scope="session")
def helm(control_plane):
    return Helm(control_plane)


@pytest.fixture(scope="session")
def namespaces(api):
    """Namespaces: ops for operators, vision for fleets, and other, which is not used. All enforce the restricted pod standard."""
    for name in ("ops", "vision", "other"):
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
