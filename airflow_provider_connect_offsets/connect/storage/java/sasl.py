"""Maps the ``sasl.`` settings of Java's clients to librdkafka's. Sources: ``JaasContext``, the login modules."""

from __future__ import annotations

from airflow_provider_connect_offsets.connect.storage.java.jaas import Login, parse_jaas
from airflow_provider_connect_offsets.connect.storage.java.settings import Settings
from airflow_provider_connect_offsets.exceptions import InvalidInput

_SECURITY = "org.apache.kafka.common.security."
_PASSWORDS = {f"{_SECURITY}plain.PlainLoginModule", f"{_SECURITY}scram.ScramLoginModule"}
_TOKENS = {f"{_SECURITY}oauthbearer.OAuthBearerLoginModule"}
_TICKETS = {"com.sun.security.auth.module.Krb5LoginModule"}
_MODULES = {
    "PLAIN": _PASSWORDS,
    "SCRAM-SHA-256": _PASSWORDS,
    "SCRAM-SHA-512": _PASSWORDS,
    "OAUTHBEARER": _TOKENS,
    "GSSAPI": _TICKETS,
}
# Classes that fetch a token from sasl.oauthbearer.token.endpoint.url, as librdkafka's "oidc", in Kafka 3.x and 4.x.
_TOKEN_HANDLERS = {
    f"{_SECURITY}oauthbearer.OAuthBearerLoginCallbackHandler",
    f"{_SECURITY}oauthbearer.secured.OAuthBearerLoginCallbackHandler",
}
_TOKEN_RETRIEVERS = {
    f"{_SECURITY}oauthbearer.DefaultJwtRetriever",
    f"{_SECURITY}oauthbearer.ClientCredentialsJwtRetriever",
}


def sasl_settings(java: Settings) -> tuple[dict[str, str], list[str]]:
    """Return librdkafka's settings, and sentences about Java's settings that are not mapped.

    Raises:
        InvalidInput: The login needs Java: another mechanism or login module, a callback handler, or the system
            property ``java.security.auth.login.config`` in place of ``sasl.jaas.config``.
    """
    mechanism = java.get_nonempty("sasl.mechanism") or "GSSAPI"
    if mechanism not in _MODULES:
        raise java.refusal(
            f"sasl.mechanism is {mechanism}, but only {', '.join(_MODULES)} can be mapped to librdkafka."
        )
    _refuse_classes(java, mechanism)
    login = _login(java, mechanism)
    settings = {"sasl.mechanism": mechanism}
    match mechanism:
        case "OAUTHBEARER":
            return {**settings, **_oauth(java, login)}, _oauth_notes(login)
        case "GSSAPI":
            return {**settings, **_kerberos(java, login)}, []
        case _:
            return {**settings, **_password(java, login)}, []


def _refuse_classes(java: Settings, mechanism: str) -> None:
    """Refuse classes that change the login."""
    known = {
        "sasl.client.callback.handler.class": set(),
        "sasl.login.class": set(),
        "sasl.login.callback.handler.class": _TOKEN_HANDLERS if mechanism == "OAUTHBEARER" else set(),
        "sasl.oauthbearer.jwt.retriever.class": _TOKEN_RETRIEVERS,
    }
    for setting, classes in known.items():
        if (name := java.get_nonempty(setting)) and name not in classes:
            raise java.refusal(
                f"{setting} is the Java class {name}, which librdkafka can't run, so the login can't be mapped. "
                "Use a copy of the file with a login that does not need the class."
            )


def _login(java: Settings, mechanism: str) -> Login:
    config = java.require(
        "sasl.jaas.config",
        "but security.protocol requires SASL. If the worker reads its login from the file in the system property "
        "java.security.auth.login.config, use a copy of this properties file with sasl.jaas.config added",
    )
    try:
        login = parse_jaas(config)
    except InvalidInput as error:
        raise java.refusal(f"sasl.jaas.config can't be read: {error}.") from error
    if login.module not in _MODULES[mechanism]:
        raise java.refusal(
            f"sasl.jaas.config has the login module {login.module}, which can't be mapped to librdkafka for "
            f"{mechanism}. Supported: {', '.join(sorted(_MODULES[mechanism]))}."
        )
    return login


def _password(java: Settings, login: Login) -> dict[str, str]:
    if login.options.get("tokenauth", "").lower() == "true":
        raise java.refusal(
            "sasl.jaas.config logs in by a delegation token (tokenauth), which librdkafka does not support."
        )
    return {
        "sasl.username": _option(java, login, "username"),
        "sasl.password": _option(java, login, "password"),
    }


def _oauth(java: Settings, login: Login) -> dict[str, str]:
    """Return settings for a token by client credentials; settings override options of the login (KIP-1139)."""
    url = java.require(
        "sasl.oauthbearer.token.endpoint.url",
        "but librdkafka can only use tokens that it fetches from such a URL",
    )
    scope = java.get_nonempty("sasl.oauthbearer.scope") or login.options.get("scope")
    extensions = [
        f"{name.removeprefix('extension_')}={value}"
        for name, value in login.options.items()
        if name.startswith("extension_")
    ]
    credentials = "sasl.oauthbearer.client.credentials.client"
    return {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.oauthbearer.client.id": java.get_nonempty(f"{credentials}.id") or _option(java, login, "clientId"),
        "sasl.oauthbearer.client.secret": java.get_nonempty(f"{credentials}.secret")
        or _option(java, login, "clientSecret"),
        **({"sasl.oauthbearer.scope": scope} if scope else {}),
        **({"sasl.oauthbearer.extensions": ",".join(extensions)} if extensions else {}),
    }


def _oauth_notes(login: Login) -> list[str]:
    if not any(option.startswith("ssl.") for option in login.options):
        return []
    left_out = "The ssl options of sasl.jaas.config are not mapped to librdkafka"
    return [f"{left_out}: for the token endpoint it trusts the system's certificate authorities."]


def _kerberos(java: Settings, login: Login) -> dict[str, str]:
    service = java.get_nonempty("sasl.kerberos.service.name") or login.options.get("serviceName")
    if not service:
        raise java.refusal("Neither sasl.kerberos.service.name nor serviceName in sasl.jaas.config is set. Set one.")
    return {
        "sasl.kerberos.service.name": service,
        "sasl.kerberos.keytab": _option(java, login, "keyTab"),
        "sasl.kerberos.principal": _option(java, login, "principal"),
    }


def _option(java: Settings, login: Login, name: str) -> str:
    value = login.options.get(name)
    if not value:
        raise java.refusal(f"sasl.jaas.config has no option {name}, which librdkafka needs. Add it there.")
    return value
