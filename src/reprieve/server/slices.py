"""Long answers in slices: each is made when the one before has gone out, and in between others have their turn."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from reprieve.server.answers import JSON, Answer, Streamed, raw_answer
from reprieve.server.turns import Turns
from reprieve.stores.records import Record

AT_A_TIME = 250
"""Objects in one slice: a few milliseconds, also where rows of a table are made of them."""
_LARGE = 1 << 18
_Item = TypeVar("_Item")


def _size_of(record: Record) -> int:
    return len(record.raw)


def slices(items: Sequence[_Item], size: Callable[[_Item], int]) -> Iterator[Sequence[_Item]]:
    """Parts of a list, none of many items, nor of large ones together."""
    begin, held = 0, 0
    for place, item in enumerate(items):
        if place > begin and (place - begin >= AT_A_TIME or held >= _LARGE):
            yield items[begin:place]
            begin, held = place, 0
        held += size(item)
    if begin < len(items):
        yield items[begin:]


def list_answer(
    head: dict[str, Any],
    field: str,
    items: Sequence[Record],
    encoded: Callable[[Record], bytes],
    turns: Turns,
    headers: dict[str, str] | None = None,
) -> Answer:
    """An object with a list in it, which may be long; its items are encoded one by one."""
    begin = msgspec.json.encode(head)[:-1] + b',"' + field.encode() + b'":['
    if len(items) <= AT_A_TIME and sum(map(_size_of, items)) <= _LARGE:
        return raw_answer(begin + b",".join(map(encoded, items)) + b"]}", headers=headers)
    answer = Streamed(_parts(begin, items, encoded, turns), JSON)
    answer.headers.update(headers or {})
    return answer


async def _parts(
    begin: bytes, items: Sequence[Record], encoded: Callable[[Record], bytes], turns: Turns
) -> AsyncIterator[bytes]:
    separator = b""
    yield begin
    for some in slices(items, _size_of):
        await turns.next()
        yield separator + b",".join(map(encoded, some))
        separator = b","
    yield b"]}"
