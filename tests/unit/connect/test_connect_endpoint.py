"""An endpoint is checked when it is created, and never shows its secrets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_connect_offsets.connect.rest.endpoint import (
    Auth,
    BasicAuth,
    BearerToken,
    ConnectEndpoint,
    OAuthClient,
    without_secrets,
)
from airflow_provider_connect_offsets.exceptions import InvalidInput


@pytest.mark.parametrize(
    "auth", [BasicAuth("me", "s3cret"), BearerToken("s3cret"), OAuthClient("http://idp/token", "id", "s3cret"), None]
)
def test_secrets_are_not_in_the_repr(auth: BasicAuth | BearerToken | OAuthClient | None) -> None:
    """A log or a traceback that shows an endpoint shows no credential."""
    endpoint = ConnectEndpoint(("http://c:8083",), auth=auth, headers={"X-Key": "s3cret"})

    assert "s3cret" not in repr(endpoint)
    assert "http://c:8083" in repr(endpoint)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "connect:8083",
        "ftp://connect:8083",
        "http://",
        "http://:8083",
        "http://connect:port",
        "http://connect:99999",
        "http://[::1",
        "http://connect:8083/?a=b",
        "http://connect:8083/#x",
        "http://me:s3cret@connect:8083",
    ],
)
def test_a_url_that_cannot_work_is_refused(url: str) -> None:
    """At once, and without parts of it that may be a password."""
    with pytest.raises(InvalidInput) as caught:
        ConnectEndpoint((url,))

    assert "s3cret" not in str(caught.value)


def test_urls_are_normalised() -> None:
    """A slash at the end makes no difference."""
    assert ConnectEndpoint(("https://c/connect/", "http://[::1]:8083")).urls == (
        "https://c/connect",
        "http://[::1]:8083",
    )


def test_other_mistakes_are_refused() -> None:
    """No worker, a key without its certificate, no time to wait, headers of several lines."""
    with pytest.raises(InvalidInput, match="at least one worker"):
        ConnectEndpoint(())
    with pytest.raises(InvalidInput, match="client_cert"):
        ConnectEndpoint(("http://c:8083",), client_key="/key")
    with pytest.raises(InvalidInput, match="Timeouts"):
        ConnectEndpoint(("http://c:8083",), connect_timeout=0)
    with pytest.raises(InvalidInput, match="'X-A'") as caught:
        ConnectEndpoint(("http://c:8083",), headers={"X-A": "s3cret\r\nX-B: b"})
    assert "s3cret" not in str(caught.value)


def test_a_change_is_waited_for_longer_than_the_worker_waits() -> None:
    """A worker ends a change after 90 s; the default timeout is longer."""
    assert ConnectEndpoint(("http://c:8083",)).change_timeout > 90


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://u:p@h:1/x?t=1#f", "http://h:1/x"),
        ("u:p@h:1", "h:1"),
        ("http://h", "http://h"),
        ("http://u:p@ss@h/x", "http://h/x"),
    ],
)
def test_urls_are_shown_without_secrets(url: str, shown: str) -> None:
    """Login, password, query and fragment are left out."""
    assert without_secrets(url) == shown


LOGIN = BasicAuth("me", "s3cret")


@pytest.mark.parametrize(
    ("configured", "urls", "called"),
    [
        (("http://c:8083",), ("http://c:9999/x", "http://d:8083"), ("http://c:9999/x",)),
        (("http://C:8083",), ("http://c:8083",), ("http://c:8083",)),
        (("http://c:8083",), ("https://c:8083",), ("https://c:8083",)),
        (("https://c:8083", "http://d"), ("http://c:8083", "http://d"), ("http://d",)),
        (("http://[::1]:8083",), ("http://[::1]:1",), ("http://[::1]:1",)),
    ],
)
def test_a_login_goes_to_configured_hosts_only(
    configured: tuple[str, ...], urls: tuple[str, ...], called: tuple[str, ...]
) -> None:
    """Of the addresses read from Kafka only configured ones are called."""
    endpoint = ConnectEndpoint(configured, auth=LOGIN, headers={"X-Key": "s3cret"})

    assert endpoint.at(urls, configured=configured) == replace(endpoint, urls=called)


@pytest.mark.parametrize(
    ("configured", "urls"),
    [
        ((), ("http://c:8083",)),
        (("http://c:8083",), ("http://d:8083", "http://c.d:8083", "http://xc:8083")),
        (("https://c:8083",), ("http://c:8083",)),
    ],
)
@pytest.mark.parametrize("auth", [LOGIN, BearerToken("s3cret"), OAuthClient("http://idp/token", "id", "s3cret"), None])
def test_other_hosts_get_no_login(
    auth: Auth | None, configured: tuple[str, ...], urls: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """Anyone with write access to the group could name an address, and http reveals a login."""
    endpoint = ConnectEndpoint(urls, auth=auth, headers={"X-Key": "s3cret"}, ca="/ca.pem")

    bare = endpoint.at(urls, configured=configured)

    assert bare == ConnectEndpoint(urls, ca="/ca.pem")
    assert f"not sent to {urls[0]}" in caplog.text
    assert "s3cret" not in caplog.text


def test_without_a_login_all_addresses_are_tried(caplog: pytest.LogCaptureFixture) -> None:
    """There is no secret to protect."""
    urls = ("http://c:8083", "http://d:8083")

    assert ConnectEndpoint(urls).at(urls, configured=("http://c:8083",)) == ConnectEndpoint(urls)
    assert caplog.text == ""
