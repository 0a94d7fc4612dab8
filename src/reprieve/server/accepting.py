"""In which form an answer is wanted: objects, a table, or only what objects are called."""

from enum import Enum
from typing import Any

from reprieve.server.answers import NotAcceptable
from reprieve.texts import server as texts


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
