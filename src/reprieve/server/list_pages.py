"""Long lists in parts that belong together: what is left of a list is kept until it is asked for, or for so long."""

import base64
import secrets
from collections import OrderedDict
from typing import NamedTuple

import msgspec

from reprieve.stores.errors import BadRequest, Expired
from reprieve.stores.records import Listing, Record
from reprieve.texts import server as texts

_MOST_KEPT = 32


class Token(msgspec.Struct, frozen=True):
    """What `continue` carries. Without a list it means: as things are now, from there on."""

    version: int
    namespace: str
    name: str
    kept: str = ""

    def encode(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


class ContinueExpired(Expired):
    """The rest of a list is no longer kept; says how to go on all the same."""

    def __init__(self, token: Token) -> None:
        super().__init__(texts.CONTINUE_EXPIRED)
        self.token = token

    def status(self) -> dict[str, object]:
        again = msgspec.structs.replace(self.token, kept="").encode()
        return {**super().status(), "metadata": {"continue": again}}


class ListPart(NamedTuple):
    records: list[Record]
    version: int
    token: str
    left: int


class ListPages:
    """The rests of lists, the youngest few of them. Records never change, so that keeping one costs a reference."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Listing] = OrderedDict()

    def first(self, listing: Listing, limit: int) -> ListPart:
        """The first part of a list; what is left is kept."""
        records, rest = listing.records[:limit], listing.records[limit:]
        if not rest:
            return ListPart(records, listing.version, "", 0)
        identity = secrets.token_urlsafe(12)
        self._kept[identity] = Listing(rest, listing.version)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        last = records[-1]
        token = Token(listing.version, last.namespace, last.name, identity)
        return ListPart(records, listing.version, token.encode(), len(rest))

    def rest(self, token: Token) -> Listing | None:
        """What is left of a list. It stays: a client whose answer was lost may ask again. None: begin from now."""
        if not token.kept:
            return None
        kept = self._kept.get(token.kept)
        if kept is None:
            raise ContinueExpired(token)
        self._kept.move_to_end(token.kept)
        return kept


def read_token(text: str) -> Token:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Token)
    except (ValueError, msgspec.DecodeError) as error:
        raise BadRequest(texts.BAD_CONTINUE) from error


def after(listing: Listing, token: Token) -> Listing:
    """What comes after the place where a list was left."""
    place = (token.namespace, token.name)
    return Listing([record for record in listing.records if record.key > place], listing.version)
