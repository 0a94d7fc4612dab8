"""Where each object is found: the paths of Kubernetes' API."""

from urllib.parse import quote

from reprieve.manifests.resource import Resource


def path_of(
    resource: Resource, namespace: str = "", name: str = "", *, version: str = "", subresource: str = ""
) -> str:
    """A collection, one object in it, or a part of that; no namespace where there could be one: all of them."""
    version = version or resource.versions[0]
    root = ["apis", resource.group, version] if resource.group else ["api", version]
    place = ["namespaces", namespace] if resource.namespaced and namespace else []
    parts = [*root, *place, resource.plural, *filter(None, (name, subresource))]
    return "/" + "/".join(quote(part, safe="") for part in parts)
