"""The one mask: secrets in every shape go, and all else stays, in a time that is read."""

from __future__ import annotations

from base64 import b64encode

import pytest

from airflow_provider_connect_offsets.masking import MASK, mask_text, one_line

# The secret in each of them is hunter2, in whatever form.
SHAPES = {
    "s3://KEY:hunter2@bucket/a": f"s3://{MASK}@bucket/a",
    "s3://KEY:hun/ter2hunter2@bucket/a": f"s3://{MASK}@bucket/a",
    "https://me:p@hunter2@host:1/x": f"https://{MASK}@host:1/x",
    "sftp://hunter2@host/in": f"sftp://{MASK}@host/in",
    "'mongodb://u:hunter2@a:1,b:2/?x=1' failed": f"'mongodb://{MASK}@a:1,b:2/?x=1' failed",
    "abfss://c@a.dfs.core.windows.net/x?sv=1&sig=hunter2%3D&se=2": f"abfss://{MASK}@a.dfs.core.windows.net/x?sv=1&sig={MASK}&se=2",
    "https://b/x?X-Amz-Credential=hunter2%2F1&X-Amz-Signature=hunter2": f"https://b/x?X-Amz-Credential={MASK}&X-Amz-Signature={MASK}",
    "https://b/x?GoogleAccessId=me&Signature=hunter2": f"https://b/x?GoogleAccessId=me&Signature={MASK}",
    "jdbc:postgresql://db/orders?user=me&password=hunter2": f"jdbc:postgresql://db/orders?user=me&password={MASK}",
    "jdbc:sqlserver://db;user=sa;password=hunter2;encrypt=true": f"jdbc:sqlserver://db;user=sa;password={MASK};encrypt=true",
    "jdbc:oracle:thin:scott/hunter2@//db:1521/x": f"{MASK}@//db:1521/x",
    "jdbc:mysql://me:hunter2@db/orders": f"jdbc:mysql://{MASK}@db/orders",
    "AccountName=a;AccountKey=hunter2==;EndpointSuffix=b": f"AccountName=a;AccountKey={MASK};EndpointSuffix=b",
    "Endpoint=sb://h/;SharedAccessKey=hunter2": f"Endpoint=sb://h/;SharedAccessKey={MASK}",
    'required username="me" password="hunter2 two";': f'required username="me" password={MASK};',
    "required password='hunter2\\' two';": f"required password={MASK};",
    "Invalid value hunt for pwd=hunter2, user=me": f"Invalid value hunt for pwd={MASK}, user=me",
    "connection.password = hunter2": f"connection.password = {MASK}",
    '{"client_secret": "hunter2", "scope": "a"}': f'{{"client_secret": {MASK}, "scope": "a"}}',
    r"{\"api_key\": \"hunter2\"}": rf"{{\"api_key\": {MASK}}}",
    "{'password': 'hunter2'}": f"{{'password': {MASK}}}",
    "aws.secret.access.key=hunter2": f"aws.secret.access.key={MASK}",
    "CREATE USER me IDENTIFIED BY 'hunter2'": f"CREATE USER me IDENTIFIED BY {MASK}",
    "ALTER ROLE me PASSWORD 'hunter2'": f"ALTER ROLE me PASSWORD {MASK}",
    "CREATE LOGIN me WITH PASSWORD = N'hunter2'": f"CREATE LOGIN me WITH PASSWORD = {MASK}",
    "Authorization: Bearer hunter2hunter2.hunter2-hunter2": f"Authorization: Bearer {MASK}",
    f"Authorization: Basic {b64encode(b'admin:hunter2').decode()}": f"Authorization: Basic {MASK}",
    f"it echoes {b64encode(b'admin:hunter2!').decode().rstrip('=')} and more": f"it echoes {MASK} and more",
}
PLAIN = [
    "file:///home/ada@corp/a",
    "mail me@example.org",
    "hdfs://host/a",
    "hdfs://host:8020/a/run@7",
    "topics=orders,invoices",
    "${file:/secrets.properties:topic}",
    "(?:a|b):c.*",
    "signal.data.collection=inventory.signals",
    "Check login and password, or the token, of the connection.",
    "Can't get a token: the endpoint answers 401.",
    '{"sec":1700000000,"ord":1,"resume_token":"826551"}',
    "topic 'orders', partition 0, offset 42 of cluster MkU3OEVBNTcwNTJENDM2Qk",
    "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler",
    "It was Basic authentication that failed, and Bearer authentication-of-something.",
]


@pytest.mark.parametrize("text", SHAPES, ids=str)
def test_a_secret_is_masked(text: str) -> None:
    """It is masked in every shape."""
    assert mask_text(text) == SHAPES[text]
    assert "hunter2" not in mask_text(text)


@pytest.mark.parametrize("text", [*PLAIN, *SHAPES.values()], ids=str)
def test_what_is_none_stays(text: str) -> None:
    """So does what was masked before."""
    assert mask_text(text) == text


def test_a_text_of_another_system_stays_on_its_line() -> None:
    """It has no colours either."""
    assert one_line("a\r\nINFO b\x1b[31m\u2028c\x85d password=x") == f"a INFO b [31m c d password={MASK}"


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "part",
    [
        "a:",
        "a",
        ";a:",
        "=",
        "://",
        "a@",
        ":@",
        "password",
        "password=",
        'password="',
        "sig",
        "a=",
        "bearer ",
        "x.y-",
        "'",
        "\\",
    ],
)
def test_a_long_text_is_masked_as_fast_as_it_is_read(part: str) -> None:
    """Whatever a worker answers; a pattern that tries each beginning with each end takes minutes."""
    mask_text(part * 100_000 + "@host")
