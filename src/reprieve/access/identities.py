"""Who asks: a name, a role, and how far the role reaches."""

from enum import StrEnum

import msgspec

MOST = 1_000_000_000
"""The highest priority that users may have in Kubernetes; what is above is for the system."""


class Role(StrEnum):
    """What a token is good for, the least first."""

    view = "view"
    submit = "submit"
    admin = "admin"


class Identity(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Whom a token belongs to. No namespaces: all of them."""

    name: str
    role: Role
    namespaces: tuple[str, ...] = ()
    max_priority: int = MOST

    @property
    def sees_all(self) -> bool:
        """Whether nothing is kept from it."""
        return self.role is Role.admin or not self.namespaces

    def sees(self, namespace: str) -> bool:
        """Whether it may read what is in a namespace."""
        return self.sees_all or namespace in self.namespaces


OWNER = Identity("owner", Role.admin)
"""Who started the control plane: whoever can read its token."""
ANYBODY = Identity("anybody", Role.admin)
"""Whoever asks a control plane that wants no token."""
