import numpy as np
import pytest

from hetcal.artifacts.artifact import open_artifact
from tests.watch.streams import artifact_of, draw_rows


@pytest.fixture(scope="session")
def of_run():
    return draw_rows(8_000, np.random.default_rng(1))


@pytest.fixture(scope="session")
def tree_bytes(of_run):
    return artifact_of(of_run)


@pytest.fixture(scope="session")
def curves_bytes(of_run):
    return artifact_of(of_run, "additive")


@pytest.fixture(scope="session")
def tree(tree_bytes, tmp_path_factory):
    return open_artifact(tree_bytes, tmp_path_factory.mktemp("tree"))


@pytest.fixture(scope="session")
def curves(curves_bytes, tmp_path_factory):
    return open_artifact(curves_bytes, tmp_path_factory.mktemp("curves"))
