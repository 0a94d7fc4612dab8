"""What somebody may do, asked by itself: `kubectl auth can-i` and `kubectl auth whoami`."""

from typing import Any

from reprieve.access.rights import Action, allows, refusal
from reprieve.manifests.kinds import RESOURCES
from reprieve.server import bodies, protobuf
from reprieve.server.answers import Answer, json_answer
from reprieve.server.guard import identity_of
from reprieve.server.requests import AnyRequest

_ACCESS, _SELF = "authorization.k8s.io/v1", "authentication.k8s.io/v1"
_ANY = "*"
_TYPES = (*bodies.OBJECT_TYPES, protobuf.MEDIA_TYPE)
_ATTRIBUTES = {"namespace": 1, "verb": 2, "group": 3, "resource": 5, "subresource": 6, "name": 7}
"""What is asked about, with its number in protobuf."""


async def access_review(request: AnyRequest) -> Answer:
    """SelfSubjectAccessReview: whether one thing is allowed, and if not, why."""
    asked = await _attributes(request)
    head = {"kind": "SelfSubjectAccessReview", "apiVersion": _ACCESS}
    return json_answer({**head, "spec": {"resourceAttributes": asked}, "status": _answered(request, asked)}, 201)


async def _attributes(request: AnyRequest) -> dict[str, str]:
    declared = bodies.media_type(request, _TYPES)
    content = await bodies.read_body(request)
    if declared == protobuf.MEDIA_TYPE:
        spec = protobuf.fields(protobuf.fields(protobuf.enveloped(content)).get(2, b""))
        found = protobuf.fields(spec.get(1, b""))
        return {name: found.get(number, b"").decode(errors="replace") for name, number in _ATTRIBUTES.items()}
    body = bodies.as_object(await bodies.decode(content, declared))
    bodies.check_type(body, "SelfSubjectAccessReview", _ACCESS)
    asked = bodies.as_object(bodies.as_object(body.get("spec") or {}).get("resourceAttributes") or {})
    return {name: str(asked.get(name) or "") for name in _ATTRIBUTES}


def _answered(request: AnyRequest, word: dict[str, str]) -> dict[str, Any]:
    identity = identity_of(request.scope)
    if _ANY in (word["verb"], word["resource"], word["group"]):
        return {"allowed": identity.role == "admin"}
    resource = RESOURCES.get((word["group"], word["resource"]))
    if resource is None:
        return {"allowed": False, "reason": "there is no such resource"}
    action = Action(word["verb"], resource, word["namespace"], word["name"], word["subresource"])
    if allows(identity, action):
        return {"allowed": True}
    return {"allowed": False, "reason": refusal(identity, action).message}


async def self_review(request: AnyRequest) -> Answer:
    """SelfSubjectReview: who asks."""
    bodies.media_type(request, _TYPES)
    await bodies.read_body(request)
    identity = identity_of(request.scope)
    info = {"username": identity.name, "groups": [f"reprieve:{identity.role}"]}
    return json_answer({"kind": "SelfSubjectReview", "apiVersion": _SELF, "status": {"userInfo": info}}, 201)


def rows() -> list[Any]:
    """Which path leads where."""
    return [
        (f"/apis/{_ACCESS}/selfsubjectaccessreviews", access_review, ("POST",)),
        (f"/apis/{_SELF}/selfsubjectreviews", self_review, ("POST",)),
    ]
