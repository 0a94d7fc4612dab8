"""What is wrong with a ResourceQuota: scopes and operators that there are not, or that nobody counts here."""

from collections.abc import Iterator
from typing import Any

from reprieve.manifests.admission.neighbours import Neighbours
from reprieve.manifests.problems import Finding, found, one_of
from reprieve.manifests.resource_quotas import OPERATORS, PRIORITY_CLASS, SCOPES, ResourceQuota


def check(quota: ResourceQuota, _: Neighbours) -> Iterator[Finding]:
    for place, scope in enumerate(quota.spec.scopes):
        if scope not in SCOPES:
            yield Finding(f"$.spec.scopes[{place}]", found(scope), one_of(SCOPES))
    for place, wanted in enumerate(quota.spec.scope_selector.match_expressions):
        at = f"$.spec.scopeSelector.matchExpressions[{place}]"
        if wanted.scope_name not in SCOPES:
            yield Finding(f"{at}.scopeName", found(wanted.scope_name), one_of(SCOPES))
        if wanted.operator not in OPERATORS or (wanted.scope_name != PRIORITY_CLASS and wanted.operator != "Exists"):
            allowed = OPERATORS if wanted.scope_name == PRIORITY_CLASS else ("Exists",)
            yield Finding(f"{at}.operator", found(wanted.operator), one_of(allowed))
        elif bool(wanted.values) != (wanted.operator in ("In", "NotIn")):
            right = "it must have values" if not wanted.values else f"{wanted.operator} takes no values"
            yield Finding(f"{at}.values", found(list(wanted.values)), right)


RULES: dict[type[Any], Any] = {ResourceQuota: check}
