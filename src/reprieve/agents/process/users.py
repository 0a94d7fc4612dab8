"""As which user the containers of a namespace run: the agent's own, or, where it is root, another for each namespace.

A user of its own is the only wall between jobs, and between jobs and the control plane: whoever is the same user can
end the other's processes and read its files. Where namespaces have users, one without gets no process at all.
"""

import os
import pwd
from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from reprieve.agents.process.specs import CREATE_ERROR, CannotRun
from reprieve.manifests.problems import ReprieveError
from reprieve.texts import agents as texts


class UnusableUser(ReprieveError):
    """There is no such user, or this process may not become it."""


class RunAs(msgspec.Struct, frozen=True):
    """Who a container runs as, in the numbers that the operating system knows it by."""

    name: str
    home: str
    numbers: str


class Users(msgspec.Struct, frozen=True):
    """Users by namespace; none: everything runs as the agent."""

    known: Mapping[str, RunAs] = {}

    @classmethod
    def named(cls, wanted: Sequence[str]) -> Self:
        """From `NAMESPACE=USER`; a namespace alone is the name of its user as well."""
        if wanted and os.geteuid() != 0:
            raise UnusableUser(texts.NOT_ROOT)
        pairs = (text.partition("=")[::2] for text in wanted)
        return cls({namespace: _find(user or namespace) for namespace, user in pairs})

    def of(self, namespace: str) -> RunAs | None:
        """None: the agent's own."""
        if not self.known:
            return None
        if namespace not in self.known:
            raise CannotRun(texts.no_user(namespace), CREATE_ERROR)
        return self.known[namespace]


NO_USERS = Users()


def _find(name: str) -> RunAs:
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise UnusableUser(texts.unknown_user(name)) from None
    if found.pw_uid == 0:
        raise UnusableUser(texts.root_is_nobody(name))
    groups = [found.pw_gid, *(each for each in os.getgrouplist(name, found.pw_gid) if each != found.pw_gid)]
    return RunAs(name, found.pw_dir or "/", " ".join(map(str, (found.pw_uid, *groups))))
