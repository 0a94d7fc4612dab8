"""What is odd about a world, a question or a case file."""

from collections.abc import Mapping

from reprieve.texts.parts import and_more, count

NO_CASE = "not a case"
CASE_PARTS = "a case file holds cases, each with case, objects and expect"
HOLDS_NO_CASES = "holds no cases"
NO_POLICY_NAMED = "it names no policy"


def more_warnings(number: int) -> str:
    return f"{and_more(number)}; `reprieve check` lists what is wrong with each manifest"


def decided_over_errors(number: int) -> str:
    have = "The manifests have 1 error" if number == 1 else f"The manifests have {number} errors"
    return f"{have}: an API server would refuse what `reprieve check` lists. Decided as if it had not."


def no_such_node(node: str) -> tuple[str, str]:
    return f"there is no node {node}", "the pod is not counted anywhere"


def overfull(amounts: Mapping[str, str]) -> tuple[str, str]:
    used = ", ".join(f"{amount} {name}" for name, amount in amounts.items())
    return f"its pods use {used} more than it has", "nothing fits there before somebody leaves"


def no_such_unit(unit: str) -> str:
    return f"there is no {unit} among what was read"


def names_the_preemptor(unit: str) -> str:
    return f"{unit} is the one in question; it cannot make way for itself"


def nothing_to_decide(state: str) -> str:
    return f"{state.removesuffix('.')}; there is nothing to decide"


def policy_is_off(policy: str) -> str:
    return f"the policy {policy} is off"


def no_policy_for(kind: str) -> str:
    return f"no policy decides for a {kind}"


def case_named_twice(name: str, earlier: str) -> tuple[str, str]:
    return f'"{name}" is named twice', f"first in {earlier}"


def not_one_decision(number: int) -> str:
    return f"{count(number, 'decision')}; name a preemptor to expect one"


def toleration_in_doubt(name: str, *, exists: bool) -> str:
    why = "says what it tolerates in something other than numbers" if exists else "does not exist"
    return f"its priority class {name} {why}, so nobody knows what it tolerates"


def no_pod() -> str:
    return "not a Pod"
