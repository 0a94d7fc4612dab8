"""What can be asked about a pod or a namespace beside itself: a node for it, its eviction, its end."""

from typing import Any

from starlette.responses import Response

from reprieve.server import bodies
from reprieve.server.answers import json_answer, success
from reprieve.server.requests import Call
from reprieve.server.writing import delete_options, preconditions
from reprieve.stores.errors import BadRequest
from reprieve.texts import server as texts


async def bind(call: Call) -> Response:
    """POST of a Binding: give a pod its node."""
    data = await bodies.read_object(call.request)
    bodies.check_type(data, "Binding", "v1")
    metadata = dict(bodies.metadata_of(data))
    name = _name(call, metadata)
    node = _node_in(data.get("target"))
    uid, version = preconditions(metadata, "metadata")
    await call.store.bind(name, call.target.namespace, node, uid=uid, version=version)
    return json_answer(success("pods", "", name, ""), 201)


def _node_in(target: Any) -> str:
    node = target.get("name") if isinstance(target, dict) else None
    if not isinstance(node, str) or not node or target.get("kind", "Node") not in ("", "Node"):
        raise BadRequest(texts.wrong_field("target", "a reference to a Node with its name"))
    return node


async def evict(call: Call) -> Response:
    """POST of an Eviction: delete a pod as far as budgets allow."""
    data = await bodies.read_object(call.request)
    bodies.check_type(data, "Eviction", "policy/v1")
    name = _name(call, dict(bodies.metadata_of(data)))
    asked = data.get("deleteOptions")
    options = delete_options(call, {} if asked is None else bodies.as_object(asked))
    await options.store.evict(name, call.target.namespace, grace=options.grace, uid=options.uid)
    return json_answer(success("", "", "", ""), 201)


def _name(call: Call, metadata: dict[str, Any]) -> str:
    """The pod's name: from the path, or from the body where the path is about no one pod."""
    namespace, name = metadata.get("namespace"), metadata.get("name")
    if namespace and namespace != call.target.namespace:
        raise BadRequest(texts.wrong_namespace(namespace, call.target.namespace))
    if name and call.target.name and name != call.target.name:
        raise BadRequest(texts.wrong_name(name, call.target.name))
    found = call.target.name or name
    if not found:
        raise BadRequest(texts.wrong_field("metadata.name", "the name of a pod"))
    return str(found)


async def finalize(call: Call) -> Response:
    """PUT of a Namespace whose finalizers are done."""
    data = bodies.of_target(await bodies.read_object(call.request), call.target)
    record = await call.store.replace(call.target.resource, data, subresource="finalize")
    return Response(record.raw, media_type="application/json")
