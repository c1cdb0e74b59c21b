"""Converts Java's key stores to PEM texts for librdkafka.

PKCS12 is read directly. ``keytool`` converts JKS and JCEKS, which are Java's own formats. The first bytes of a file
reveal its format: keytool writes PKCS12 since Java 9, and Java reads both as "JKS" (``keystore.type.compat``).
Certificates are trusted by the rules of ``sun.security.util.TrustStoreUtil``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, PKCS12KeyAndCertificates, load_pkcs12
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509 import Certificate

from airflow_provider_connect_offsets.connect.storage.java.keytool import convert
from airflow_provider_connect_offsets.exceptions import InvalidInput

_JAVAS_OWN = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}
_PEM = b"-----BEGIN"


@dataclass(frozen=True, slots=True)
class KeyStore:
    """A key store of Java.

    Attributes:
        setting: The setting that names it, for messages.
        path: Its file.
        password: Its password; None if it has no password.
        key_password: Password of its keys; None if they have no password of their own.
    """

    setting: str
    path: Path
    password: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)

    def trusted_certificates(self) -> str:
        """Return the certificates in this trust store that Java trusts, as PEM.

        Raises:
            InvalidInput: The file can't be read, or has no certificate.
        """
        content = self._read()
        chain = _chain(content)
        entries = [entry for entry in content.additional_certs if not _is_of_chain(entry, chain)]
        certificates = [*chain[:1], *(entry.certificate for entry in entries)]
        if not certificates:
            raise InvalidInput(f"{self.setting}: {self.path} has no certificate. Import the certificate to trust.")
        return _pem(certificates)

    def own_certificate(self) -> tuple[str, str]:
        """Return the client's certificate, with its chain, and its decrypted key, as PEM.

        Raises:
            InvalidInput: The file can't be read, or has no private key.
        """
        content = self._read()
        if content.key is None or content.cert is None:
            raise InvalidInput(f"{self.setting}: {self.path} has no private key. Use the store with the client's key.")
        key = content.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        return _pem(_chain(content)), key

    def _read(self) -> PKCS12KeyAndCertificates:
        data = self._data()
        if (kind := _JAVAS_OWN.get(data[:4])) is not None:
            data, password = convert(self.path, kind, self.password, self.key_password, self.setting)
            return self._parse(data, password)
        if data.lstrip().startswith(_PEM):
            raise InvalidInput(
                f"{self.setting}: {self.path} is a PEM file. Set {self._name_sibling('type')} to PEM, and leave out "
                f"{self._name_sibling('password')}."
            )
        try:
            return self._parse(data, self.password or "")
        except UnsupportedAlgorithm:  # a cipher of old Java versions that OpenSSL no longer supports
            data, password = convert(self.path, "PKCS12", self.password, self.key_password, self.setting)
            return self._parse(data, password)

    def _name_sibling(self, name: str) -> str:
        """Return the name of another setting of the same store."""
        return f"{self.setting.rpartition(' ')[2].removesuffix('location')}{name}"

    def _data(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise InvalidInput(
                f"{self.setting}: {self.path} can't be read: {error.strerror}. "
                "A relative path starts at the working directory."
            ) from error

    def _parse(self, data: bytes, password: str) -> PKCS12KeyAndCertificates:
        try:
            with warnings.catch_warnings():  # ignore odd serial numbers of authorities
                warnings.simplefilter("ignore", CryptographyDeprecationWarning)
                return load_pkcs12(data, password.encode())
        except (ValueError, TypeError) as error:
            secret = self._name_sibling("password")
            raise InvalidInput(
                f"{self.setting}: {self.path} can't be opened. Either {secret} is wrong, or the file isn't a PKCS12, "
                "JKS or JCEKS store. Check it with keytool -list."
            ) from error


def _chain(content: PKCS12KeyAndCertificates) -> list[Certificate]:
    """Return the key's certificate, followed by the issuer of each, as TLS requires; a store has no order."""
    chain = [content.cert.certificate] if content.cert else []
    others = [entry.certificate for entry in content.additional_certs]
    while chain and (issuer := next((one for one in others if _is_issued_by(chain[-1], one)), None)):
        chain.append(issuer)
        others.remove(issuer)
    return chain


def _is_issued_by(certificate: Certificate, issuer: Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _is_of_chain(entry: PKCS12Certificate, chain: Iterable[Certificate]) -> bool:
    """Whether an entry is only part of the key's chain: Java names it by subject, and a trusted one by alias."""
    return entry.certificate in chain and b"=" in (entry.friendly_name or b"=")


def _pem(certificates: Iterable[Certificate]) -> str:
    return "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in certificates)
