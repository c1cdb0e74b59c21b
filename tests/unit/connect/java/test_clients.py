"""Java's connection settings, mapped to librdkafka's."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from airflow_provider_connect_offsets.connect.storage.java.clients import ClientSettings, client_settings
from airflow_provider_connect_offsets.connect.storage.java.settings import Settings
from airflow_provider_connect_offsets.exceptions import InvalidInput
from tests.support.programs.authority import PASSWORD, Certified

SECURITY = "org.apache.kafka.common.security"
TLS = {"security.protocol": "SSL"}
PLAIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f'{SECURITY}.plain.PlainLoginModule required username="me" password="s3cret";',
}
TOKENS = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
    "sasl.login.callback.handler.class": f"{SECURITY}.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
    "sasl.jaas.config": f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required"
    " clientId='id' clientSecret='s3cret' scope='all of it' extension_logicalCluster='lkc' extension_pool='p';",
}
TICKETS = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.kerberos.service.name": "kafka",
    "sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
    ' keyTab="/etc/c.keytab" principal="c@EXAMPLE.COM";',
}
INLINE = {**TLS, "ssl.keystore.type": "PEM"}


def mapped(settings: dict[str, str]) -> ClientSettings:
    return client_settings(Settings({"bootstrap.servers": "a:1", **settings}, "worker.properties"))


def refusal(settings: dict[str, str]) -> str:
    with pytest.raises(InvalidInput, match=r"^worker\.properties: ") as caught:
        mapped(settings)
    assert "s3cret" not in str(caught.value)
    return str(caught.value)


def test_without_security_it_is_the_brokers_alone() -> None:
    """All other settings of a worker are ignored."""
    java = {
        "bootstrap.servers": " a:1 , SSL://b:2,[::1]:3",
        "client.id": "c",
        "ssl.cipher.suites": "x",
        "group.id": "g",
    }

    assert mapped(java) == ClientSettings({"bootstrap.servers": "a:1,b:2,[::1]:3", "security.protocol": "PLAINTEXT"})


@pytest.mark.parametrize(
    ("java", "expected"),
    [
        (PLAIN, {"sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "s3cret"}),
        (
            {**PLAIN, "sasl.mechanism": "SCRAM-SHA-256"},
            {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "me", "sasl.password": "s3cret"},
        ),
        (
            TOKENS,
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
                "sasl.oauthbearer.client.id": "id",
                "sasl.oauthbearer.client.secret": "s3cret",
                "sasl.oauthbearer.scope": "all of it",
                "sasl.oauthbearer.extensions": "logicalCluster=lkc,pool=p",
            },
        ),
        (
            TICKETS,
            {
                "sasl.mechanism": "GSSAPI",
                "sasl.kerberos.service.name": "kafka",
                "sasl.kerberos.keytab": "/etc/c.keytab",
                "sasl.kerberos.principal": "c@EXAMPLE.COM",
            },
        ),
    ],
    ids=["plain", "scram", "oauth", "kerberos"],
)
def test_logins_are_mapped(java: dict[str, str], expected: dict[str, str]) -> None:
    """Each mechanism has librdkafka's settings, and the repr shows none of them."""
    result = mapped(java)

    assert result.settings == {"bootstrap.servers": "a:1", "security.protocol": "SASL_PLAINTEXT", **expected}
    assert result.notes == ()
    assert "s3cret" not in repr(result)


@pytest.mark.parametrize("java", [PLAIN, TOKENS], ids=["plain", "oauth"])
def test_librdkafka_takes_them(java: dict[str, str]) -> None:
    """Every name is one of its settings."""
    assert AdminClient({**mapped(java).settings, "log_level": 0}) is not None


def test_credentials_of_kafka_4_go_before_those_of_the_login_module() -> None:
    """Since KIP-1139 they are separate settings."""
    credentials = "sasl.oauthbearer.client.credentials.client"
    java = {**TOKENS, f"{credentials}.id": "new", f"{credentials}.secret": "newer", "sasl.oauthbearer.scope": "newest"}

    result = mapped(java).settings

    assert [result[f"sasl.oauthbearer.{name}"] for name in ("client.id", "client.secret", "scope")] == [
        "new",
        "newer",
        "newest",
    ]


def test_host_names_are_checked_unless_the_file_says_otherwise() -> None:
    """Unset means https, empty means none; Java's other values can't be mapped."""
    name = "ssl.endpoint.identification.algorithm"

    assert [mapped({**TLS, **java}).settings[name] for java in ({}, {name: ""}, {name: "HTTPS"})] == [
        "https",
        "none",
        "https",
    ]
    assert "only https" in refusal({**TLS, name: "LDAPS"})


def test_what_only_narrows_is_noted() -> None:
    """It prevents nothing; a missing trust store is noted too."""
    notes = mapped({**TLS, "ssl.cipher.suites": "x", "ssl.enabled.protocols": "TLSv1.3"}).notes

    assert [note.split(":")[0] for note in notes] == [
        "ssl.cipher.suites is not mapped to librdkafka",
        "ssl.enabled.protocols is not mapped to librdkafka",
        "ssl.truststore is not set",
    ]


def test_tls_of_a_token_endpoint_is_noted() -> None:
    """Java has these settings among the options of the login module."""
    config = TOKENS["sasl.jaas.config"].replace(";", ' ssl.truststore.location="/x";')

    assert "ssl options of sasl.jaas.config" in mapped({**TOKENS, "sasl.jaas.config": config}).notes[0]


@pytest.mark.parametrize(
    ("java", "reason"),
    [
        ({"bootstrap.servers": " , "}, "bootstrap.servers is not set"),
        ({"security.protocol": "TLS"}, "security.protocol is 'TLS', but must be one of PLAINTEXT"),
        ({**TLS, "security.providers": "a.B"}, "security.providers names Java classes"),
        ({**TLS, "ssl.engine.factory.class": "a.B"}, "ssl.engine.factory.class names a Java class"),
        ({**PLAIN, "sasl.mechanism": "AWS_MSK_IAM"}, "sasl.mechanism is AWS_MSK_IAM"),
        (
            {**PLAIN, "sasl.client.callback.handler.class": "a.B"},
            "sasl.client.callback.handler.class is the Java class a.B",
        ),
        (
            {**PLAIN, "sasl.login.callback.handler.class": "a.B"},
            "sasl.login.callback.handler.class is the Java class a.B",
        ),
        (
            {**TOKENS, "sasl.login.callback.handler.class": "a.B"},
            "sasl.login.callback.handler.class is the Java class a.B",
        ),
        (
            {**TOKENS, "sasl.oauthbearer.jwt.retriever.class": "a.B"},
            "sasl.oauthbearer.jwt.retriever.class is the Java class a.B",
        ),
        ({**PLAIN, "sasl.login.class": "a.B"}, "sasl.login.class is the Java class a.B"),
        ({**PLAIN, "sasl.jaas.config": ""}, "java.security.auth.login.config"),
        ({**PLAIN, "sasl.jaas.config": "a.B required password=s3cret;"}, "the login module a.B"),
        ({**PLAIN, "sasl.jaas.config": "s3cret"}, "sasl.jaas.config can't be read"),
        ({**PLAIN, "sasl.mechanism": "GSSAPI"}, "can't be mapped to librdkafka for GSSAPI"),
        (
            {**PLAIN, "sasl.jaas.config": f"{SECURITY}.scram.ScramLoginModule required tokenauth=true;"},
            "delegation token",
        ),
        ({**PLAIN, "sasl.jaas.config": f"{SECURITY}.plain.PlainLoginModule required;"}, "no option username"),
        ({**TOKENS, "sasl.oauthbearer.token.endpoint.url": ""}, "sasl.oauthbearer.token.endpoint.url is not set"),
        ({**TICKETS, "sasl.kerberos.service.name": ""}, "Neither sasl.kerberos.service.name nor"),
        ({**TLS, "ssl.truststore.type": "BCFKS"}, "ssl.truststore.type is BCFKS"),
        ({**TLS, "ssl.truststore.certificates": "x"}, "ssl.truststore.certificates needs ssl.truststore.type=PEM"),
        ({**INLINE, "ssl.keystore.key": "x"}, "are both needed"),
        ({**INLINE, "ssl.keystore.certificate.chain": "x", "ssl.keystore.location": "y"}, "exclude each other"),
        ({**INLINE, "ssl.keystore.location": "x", "ssl.keystore.password": "s3cret"}, "can't be set for the type PEM"),
        ({**INLINE, "ssl.keystore.location": "/none"}, "ssl.keystore.location: /none can't be read"),
        ({**INLINE, "ssl.keystore.key": "s3cret", "ssl.keystore.certificate.chain": "s3cret"}, "has no certificate"),
        ({**TLS, "ssl.keystore.location": "/x"}, "ssl.keystore.password is not set"),
    ],
)
def test_what_cannot_be_mapped_is_reported(java: dict[str, str], reason: str) -> None:
    """The error names file and setting, and shows no secret."""
    assert reason in refusal(java)


def test_an_inline_key_must_be_one_and_its_password_known() -> None:
    """The same holds in Java."""
    own = Certified.root("own")
    java = {**INLINE, "ssl.keystore.certificate.chain": own.pem}

    assert mapped({**java, "ssl.keystore.key": own.key_pem()}).settings["ssl.key.pem"] == own.key_pem()
    assert "but has 2" in refusal({**java, "ssl.keystore.key": own.key_pem() * 2})
    assert "ssl.key.password is not set" in refusal({**java, "ssl.keystore.key": own.key_pem("x")})


def test_an_empty_trust_store_is_reported(tmp_path: Path) -> None:
    """It would trust no server."""
    path = Certified.root("root").trusted_in(tmp_path / "trust")
    java = {**TLS, "ssl.truststore.location": str(path), "ssl.truststore.password": PASSWORD}

    assert mapped(java).settings["ssl.ca.pem"].count("BEGIN") == 1
    path.write_bytes(b"")
    assert "can't be opened" in refusal(java)
