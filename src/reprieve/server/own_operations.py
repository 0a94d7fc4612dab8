"""OpenAPI of what Reprieve adds to Kubernetes' API, and of the entrances that all Kubernetes APIs have."""

import re
from typing import Any

from reprieve.manifests.kinds import KINDS
from reprieve.planning.comparison import Exposed, Outcome, Overfull, Preempting
from reprieve.planning.result import Decision
from reprieve.server import yunikorn
from reprieve.server.bodies import OBJECT_TYPES
from reprieve.server.operations import TEXT, content, in_path, in_query, responses
from reprieve.server.own import MOST
from reprieve.server.schemas import Schema, reference, schemas_of
from reprieve.server.what_if import LONGEST

_UNIT_DESCRIPTION = "A unit as plans write it: KIND/NAMESPACE/NAME, or KIND//NAME where there is no namespace."
_OBJECT: Schema = {"type": "object"}
_PERHAPS: Schema = {"type": "object", "nullable": True}
_USUAL = (400, 401, 403)


def _named(**properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


_INTEGER: Schema = {"type": "integer"}
_TOLD = dict.fromkeys(("preemptor", "policy", "outcome", "message"), TEXT)
_DECIDED = ("Starts", "Waits", "Unschedulable")
_OUTCOMES = _list(reference("Outcome"))
OWN_SCHEMAS: dict[str, Schema] = {
    **schemas_of([Decision]),
    "Plan": _named(
        now=TEXT,
        decisions=_list(reference("Decision")),
        admitted=_list(TEXT),
        left=_list(TEXT),
        order=_list(TEXT),
        priorities=_OBJECT,
        warnings=_list(TEXT),
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
    **schemas_of([Exposed, Overfull, Outcome, Preempting]),
    "Comparison": _named(
        now=TEXT,
        difference={"type": "boolean"},
        changed={"type": "object", "additionalProperties": TEXT},
        **dict.fromkeys(("newlyPreemptible", "newlySafe"), _list(reference("Exposed"))),
        **dict.fromkeys(("newlyAgainstBudget", "noLongerAgainstBudget"), _list(TEXT)),
        **dict.fromkeys(("noLongerFits", "fitsAgain"), _list(reference("Overfull"))),
        **dict.fromkeys((f"{when}{what}" for when in ("now", "noLonger") for what in _DECIDED), _OUTCOMES),
        **dict.fromkeys(("nowPreempts", "noLongerPreempts"), _list(reference("Preempting"))),
        notes=_list(TEXT),
        warnings=_list(TEXT),
    ),
    "Change": {
        "type": "object",
        "properties": {
            "now": {"type": "string", "description": "The time of the comparison; else now."},
            "manifests": {
                "type": "array",
                "description": "What is to be there; what is there by that name is replaced.",
                "items": _OBJECT,
            },
            "settings": {"type": "array", "description": "Settings and gates, said anew.", "items": _OBJECT},
            "delete": {"type": "array", "description": "What is not to be there.", "items": TEXT},
        },
    },
    "DecisionSummary": _named(id=_INTEGER, at=TEXT, last=TEXT, times=_INTEGER, uid=TEXT, **_TOLD),
    "KeptDecision": {"allOf": [reference("DecisionSummary"), _named(plan=_OBJECT)]},
    "Story": _named(unit=TEXT, story=_list(_named(at=TEXT, step=TEXT, cause=TEXT))),
    "Attempt": _named(**dict.fromkeys(("unit", "uid", "first", "state", "since"), TEXT)),
    "Told": _named(
        unit=TEXT, uid=TEXT, story=_list(_OBJECT), decision=_PERHAPS, preemption=_PERHAPS, preempted=_PERHAPS
    ),
    "Explanation": {
        "allOf": [
            reference("Told"),
            _named(
                attempts=_list(reference("Attempt")),
                others=_list(reference("Told")),
                earlier=_list(reference("Attempt")),
            ),
        ]
    },
    "Run": {
        "type": "object",
        "required": ["container", "run", "size"],
        "properties": {
            **dict.fromkeys(("container", "startedAt", "finishedAt"), TEXT),
            **dict.fromkeys(("run", "size", "cut"), _INTEGER),
            "exitCode": {"type": "integer", "nullable": True},
            "dropped": {"type": "boolean"},
        },
    },
    "Attempts": _named(
        unit=TEXT, attempts=_list({"allOf": [reference("Attempt"), _named(runs=_list(reference("Run")))]})
    ),
    "Units": _named(units=_list(TEXT)),
    "Answer": _named(nodes={"type": "object", "additionalProperties": TEXT}, victims=_list(TEXT), message=TEXT),
    "Agreement": _named(
        agreement=_list(_named(policy=TEXT, result=TEXT, count=_INTEGER)),
        disagreements=_list(
            _named(
                **dict.fromkeys(("at", "unit", "policy", "result"), TEXT),
                own=reference("Answer"),
                other=reference("Answer"),
            )
        ),
    ),
    "Decisions": _named(decisions=_list(reference("DecisionSummary"))),
}


def _query(name: str, schema: Schema, description: str = "") -> dict[str, Any]:
    return {**in_query(name, schema), "description": description}


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
    told = {"description": "How it is.", "content": content(TEXT, "text/plain")}
    answers = {str(code): told for code in (200, *codes)} | responses(_USUAL, {})
    return _get(name, summary, answers, _query("verbose", {"type": "boolean"}))


def _plain(name: str, summary: str) -> dict[str, Any]:
    return _get(name, summary, responses(_USUAL, {200: _OBJECT}))


_UNIT = (
    in_path("kind", {"type": "string", "enum": list(KINDS)}),
    in_path("namespace"),
    in_path("name"),
)
_UID = _query("uid", TEXT, "Which one of this name; else the one that has, or last had, the name.")
_LIMIT = _query("limit", {"type": "integer", "minimum": 1, "maximum": MOST})
_FOR = _query("for", TEXT, _UNIT_DESCRIPTION)
_NOW = _query("now", TEXT, "The time of the decision; else now.")
_FIELD_VALIDATION = _query(
    "fieldValidation",
    {"type": "string", "enum": ["Ignore", "Warn", "Strict"]},
    "Ignore: unknown fields are not told of.",
)
_PLANNED = responses((*_USUAL, 413, 415, 422, 504), {200: reference("Plan")})
_PATIENCE = _query(
    "timeoutSeconds",
    {"type": "integer", "minimum": 1, "maximum": LONGEST},
    f"How long it may take; else {LONGEST}.",
)
_FOUND = (*_USUAL, 404, 503)


def _of_yunikorn(path: str) -> dict[str, Any]:
    """What YuniKorn's own tools ask for: its fields are described there, and errors are in its form."""
    names = _NAMES_IN_PATH.findall(path)
    words = [word for word in path.removeprefix("/ws/v1/").split("/") if "{" not in word]
    told = {"200": {"description": "As YuniKorn has it.", "content": content({"type": "object"}, "application/json")}}
    if path.endswith(_LISTS):
        told["200"]["content"] = content(_list(_OBJECT), "application/json")
    wrong = {"description": "What is wrong, in YuniKorn's form.", "content": content(_OBJECT, "application/json")}
    told |= {str(code): wrong for code in (400, 401, 403, 404, 503)}
    operation = "yunikorn" + "".join(word.capitalize() for word in words) + ("ByState" if "state" in names else "")
    query = [_query("status", TEXT)] if "state" in names else []
    return _get(operation, "YuniKorn's queues, as its REST API tells them.", told, *map(in_path, names), *query)


_NAMES_IN_PATH = re.compile(r"{(\w+)}")
_LISTS = ("/partitions", "/applications", "/{state}", "/nodes")
OWN_PATHS: dict[str, Any] = {
    "/healthz": _health("healthz", "Whether it lives."),
    "/livez": _health("livez", "Whether it lives."),
    "/readyz": _health("readyz", "Whether the first sync is done.", 503),
    "/metrics": _get(
        "metrics",
        "Figures for Prometheus.",
        {"200": {"description": "All of them.", "content": content(TEXT, "text/plain")}, **responses(_USUAL, {})},
    ),
    "/plan": {
        **_get("planNow", "What would be decided now.", _PLANNED, _FOR, _NOW, _PATIENCE),
        "post": {
            "operationId": "planWhatIf",
            "parameters": [_FIELD_VALIDATION, _PATIENCE],
            "tags": ["reprieve"],
            "summary": "What would be decided if these objects were there too. Nothing is changed.",
            "requestBody": {"required": False, "content": content(reference("Question"), *OBJECT_TYPES)},
            "responses": _PLANNED,
        },
    },
    "/compare": {
        "post": {
            "operationId": "compareWhatIf",
            "parameters": [_PATIENCE],
            "tags": ["reprieve"],
            "summary": "What would be different with a change. Nothing is changed.",
            "requestBody": {"required": True, "content": content(reference("Change"), *OBJECT_TYPES)},
            "responses": responses((*_USUAL, 413, 415, 422, 504), {200: reference("Comparison")}),
        },
    },
    "/explain/{kind}/{namespace}/{name}": _get(
        "explain", "Why a unit is where it is.", responses(_FOUND, {200: reference("Explanation")}), *_UNIT, _UID
    ),
    "/attempts/{kind}/{namespace}/{name}": _get(
        "attempts",
        "What a unit was tried as, in the order of time, with the runs whose logs are known.",
        responses(_FOUND, {200: reference("Attempts")}),
        *_UNIT,
    ),
    "/units": _get(
        "units",
        "What is called so, of any kind and in any namespace, also what is gone.",
        responses(_FOUND, {200: reference("Units")}),
        {**_query("name", TEXT), "required": True},
    ),
    "/story/{kind}/{namespace}/{name}": _get(
        "story", "What happened to a unit.", responses(_FOUND, {200: reference("Story")}), *_UNIT, _LIMIT
    ),
    "/decisions": _get(
        "decisions",
        "The last decisions, newest first.",
        responses(_FOUND, {200: reference("Decisions")}),
        _query("unit", TEXT, _UNIT_DESCRIPTION),
        _LIMIT,
    ),
    "/decisions/{id}": _get(
        "decision",
        "One decision with its whole plan.",
        responses(_FOUND, {200: reference("KeptDecision")}),
        in_path("id", {"type": "integer", "minimum": 1, "maximum": 10**15}),
    ),
    "/shadow": _get(
        "shadow",
        "What a scheduler in shadow saw another one decide: how often alike, and the last times otherwise.",
        responses(_FOUND, {200: reference("Agreement")}),
        _LIMIT,
    ),
    **{path: _of_yunikorn(path) for path in yunikorn.PATHS},
    "/version": _plain("version", "Which Kubernetes is spoken here."),
    "/api": _plain("coreVersions", "The versions of the core group."),
    "/apis": _plain("groups", "All other groups."),
    "/openapi/v3": _plain("openapiIndex", "One document for each version of each group."),
}
