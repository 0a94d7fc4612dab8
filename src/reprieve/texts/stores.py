"""What a store says when it refuses, in Kubernetes' words where it has some."""

from collections.abc import Sequence


def exceeded_quota(name: str, requested: str, used: str, limited: str) -> str:
    return f"exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}"


def failed_quota(name: str, missing: Sequence[str]) -> str:
    return f"failed quota: {name}: must specify {'; '.join(missing)}"
