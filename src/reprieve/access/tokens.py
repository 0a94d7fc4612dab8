"""Tokens: the one that the owner of a control plane has, and named ones for others, of which only digests are kept.

1. A token is 256 random bits, so that its SHA-256 digest need not be salted or slow.
2. To look a token up is to look up its digest: how long that takes says nothing about any token.
3. The file of named tokens may change while a control plane runs: what was revoked is refused from the next request.
"""

import hashlib
import hmac
import os
import secrets
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec

from reprieve.access.identities import OWNER, Identity
from reprieve.access.private_files import NotPrivate, private_directory, read_private, write_private
from reprieve.manifests.problems import ReprieveError
from reprieve.model.clock import timestamp
from reprieve.texts import access as texts

OWN_TOKEN, NAMED_TOKENS = "token", "tokens.json"
_PREFIX = "rpv_"


class UnusableTokens(ReprieveError):
    """The file of tokens cannot be read as one."""


class NamedToken(Identity, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """A token that was given to somebody, without the token itself."""

    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    created: str = ""

    @property
    def identity(self) -> Identity:
        return Identity(self.name, self.role, self.namespaces, self.max_priority)


def new_token() -> str:
    return _PREFIX + secrets.token_urlsafe(32)


def digest_of(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def own_token(directory: Path) -> str:
    """The owner's token in a directory; made when there is none."""
    private_directory(directory)
    file = directory / OWN_TOKEN
    found = (read_private(file) or b"").decode("ascii", "replace").strip()
    if is_token(found):
        return found
    made = new_token()
    write_private(file, f"{made}\n".encode())
    return made


def is_token(text: str) -> bool:
    """One word that a header can carry."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


class TokenFile:
    """Named tokens in a directory, as the owner keeps them."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAMED_TOKENS

    def read(self) -> list[NamedToken]:
        content = read_private(self.path)
        if not content:
            return []
        try:
            return msgspec.json.decode(content, type=list[NamedToken])
        except msgspec.DecodeError as error:
            raise UnusableTokens(texts.unusable_tokens(self.path, str(error))) from error

    def add(self, identity: Identity, now: datetime) -> str:
        """Make a token for somebody; the only time that it is seen."""
        known = self.read()
        if identity.name == OWNER.name or any(each.name == identity.name for each in known):
            raise UnusableTokens(texts.name_taken(identity.name))
        token = new_token()
        entry = NamedToken(
            identity.name,
            identity.role,
            identity.namespaces,
            identity.max_priority,
            sha256=digest_of(token).hex(),
            created=timestamp(now),
        )
        self._write([*known, entry])
        return token

    def remove(self, name: str) -> None:
        known = self.read()
        kept = [each for each in known if each.name != name]
        if len(kept) == len(known):
            raise UnusableTokens(texts.no_such_token(name, [each.name for each in known]))
        self._write(kept)

    def _write(self, tokens: list[NamedToken]) -> None:
        private_directory(self.path.parent)
        write_private(self.path, msgspec.json.format(msgspec.json.encode(tokens)) + b"\n")

    def version(self) -> tuple[int, ...]:
        """Another one whenever the file is another one."""
        try:
            found = os.stat(self.path)  # noqa: PTH116 - asked at every request
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_ino, found.st_size


class Tokens:
    """Whose a token is: one look at a digest."""

    def __init__(self, own: str = "", named: TokenFile | None = None) -> None:
        """`own` is the owner's; without any, nobody is asked for a token."""
        self._own = digest_of(own) if own else b""
        self._file = named
        self._version: tuple[int, ...] = ()
        self._known: dict[bytes, Identity] = {self._own: OWNER} if own else {}

    @property
    def wanted(self) -> bool:
        """Whether anybody has to have one."""
        return bool(self._own)

    def owner_of(self, token: str) -> Identity | None:
        """None: nobody has been given this token, or it was revoked."""
        if self._file is not None and (version := self._file.version()) != self._version:
            self._read_again(self._file, version)
        digest = digest_of(token)
        identity = self._known.get(digest)
        if identity is OWNER and not hmac.compare_digest(digest, self._own):
            return None
        return identity

    def _read_again(self, file: TokenFile, version: tuple[int, ...]) -> None:
        """A file that cannot be read lets nobody in but the owner."""
        try:
            named = file.read()
        except (OSError, UnusableTokens, NotPrivate):
            named = []
        self._version = version
        self._known = {bytes.fromhex(each.sha256): each.identity for each in named} | {self._own: OWNER}
