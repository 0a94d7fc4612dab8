"""Whose pod it is: the user and groups that the limits of queues and placement rules go by.

1. The annotation `yunikorn.apache.org/user.info` says it, as JSON: a user and its groups.
2. Where that is missing, the older label `yunikorn.apache.org/username` names the user; its only group is of that name.
3. Whoever is named by neither is `nobody`. An annotation that cannot be read names nobody.
"""

from typing import NamedTuple

import msgspec

from reprieve.manifests.meta import ObjectMeta
from reprieve.manifests.yunikorn import USER_INFO, USERNAME, read_user_info
from reprieve.model.remembering import remembered

NOBODY = "nobody"


class User(NamedTuple):
    """A user, and the groups it belongs to."""

    name: str
    groups: tuple[str, ...]


def user_of(meta: ObjectMeta) -> User:
    said = meta.annotations.get(USER_INFO)
    if said:
        return _read(said)
    return _alone(meta.labels.get(USERNAME) or NOBODY)


@remembered(4096, largest=16_000)
def _read(text: str) -> User:
    try:
        name, groups = read_user_info(text)
    except msgspec.MsgspecError:
        return _alone(NOBODY)
    return User(name or NOBODY, groups)


@remembered(4096, largest=16_000)
def _alone(name: str) -> User:
    return User(name, (name,))
