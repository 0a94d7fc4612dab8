"""As much of Kubernetes' protobuf as `kubectl auth can-i` sends: there is no other way in which it asks.

A message is a row of fields, each a number and, as far as they are looked at here, bytes: text, or another message.
"""

from reprieve.stores.errors import BadRequest
from reprieve.texts import server as texts

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
_BYTES = 2
_SKIPPED = {1: 8, 5: 4}


def enveloped(content: bytes) -> bytes:
    """What is in the envelope that Kubernetes sends objects in."""
    if not content.startswith(_MAGIC):
        raise BadRequest(texts.malformed("no protobuf of Kubernetes"))
    return fields(content[len(_MAGIC) :]).get(2, b"")


def fields(message: bytes) -> dict[int, bytes]:
    """The fields of a message that are bytes, by number; the last one of a number counts."""
    found: dict[int, bytes] = {}
    place = 0
    while place < len(message):
        key, place = _number(message, place)
        kind, length = key & 7, 0
        if kind == _BYTES:
            length, place = _number(message, place)
            found[key >> 3] = message[place : place + length]
        elif kind == 0:
            _, place = _number(message, place)
        elif kind in _SKIPPED:
            length = _SKIPPED[kind]
        else:
            raise BadRequest(texts.malformed("no protobuf of Kubernetes"))
        place += length
    return found


def _number(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(message) and shift < 64:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if not byte & 0x80:
            return value, place
    raise BadRequest(texts.malformed("no protobuf of Kubernetes"))
