import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "cluster")]

from api import Api


@pytest.fixture(scope="session")
def control_plane(plain_control_plane):
    return plain_control_plane


@pytest.fixture(scope="session")
def api(control_plane):
    client = Api(control_plane.url(), control_plane.tls)
    yield client
    client.close()
