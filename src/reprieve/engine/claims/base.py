"""What a claim is, and how many are protected by a rule."""

import msgspec


class Claim(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=True, rename="camel"):
    """Something a decision says that is true or false of a world."""


class Protected(msgspec.Struct, frozen=True, rename="camel"):
    """So many pods, or workloads, may not be preempted, by one rule."""

    rule: str
    pods: int
    until: int | None = None
    """When the first of them loses that protection, in microseconds since 1970; None: time alone changes nothing."""
