"""What this API serves, as clients find it out: groups, versions, resources and what can be done with them."""

from typing import Any

from reprieve import __version__
from reprieve.manifests.kinds import RESOURCES, find_resource, namesakes
from reprieve.manifests.resource import Resource
from reprieve.server import visibility

# The Kubernetes whose objects and verbs are spoken.
MAJOR, MINOR = "1", "33"
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SUBRESOURCE_VERBS: dict[str, tuple[str, ...]] = {
    "status": ("get", "patch", "update"),
    "binding": ("create",),
    "eviction": ("create",),
    "log": ("get",),
    "finalize": ("update",),
}
# What is sent to a subresource where that is not the object itself.
SUBRESOURCE_KINDS = {"binding": ("", "v1", "Binding"), "eviction": ("policy", "v1", "Eviction")}


def _extras(resource: Resource) -> dict[str, Any]:
    """Short names, and whether `kubectl get all` means it too."""
    short = {"shortNames": list(resource.short_names)} if resource.short_names else {}
    return {**short, "categories": ["all"]} if resource.category == "all" else short


def version() -> dict[str, str]:
    return {
        "major": MAJOR,
        "minor": MINOR,
        "gitVersion": f"v{MAJOR}.{MINOR}.0+reprieve.{__version__}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }


def groups() -> dict[str, tuple[str, ...]]:
    """All groups but the core one, with their versions, the preferred one first.

    Where two groups have a resource of one name, clients take the group that comes first: it is the one that
    `reprieve get` takes, too.
    """
    found: dict[str, dict[str, None]] = {}
    second = _second_choices()
    for resource in sorted(RESOURCES.values(), key=lambda each: each.group in second):
        if resource.group:
            found.setdefault(resource.group, {}).update(dict.fromkeys(resource.versions))
    return {group: tuple(versions) for group, versions in found.items()} | visibility.GROUPS


def _second_choices() -> set[str]:
    """Groups with a resource whose name means that of another group, to whoever does not say which."""
    rows = RESOURCES.values()
    return {row.group for row in rows if namesakes(row) and find_resource(row.plural) is not row}


def resources_in(group: str, version: str) -> list[Resource]:
    return [resource for resource in RESOURCES.values() if resource.group == group and version in resource.versions]


def core_versions() -> dict[str, Any]:
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def group_list() -> dict[str, Any]:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group(name) for name in groups()]}


def group(name: str) -> dict[str, Any]:
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in groups()[name]]
    return {"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(group: str, version: str) -> dict[str, Any]:
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": [
            *(entry for resource in resources_in(group, version) for entry in _entries(resource)),
            *(visibility.entries() if group == visibility.GROUP else ()),
        ],
    }


def _entries(resource: Resource) -> list[dict[str, Any]]:
    own = {
        "name": resource.plural,
        "singularName": resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(VERBS),
        **_extras(resource),
    }
    return [own, *(_subresource_entry(resource, name) for name in resource.subresources)]


def _subresource_entry(resource: Resource, name: str) -> dict[str, Any]:
    group, version, kind = SUBRESOURCE_KINDS.get(name, ("", "", resource.kind))
    return {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        **({"group": group} if group else {}),
        **({"version": version} if group else {}),
        "kind": kind,
        "verbs": list(_SUBRESOURCE_VERBS[name]),
    }


def aggregated(*, core: bool) -> dict[str, Any]:
    """Everything in one answer: what newer clients ask for instead of one list for each version."""
    found = {"": ("v1",)} if core else groups()
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [_aggregated_group(name, versions) for name, versions in found.items()],
    }


def _aggregated_group(name: str, versions: tuple[str, ...]) -> dict[str, Any]:
    return {
        "metadata": {"name": name} if name else {},
        "versions": [
            {
                "version": version,
                "freshness": "Current",
                "resources": [
                    *(_aggregated_resource(resource, version) for resource in resources_in(name, version)),
                    *(visibility.aggregated(version) if name == visibility.GROUP else ()),
                ],
            }
            for version in versions
        ],
    }


def _aggregated_resource(resource: Resource, version: str) -> dict[str, Any]:
    kind = {"group": resource.group, "version": version, "kind": resource.kind}
    return {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.kind.lower(),
        "verbs": list(VERBS),
        **_extras(resource),
        "subresources": [_aggregated_subresource(name, kind) for name in resource.subresources],
    }


def _aggregated_subresource(name: str, kind: dict[str, str]) -> dict[str, Any]:
    group, version, other = SUBRESOURCE_KINDS.get(name, ("", "", ""))
    response = {"group": group, "version": version, "kind": other} if other else kind
    return {"subresource": name, "responseKind": response, "verbs": list(_SUBRESOURCE_VERBS[name])}
