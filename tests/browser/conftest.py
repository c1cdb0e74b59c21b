"""``make up`` and a browser, the only parts that these tests use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.airflow.airflow_ui import AirflowUi, chromium_page
from tests.support.airflow.make_up import Playing, make_up

PICTURES = Path("build/browser").absolute()


@pytest.fixture(scope="session")
def playing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playing]:
    """``make up``, as in the README."""
    with make_up(tmp_path_factory.mktemp("play")) as started:
        yield started


@pytest.fixture
def ui(playing: Playing, request: pytest.FixtureRequest) -> Iterator[AirflowUi]:
    """Airflow's UI in a browser of its own; what it shows at the end of the test is kept."""
    with chromium_page() as page:
        airflow = playing.airflow
        opened = AirflowUi(page, airflow.url, PICTURES, airflow.login)
        assert airflow.login is not None
        opened.sign_in(airflow.login)
        yield opened
        opened.picture(f"last-{request.node.name}")
