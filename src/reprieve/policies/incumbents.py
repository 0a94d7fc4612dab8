"""Programs that decide by one of the designs in clusters already, and how each is known to run there.

Two that decide for the same objects undo each other's decisions without end: so whoever comes second stays away.
"""

from typing import NamedTuple


class Incumbent(NamedTuple):
    """One such program."""

    name: str
    leases: tuple[str, ...]
    """What its replicas agree by on who acts: held, it runs, wherever its Deployment is."""
    deployments: tuple[str, ...]
    """As its own manifests call them; they may be in any namespace."""


KUEUE = Incumbent("Kueue", ("c1f6bfd2.kueue.x-k8s.io",), ("kueue-controller-manager",))
KARMADA = Incumbent(
    "Karmada",
    ("karmada-scheduler", "karmada-controller-manager"),
    ("karmada-scheduler", "karmada-controller-manager"),
)
YUNIKORN = Incumbent("YuniKorn", (), ("yunikorn-scheduler", "yunikorn-admission-controller"))
"""It has one replica, and so no lease."""
