"""What a decision claims about limits and placement rules of queues: why a pod may not start, or has no queue.

They are claims as those in `engine/claims.py`; nobody is preempted for them.
"""

from typing import Literal

import msgspec

from reprieve.engine.claims import Claim

Holder = Literal["user", "group", "queue"]
"""Whom a limit is for; `queue`: everybody in it."""


class AtLimit(Claim, frozen=True, kw_only=True):
    """With what is needed, a user or group would have more of a queue than its limit."""

    queue: str
    holder: Holder
    name: str
    resource: str
    used: int
    """With what is promised to others."""
    maximum: int
    needed: int


class TooManyApplications(Claim, frozen=True, kw_only=True):
    """An application that does not run yet, where as many run as may."""

    queue: str
    holder: Holder
    name: str
    """Of the user or group; empty: they are everybody's."""
    application: str
    running: int
    maximum: int


MissedBecause = Literal[
    "NothingNamed", "Filtered", "NoQueueName", "NoSuchQueue", "NotLeaf", "BelowLeaf", "ParentIsLeaf"
]


class RuleMissed(msgspec.Struct, frozen=True, rename="camel"):
    """Why a placement rule gives a pod no queue; `what` is the queue, tag or user that it is about."""

    rule: str
    why: MissedBecause
    what: str = ""


class NotPlaced(Claim, frozen=True, kw_only=True):
    """No placement rule gives a pod a queue."""

    rules: tuple[RuleMissed, ...]
