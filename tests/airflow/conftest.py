"""Airflow's API server in this process, with a browser and tokens for it; and a flow of MirrorMaker 2."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from sandbox import Sandbox
from tests.support.flows.failing_over import Flowing

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.testclient import TestClient


@pytest.fixture(autouse=True)
def _planted(planted: None) -> None:
    """No run of a DAG shows what connectors keep for themselves."""
    del planted


@pytest.fixture
def flowing(sandbox: Sandbox) -> Iterator[Flowing]:
    """A flow that has caught up after a rewind."""
    started = Flowing.start(sandbox)
    started.live_through(40, rewind_to=25, more=10)
    yield started
    started.close()


@pytest.fixture(scope="session")
def api_server(_airflow_database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """Airflow's app, as the API server runs it, with plugins found as they are found there."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Airflow warns itself of is not ours to mend
        from airflow.api_fastapi.app import create_app, purge_cached_app
        from airflow.models.dag import DagModel
        from airflow.models.dagbundle import DagBundleModel
        from airflow.utils.session import create_session

        home = tmp_path_factory.mktemp("passwords")
        patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE", str(home / "passwords.json"))
        patch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "tests.support.airflow.per_dag_access.PerDagAuthManager")
        purge_cached_app()
        app = create_app()
        with create_session() as session:
            session.merge(DagBundleModel(name="ready"))
            session.flush()
            for dag_id in ("reports_of_one", "reports_of_another"):
                session.merge(DagModel(dag_id=dag_id, bundle_name="ready", fileloc="a.py"))  # type: ignore[no-untyped-call]
    yield app
    purge_cached_app()


@pytest.fixture
def browser(api_server: FastAPI, workspace: str) -> Iterator[TestClient]:
    """A browser in which nobody has signed in."""
    del workspace
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from fastapi.testclient import TestClient

        yield TestClient(api_server, base_url="http://localhost", follow_redirects=False)


@pytest.fixture
def token_of(api_server: FastAPI) -> Callable[..., str]:
    """The token that Airflow gives a user when they sign in."""
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    def token(username: str = "somebody", role: str | None = "viewer") -> str:
        return str(api_server.state.auth_manager.generate_jwt(SimpleAuthManagerUser(username=username, role=role)))

    return token
