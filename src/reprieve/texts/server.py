"""Every sentence that the API answers with and that is not a store's own."""

from collections.abc import Iterable, Sequence

from reprieve.texts.parts import listed

NO_SUCH_PATH = "the server could not find the requested resource"
CLIENT_LEFT = "the client left before it had sent its request"
INTERNAL = "an unexpected error happened; it is in the log of the server"
UNAUTHORIZED = "a token is needed: send it as 'Authorization: Bearer TOKEN'"
STRANGE_HOST = "the Host of this request is not this machine: only localhost and loopback addresses are served"
STRANGE_ORIGIN = "this request comes from a page of another site"
UNREADABLE_QUERY = "the query is not UTF-8 text, or has too many parameters"
UNREADABLE_PATH = "the path is not UTF-8 text"
EMPTY_BODY = "the body is empty; an object is expected"
TOO_DEEP = "the body is nested too deeply"
NO_HISTORY = "this control plane keeps no history"
NOT_READY = "the first sync is not done yet"
STOPPING = "the server is stopping"
BAD_CONTINUE = "the 'continue' parameter is not one that this server gave"
CONTINUE_EXPIRED = (
    "too much has been listed since this 'continue' was given: list again without it, or go on with the one in this "
    "answer, which gives a list that is not of one moment"
)
MATCH_WITHOUT_VERSION = "'resourceVersionMatch' is only allowed together with 'resourceVersion'"
CONTINUE_WITH_VERSION = "'resourceVersion' cannot be given together with 'continue'"
NOT_ACCEPTABLE = "only application/json can be answered here"
NO_DRY_RUN = "this store cannot try a request without carrying it out: leave out 'dryRun'"
FIELD_MANAGER = "'fieldManager' is required for apply patches"
UNPROTECTED = (
    "this address can be reached from other machines: a token is required; give one, or listen on a loopback address "
    "such as 127.0.0.1"
)


_PROTOBUF = "With kubectl: `kubectl create ... --dry-run=client -o yaml | kubectl create -f -`"


def twice(name: str) -> str:
    return f"the parameter '{name}' is given twice"


def no_number(name: str, found: str, least: int, most: int) -> str:
    return f"the parameter '{name}' is '{found[:40]}'; it must be a whole number from {least} to {most}"


def not_one_of(name: str, found: str, options: Iterable[str]) -> str:
    return f"the parameter '{name}' is '{found[:40]}'; allowed: {', '.join(options)}"


def method_not_allowed(method: str) -> str:
    return f"the server does not allow {method} on the requested resource"


def no_such_subresource(resource: str, subresource: str) -> str:
    return f"{resource} have no subresource '{subresource[:40]}'"


def too_large(limit: int) -> str:
    return f"the body is too large: at most {limit} bytes are read"


TOO_MANY_WAIT = "too many others wait for the same: try again in a moment"


def too_many_parts(most: int) -> str:
    return f"the body has too many objects and lists in it: at most {most} are read"


def planned_too_long(seconds: int) -> str:
    return f"it was not worked out within {seconds} s: ask about one unit, or about less"


def too_many_values(most: int) -> str:
    return f"the body has too many values in it: at most {most} are read"


def media_type(found: str, allowed: Iterable[str]) -> str:
    what = f"in an unknown format: '{found[:80]}'" if found else "sent without a Content-Type"
    wrong = f"the body of the request was {what}; accepted: {', '.join(allowed)}"
    return f"{wrong}. {_PROTOBUF}" if "protobuf" in found else wrong


def malformed(what: str) -> str:
    return f"the body cannot be read: {what}"


def not_an_object(expected: str) -> str:
    return f"the body must be {expected}"


def wrong_kind(found: str, expected: str) -> str:
    return f"the object is a '{found[:80]}'; a {expected} is expected on this path"


def wrong_version(found: str, expected: str) -> str:
    return (
        f"the API version in the data ({found[:80]}) does not match the expected API version ({expected}) of this path"
    )


def wrong_name(found: str, expected: str) -> str:
    return f"the name of the object ({found[:80]}) does not match the name on the URL ({expected[:80]})"


def wrong_namespace(found: str, expected: str) -> str:
    return (
        f"the namespace of the provided object ({found[:80]}) does not match the namespace sent on the request "
        f"({expected[:80]})"
    )


def wrong_field(field: str, expected: str) -> str:
    return f"the field '{field}' must be {expected}"


def unknown_field(field: str, suggestion: str) -> str:
    return f'unknown field "{field}"' + (f"; {suggestion}" if suggestion else "")


def strict_decoding(fields: Iterable[str]) -> str:
    return f"strict decoding error: {', '.join(fields)}"


def too_large_version(asked: int, current: int) -> str:
    return f"Too large resource version: {asked}, current: {current}"


def too_old_version(asked: int, current: int) -> str:
    return f"the objects as they were at version {asked} are no longer known; the version now is {current}"


def address_in_use(host: str, port: int) -> str:
    return f"{host}:{port} is in use by another program; choose another port, or 0 for any that is free"


def cannot_listen(host: str, port: int, reason: str) -> str:
    return f"cannot listen on {host}:{port}: {reason}"


def no_decision(identity: str) -> str:
    return f"no decision '{identity[:80]}' is known"


def no_such_unit(path: str) -> str:
    return f"'{path[:80]}' names no unit; it is written KIND/NAMESPACE/NAME, or KIND/NAME where there is no namespace"


def no_partition(name: str, known: str) -> str:
    """YuniKorn's words, and what there is."""
    return f"Partition not found: '{name[:80]}'; " + (f"there is {known}" if known else "no queues are configured")


def no_queue(name: str) -> str:
    return f"Queue not found: '{name[:160]}'"


def no_application(name: str) -> str:
    return f"Application not found: '{name[:160]}'"


def no_node(name: str) -> str:
    return f"Node not found: '{name[:160]}'"


def allowed_states(states: Iterable[str]) -> str:
    return f"Only following application states are allowed: {', '.join(states)}"


def allowed_statuses(statuses: Iterable[str]) -> str:
    return f"Only following active statuses are allowed: {', '.join(statuses)}"


def nothing_known(unit: str) -> str:
    return f"nothing is known about {unit[:160]}: there is no decision about it, and no story of it"


def which_of_two(shown: str, other: str) -> str:
    """For whoever lists a kind whose name two APIs have."""
    return f"these are {shown}; there are also {other}: ask for them by that name"


def class_in_use(name: str, pods: Sequence[str], nodes: Sequence[str]) -> str:
    """For whoever deletes a PriorityClass."""
    names, they = ("names", "it tolerates") if len(pods) == 1 else ("name", "they tolerate")
    return (
        f"{listed(pods)} still {names} PriorityClass {name}: nobody knows any more what {they}, so until it is created "
        f"again no pod of higher priority can preempt on {listed(nodes)}"
    )


def without_gate(kind: str, why: str) -> str:
    """For whoever writes what counts for nothing."""
    return f"what this {kind} asks for does not count: {why}"


def no_such_pod(name: str, uid: str) -> str:
    return f'no pod "{name[:80]}" with uid {uid[:80]!r} is known'


def no_log(name: str) -> str:
    return f'no log of pod "{name[:80]}" is kept: it never ran on a node that keeps logs, or its log was dropped'


def log_dropped(name: str) -> str:
    return f'the log of pod "{name[:80]}" was dropped: the oldest go first when there is too much of them'


def too_many_connections(most: int) -> str:
    return f"too many connections: {most} are served at a time; try again"


def too_many_of_one(most: int) -> str:
    return f"too many connections from here: {most} of one client are served at a time; try again"


def no_descriptors(error: object) -> str:
    return (
        f"nobody can be let in, because this process has no file descriptors left ({error}); trying again each second"
    )


def too_slow(seconds: float) -> str:
    return f"the body did not arrive within {seconds:g} s"


def held_up(wall: float, cpu: float, task: str, place: str) -> str:
    """Of the event loop."""
    who = f" by {task}" if task else ""
    where = f", in {place}" if place else ""
    return f"the event loop was held up for {wall:.2f} s ({cpu:.2f} s of it the CPU){who}{where}"
