"""A certificate authority for tests, and key stores made by Java's keytool."""

from __future__ import annotations

import ipaddress
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509.oid import NameOID

from sandbox.java import java

PASSWORD = "s3cret'of \"stores"


@dataclass(frozen=True)
class Certified:
    """A certificate, its key, and the certificates that lead to its root (the root left out)."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    between: tuple[x509.Certificate, ...] = ()

    @classmethod
    def root(cls, name: str) -> Certified:
        key = ec.generate_private_key(ec.SECP256R1())
        return cls(_signed(name, key, name, key, authority=True), key)

    def issue(
        self,
        name: str,
        *,
        authority: bool = False,
        between: tuple[x509.Certificate, ...] = (),
        expired: bool = False,
    ) -> Certified:
        key = ec.generate_private_key(ec.SECP256R1())
        until = datetime.now(UTC) + timedelta(hours=-1 if expired else 24)
        signed = _signed(name, key, _name(self.certificate), self.key, authority=authority, until=until)
        return Certified(signed, key, between)

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def chain_pem(self) -> str:
        return self.pem + "".join(one.public_bytes(Encoding.PEM).decode() for one in self.between)

    def key_pem(self, password: str | None = None) -> str:
        encryption: KeySerializationEncryption = (
            BestAvailableEncryption(password.encode()) if password else NoEncryption()
        )
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()

    def store(self, path: Path, kind: str = "PKCS12", *, key_password: str | None = None) -> Path:
        """A key store with this certificate, of any type that keytool writes; ``key_password`` protects the key."""
        pkcs12 = path if kind == "PKCS12" else path.with_suffix(".source")
        pkcs12.write_bytes(
            serialize_key_and_certificates(
                b"own", self.key, self.certificate, list(self.between), BestAvailableEncryption(PASSWORD.encode())
            )
        )
        if pkcs12 is not path:
            keytool(
                "-importkeystore -srcalias own -srcstoretype PKCS12 -noprompt",
                *("-srckeystore", str(pkcs12), "-srcstorepass", PASSWORD, "-destkeystore", str(path)),
                *("-deststoretype", kind, "-deststorepass", PASSWORD, "-destkeypass", key_password or PASSWORD),
            )
            pkcs12.unlink()
        return path

    def trusted_in(self, path: Path, kind: str = "PKCS12", *options: str) -> Path:
        """Add this certificate to a trust store."""
        pem = path.with_name(f"{_name(self.certificate)}.crt")
        pem.write_text(self.pem)
        keytool(
            f"-importcert -noprompt -storetype {kind}",
            *("-alias", _name(self.certificate), "-file", str(pem), "-keystore", str(path), "-storepass", PASSWORD),
            *options,
        )
        return path


def keytool(command: str, *arguments: str) -> None:
    """Run the JDK's keytool."""
    tool = java().with_name("keytool")
    subprocess.run([str(tool), *command.split(), *arguments], check=True, capture_output=True)


def _name(certificate: x509.Certificate) -> str:
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def _signed(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    signer: ec.EllipticCurvePrivateKey,
    *,
    authority: bool,
    until: datetime | None = None,
) -> x509.Certificate:
    now = datetime.now(UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(until or now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )
