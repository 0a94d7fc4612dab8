"""Which verb a request is: by its method, and by whether its path names one object, many, or something about one."""

from collections.abc import Awaitable, Callable

from litestar import Response

from reprieve.server import reading, subresources, watching, writing
from reprieve.server.answers import Streamed, WrongMethod
from reprieve.server.requests import Call

Answer = Response[bytes] | Streamed
Verb = Callable[[Call], Awaitable[Answer]]


async def _list_or_watch(call: Call) -> Answer:
    return await (watching.watch(call) if call.query.flag("watch") else reading.list_objects(call))


async def _get_or_watch(call: Call) -> Answer:
    return await (watching.watch(call) if call.query.flag("watch") else reading.get(call))


_ALL_NAMESPACES: dict[str, Verb] = {"GET": _list_or_watch}
_COLLECTION: dict[str, Verb] = {"GET": _list_or_watch, "POST": writing.create, "DELETE": writing.delete_collection}
_OBJECT: dict[str, Verb] = {
    "GET": _get_or_watch,
    "PUT": writing.replace,
    "PATCH": writing.patch,
    "DELETE": writing.delete,
}
_SUBRESOURCES: dict[str, dict[str, Verb]] = {
    "status": {"GET": reading.get, "PUT": writing.replace, "PATCH": writing.patch},
    "binding": {"POST": subresources.bind},
    "eviction": {"POST": subresources.evict},
    "log": {"GET": subresources.log},
    "finalize": {"PUT": subresources.finalize},
}


def verb_of(call: Call) -> Verb:
    target = call.target
    if target.subresource:
        verbs = _SUBRESOURCES[target.subresource]
    elif target.name:
        verbs = _OBJECT
    else:
        verbs = _COLLECTION if target.one_place else _ALL_NAMESPACES
    method = str(call.request.method)
    if method not in verbs:
        raise WrongMethod(method, verbs)
    return verbs[method]
