"""One request to Kubernetes' API, with all that answering it takes."""

import asyncio
from typing import Any, NamedTuple

from litestar import Request

from reprieve.manifests.diagnosis import drop_nulls, unknown_fields
from reprieve.manifests.kinds import READERS
from reprieve.manifests.shapes import type_at
from reprieve.server.accepting import AnswerForm
from reprieve.server.list_pages import ListPages
from reprieve.server.paths import PathTarget
from reprieve.server.plane import Plane
from reprieve.server.queries import Query
from reprieve.stores.errors import BadRequest, Invalid
from reprieve.stores.protocol import Rehearsing, Store
from reprieve.texts import server as texts


class Call(NamedTuple):
    plane: Plane
    request: Request[Any, Any, Any]
    target: PathTarget
    query: Query
    form: AnswerForm
    pages: ListPages
    stopping: asyncio.Event

    @property
    def store(self) -> Store:
        """Where the request is carried out, or only rehearsed."""
        return self.rehearsing() if self.dry_run else self.plane.store

    def rehearsing(self) -> Store:
        """The store for a dry run."""
        store = self.plane.store
        if not isinstance(store, Rehearsing):
            raise Invalid(texts.NO_DRY_RUN)
        return store.rehearsal()

    @property
    def dry_run(self) -> bool:
        return self.query.choice("dryRun") == "All"

    def check_fields(self, data: dict[str, Any]) -> dict[str, str]:
        """Fields that the kind does not have, refused or warned of as the request wants it; headers for the answer."""
        asked = self.query.choice("fieldValidation")
        if asked not in ("Warn", "Strict"):
            return {}
        reader = READERS[self.target.api_version, self.target.resource.kind]
        found = [
            texts.unknown_field(finding.field.removeprefix("$."), finding.suggestion)
            for finding in unknown_fields(drop_nulls(data), type_at(reader.written, ()))
        ]
        if found and asked == "Strict":
            raise BadRequest(texts.strict_decoding(found))
        return {"Warning": ", ".join(f"299 - {_quoted(sentence)}" for sentence in found[:20])} if found else {}


def _quoted(sentence: str) -> str:
    plain = sentence.encode("ascii", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"' if plain.isprintable() else '"unknown field"'
