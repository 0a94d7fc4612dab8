"""Certificates as a cluster has them: an authority, servers on loopback, and users by name and groups."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFE = dt.timedelta(days=2)
# Clocks of a moment ago still accept it.
_LEEWAY = dt.timedelta(hours=1)
_LOOPBACK = (x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1")))


class Certificate(NamedTuple):
    """Where a certificate and its key are."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates, in a folder of its own."""

    def __init__(self, directory: Path, name: str) -> None:
        directory.mkdir(parents=True)
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject(name)
        itself = _begin(self._name, self._name, self._key.public_key())
        itself = itself.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        itself = itself.add_extension(_usage(signs=True), critical=True)
        self.certificate = directory / "ca.crt"
        self.certificate.write_bytes(_pem(itself.sign(self._key, hashes.SHA256())))

    def issue(self, name: str, groups: Sequence[str] = ()) -> Certificate:
        """For somebody called so, of these groups, as Kubernetes reads it; good for a server on loopback, too."""
        key = new_key(self._directory / f"{_file_name(name, groups)}.key")
        both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH])
        issued = (
            _begin(_subject(name, groups), self._name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(both, critical=False)
            .add_extension(x509.SubjectAlternativeName(_LOOPBACK), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        place = self._directory / f"{_file_name(name, groups)}.crt"
        place.write_bytes(_pem(issued))
        return Certificate(place, place.with_suffix(".key"))


def new_key(place: Path) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    form = serialization.PrivateFormat.TraditionalOpenSSL
    place.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    place.chmod(0o600)
    return key


def _begin(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LEEWAY)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _subject(name: str, groups: Sequence[str] = ()) -> x509.Name:
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not signs,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _file_name(name: str, groups: Sequence[str]) -> str:
    return "+".join([name, *groups]).replace(":", "-").replace("/", "-")
