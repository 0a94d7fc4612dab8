"""What is said about a program that decides by the same design in a cluster already."""

from collections.abc import Sequence

from reprieve.texts.parts import listed

ONLY_WATCHES = "--controllers write, and --shadow writes nothing: give one or the other"


def lease_held(namespace: str, name: str, holder: str) -> str:
    return f"{holder} holds the Lease {namespace}/{name}"


def deployment_there(namespace: str, name: str) -> str:
    return f"there is the Deployment {namespace}/{name}"


def runs_here(name: str, sign: str, asked: Sequence[str]) -> str:
    return (
        f"{name} runs in this cluster ({sign}), and two of a kind undo each other's decisions: "
        f"leave out {listed(asked)}, only watch with --shadow, or remove {name}"
    )


def cannot_look(names: Sequence[str], error: str) -> str:
    return (
        f"there is no right to look whether somebody else decides here already ({listed(names)}): "
        f"{error}; apply deploy/rbac.yaml, or leave out what they decide for"
    )


def cannot_look_yet(names: Sequence[str], error: str) -> str:
    return f"it cannot be seen now whether somebody else decides here already ({listed(names)}): {error}"


def left_to(name: str, sign: str, policy: str) -> str:
    return f"the policy {policy} is off: {name} runs in this cluster ({sign}); --policies chooses otherwise"


def may_be_left_to(names: Sequence[str], error: str) -> str:
    return f"policies are off that others may decide by here ({listed(names)}): there is no right to look: {error}"


def nobody_decides(controllers: str) -> str:
    return f"--controllers {controllers} without the policy {controllers}: nobody here decides for what they make"
