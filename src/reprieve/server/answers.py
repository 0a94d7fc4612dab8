"""What goes back, and in which form: JSON, bytes as they are kept, and errors as every Kubernetes client reads them."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from reprieve.stores.errors import MethodNotAllowed, StoreError, Unauthorized
from reprieve.texts import server as texts

JSON = "application/json"
MOST_WARNINGS = 20
STALLED_SECONDS = 60.0


class NotAcceptable(StoreError):
    code, reason = 406, "NotAcceptable"


class Timeout(StoreError):
    code, reason = 504, "Timeout"


class RequestTimeout(StoreError):
    code, reason = 408, "Timeout"


class InternalError(StoreError):
    code, reason = 500, "InternalError"


class WrongMethod(MethodNotAllowed):
    """Not with this method; says with which."""

    def __init__(self, method: str, allowed: Iterable[str]) -> None:
        super().__init__(texts.method_not_allowed(method))
        self.allowed = tuple(allowed)


class Streamed(StreamingResponse):
    """An answer that is sent as it is made, in the media type that it says itself."""

    def __init__(self, content: AsyncIterator[bytes], media_type: str) -> None:
        super().__init__(content, media_type=media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Whoever does not read for a minute is cut off: what waits to be sent takes memory."""

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(STALLED_SECONDS):
                await send(message)

        try:
            await super().__call__(scope, receive, send_in_time)
        except TimeoutError:
            return  # without an end the answer is not whole, and the connection is closed
        finally:
            close = getattr(self.body_iterator, "aclose", None)
            if close is not None:
                await close()


Answer = Response


def raw_answer(content: bytes, code: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON that is encoded already."""
    return Response(content, status_code=code, media_type=JSON, headers=dict(headers or {}))


def json_answer(data: Any, code: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return raw_answer(msgspec.json.encode(data), code, headers)


def warned(sentences: Sequence[str]) -> dict[str, str]:
    """The header in which Kubernetes' clients look for warnings."""
    return {"Warning": ", ".join(f"299 - {_quoted(each)}" for each in sentences[:MOST_WARNINGS])} if sentences else {}


def _quoted(sentence: str) -> str:
    plain = sentence.encode("ascii", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"' if plain.isprintable() else '"unknown field"'


def text_answer(text: str, code: int = 200) -> Response:
    return Response(text.encode(), status_code=code, media_type="text/plain")


def error_answer(error: StoreError) -> Response:
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after else {}
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, WrongMethod):
        headers["Allow"] = ", ".join(error.allowed)
    return json_answer(error.status(), error.code, headers)


def success(kind: str, group: str, name: str, uid: str) -> dict[str, Any]:
    """The Status that says that something is done, where there is no object to answer with."""
    details = {"name": name, "group": group, "kind": kind, "uid": uid}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }


# In which form an answer is wanted: objects, a table, or only what objects are called


class AnswerForm(Enum):
    OBJECTS = "objects"
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"


_FORMS = {
    "Table": AnswerForm.TABLE,
    "PartialObjectMetadata": AnswerForm.METADATA,
    "PartialObjectMetadataList": AnswerForm.METADATA,
}
_JSON = ("application/json", "application/*", "*/*")


def form_of(accept: str) -> AnswerForm:
    """The first form in an `Accept` header that can be given; without one, objects."""
    if not accept.strip():
        return AnswerForm.OBJECTS
    for part in accept.split(","):
        media_type, parameters = parse(part)
        if media_type not in _JSON:
            continue
        asked = parameters.get("as")
        if asked is None:
            return AnswerForm.OBJECTS
        if asked in _FORMS and parameters.get("g") == "meta.k8s.io" and parameters.get("v") == "v1":
            return _FORMS[asked]
    raise NotAcceptable(texts.NOT_ACCEPTABLE)


def parse(part: str) -> tuple[str, dict[str, str]]:
    """`application/json;as=Table;v=v1`: the media type and its parameters."""
    media_type, *rest = (word.strip() for word in part.split(";"))
    parameters: dict[str, Any] = dict(word.partition("=")[::2] for word in rest if "=" in word)
    return media_type.lower(), parameters


def wants_aggregated(accept: str) -> bool:
    """Whether the first form that can be given is the aggregated discovery."""
    for part in accept.split(","):
        media_type, parameters = parse(part)
        if media_type in _JSON:
            return parameters.get("as") == "APIGroupDiscoveryList" and parameters.get("v") == "v2"
    return False
