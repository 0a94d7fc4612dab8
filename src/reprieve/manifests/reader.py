"""How a type is read, and what it becomes."""

from functools import cached_property
from typing import Any

import msgspec

from reprieve.manifests.meta import decode_custom
from reprieve.model.resources import exact_number


class Reader:
    """How one kind in one version is read: the type it is written in and, from there, the type it becomes."""

    def __init__(self, api_version: str, kind: str, written: type[Any]) -> None:
        self.api_version = api_version
        self.kind = kind
        self.written = written

    @cached_property
    def json(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self.written, dec_hook=decode_custom, float_hook=exact_number)

    def convert(self, data: Any) -> Any:
        return msgspec.convert(data, self.written, dec_hook=decode_custom)

    def internal(self, written: Any) -> Any:
        convert = getattr(written, "internal", None)
        return written if convert is None else convert()
