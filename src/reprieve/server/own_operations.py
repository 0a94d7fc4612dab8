"""OpenAPI of what Reprieve adds to Kubernetes' API, and of the entrances that all Kubernetes APIs have."""

from typing import Any

from reprieve.manifests.kinds import KINDS
from reprieve.planning.result import Decision
from reprieve.server.operations import content, responses
from reprieve.server.own import MOST
from reprieve.server.schemas import Schema, reference, schemas_of

_TEXT: Schema = {"type": "string"}
_UNIT_DESCRIPTION = "A unit as plans write it: KIND/NAMESPACE/NAME, or KIND//NAME where there is no namespace."
_OBJECT: Schema = {"type": "object"}
_USUAL = (400, 401, 403)


def _named(**properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


_SUMMARY = _named(
    id={"type": "integer"},
    at=_TEXT,
    last=_TEXT,
    times={"type": "integer"},
    preemptor=_TEXT,
    policy=_TEXT,
    outcome=_TEXT,
    message=_TEXT,
)
OWN_SCHEMAS: dict[str, Schema] = {
    **schemas_of([Decision]),
    "Plan": _named(
        now=_TEXT,
        decisions=_list(reference("Decision")),
        admitted=_list(_TEXT),
        left=_list(_TEXT),
        order=_list(_TEXT),
        priorities=_OBJECT,
        warnings=_list(_TEXT),
    ),
    "Question": {
        "type": "object",
        "properties": {
            "for": {"type": "string", "description": _UNIT_DESCRIPTION},
            "now": {"type": "string", "description": "The time of the decision; else now."},
            "manifests": {
                "type": "array",
                "description": "What to add to the live state; what is there by that name is replaced.",
                "items": _OBJECT,
            },
        },
    },
    "DecisionSummary": _SUMMARY,
    "KeptDecision": {"allOf": [reference("DecisionSummary"), _named(plan=_OBJECT)]},
    "Story": _named(unit=_TEXT, story=_list(_named(at=_TEXT, step=_TEXT, cause=_TEXT))),
    "Explanation": _named(
        unit=_TEXT,
        story=_list(_OBJECT),
        decision={"type": "object", "nullable": True},
        preempted={"type": "object", "nullable": True},
    ),
    "Decisions": _named(decisions=_list(reference("DecisionSummary"))),
}


def _query(name: str, schema: Schema, description: str = "") -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": description}


def _path(name: str, schema: Schema) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _get(name: str, summary: str, answers: dict[str, Any], *parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "get": {
            "operationId": name,
            "tags": ["reprieve"],
            "summary": summary,
            "parameters": list(parameters),
            "responses": answers,
        }
    }


def _health(name: str, summary: str, *codes: int) -> dict[str, Any]:
    text = content(_TEXT, "text/plain")
    answers = {str(code): {"description": "How it is.", "content": text} for code in (200, *codes)}
    refusals = responses(_USUAL, {})
    return _get(name, summary, answers | refusals, _query("verbose", {"type": "boolean"}))


def _plain(name: str, summary: str) -> dict[str, Any]:
    return _get(name, summary, responses(_USUAL, {200: _OBJECT}))


_SEGMENT = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9.]{0,100}[a-z0-9])?$"}
_UNIT = (_path("kind", {"type": "string", "enum": list(KINDS)}), _path("namespace", _SEGMENT), _path("name", _SEGMENT))
_LIMIT = _query("limit", {"type": "integer", "minimum": 1, "maximum": MOST})
_FOR = _query("for", _TEXT, _UNIT_DESCRIPTION)
_NOW = _query("now", _TEXT, "The time of the decision; else now.")
_PLANNED = responses((*_USUAL, 413, 415, 422), {200: reference("Plan")})
_FOUND = (*_USUAL, 404, 503)

OWN_PATHS: dict[str, Any] = {
    "/healthz": _health("healthz", "Whether it lives."),
    "/livez": _health("livez", "Whether it lives."),
    "/readyz": _health("readyz", "Whether the first sync is done.", 503),
    "/metrics": _get(
        "metrics",
        "Figures for Prometheus.",
        {"200": {"description": "All of them.", "content": content(_TEXT, "text/plain")}, **responses(_USUAL, {})},
    ),
    "/plan": {
        **_get("planNow", "What would be decided now.", _PLANNED, _FOR, _NOW),
        "post": {
            "operationId": "planWhatIf",
            "tags": ["reprieve"],
            "summary": "What would be decided if these objects were there too. Nothing is changed.",
            "requestBody": {
                "required": False,
                "content": content(reference("Question"), "application/json", "application/yaml"),
            },
            "responses": _PLANNED,
        },
    },
    "/explain/{kind}/{namespace}/{name}": _get(
        "explain", "Why a unit is where it is.", responses(_FOUND, {200: reference("Explanation")}), *_UNIT
    ),
    "/story/{kind}/{namespace}/{name}": _get(
        "story", "What happened to a unit.", responses(_FOUND, {200: reference("Story")}), *_UNIT, _LIMIT
    ),
    "/decisions": _get(
        "decisions",
        "The last decisions, newest first.",
        responses(_FOUND, {200: reference("Decisions")}),
        _query("unit", _TEXT, _UNIT_DESCRIPTION),
        _LIMIT,
    ),
    "/decisions/{id}": _get(
        "decision",
        "One decision with its whole plan.",
        responses(_FOUND, {200: reference("KeptDecision")}),
        _path("id", {"type": "integer", "minimum": 1, "maximum": 10**15}),
    ),
    "/version": _plain("version", "Which Kubernetes is spoken here."),
    "/api": _plain("coreVersions", "The versions of the core group."),
    "/apis": _plain("groups", "All other groups."),
    "/openapi/v3": _plain("openapiIndex", "One document for each version of each group."),
}
