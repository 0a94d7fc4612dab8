"""Whatever is sent, for whatever kind: an object that can be read again, or a refusal that changes nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.manifests.kinds import READERS, RESOURCES
from reprieve.manifests.resource import Resource
from reprieve.manifests.shapes import sample, type_at
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import StoreError
from tests.stores.api.json_data import ANYTHING
from tests.stores.embedded.scene import Scene, at_once

# Names that mean something somewhere, so that what is random lands where it hurts.
_NAMES = (
    "metadata", "spec", "status", "name", "namespace", "labels", "finalizers", "ownerReferences", "template",
    "selector", "containers", "resources", "limits", "schedulingGates", "tolerations", "affinity", "nodeAffinity",
    "conditions", "deletionGracePeriodSeconds", "resourceVersion", "generateName", "podSets", "kind", "apiVersion",
    "disruptedPods", "annotations", "uid", "generation", "priority", "activeDeadlineSeconds", "suspend", "completions",
    "capacity",
)  # fmt: skip
_PATCHES = st.recursive(
    ANYTHING | st.none(),
    lambda inner: st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.sampled_from(_NAMES), _PATCHES, max_size=3)


def _least(resource: Resource) -> dict[str, Any]:
    """The least that is valid as far as types go."""
    found: dict[str, Any] = sample(type_at(READERS[resource.api_version, resource.kind].written, ()))
    return {**found, "kind": resource.kind, "metadata": {"name": "a"}}


def _merged(data: Any, patch: Any) -> Any:
    """Something random laid over something valid."""
    if not isinstance(data, dict) or not isinstance(patch, dict):
        return copy.deepcopy(patch)
    return {**data, **{name: _merged(data.get(name), value) for name, value in patch.items()}}


def _try(store: EmbeddedStore, write: Callable[[], Any]) -> None:
    before = store.version
    try:
        at_once(write())
    except StoreError:
        assert store.version == before


@settings(max_examples=300)
@given(
    resource=st.sampled_from(sorted(RESOURCES.values(), key=str)),
    extra=_OBJECTS,
    patches=st.lists(st.tuples(_OBJECTS, st.sampled_from(["", "status", "finalize"])), max_size=4),
)
def test_whatever_is_sent(resource: Resource, extra: dict[str, Any], patches: list[tuple[Any, str]]) -> None:
    with Scene() as scene:
        store, namespace = scene.store, "default" if resource.namespaced else ""
        _try(store, lambda: store.create(resource, _merged(_least(resource), extra)))
        _try(store, lambda: store.create(resource, _least(resource)))
        for patch, subresource in patches:
            _try(store, lambda: store.patch(resource, "a", namespace, patch, subresource=subresource))  # noqa: B023
            _try(store, lambda: store.patch(resource, "b", namespace, patch, "apply", subresource=subresource))  # noqa: B023
            _try(store, lambda: store.replace(resource, _merged(_least(resource), patch), subresource=subresource))  # noqa: B023
        _try(store, lambda: store.delete(resource, "a", namespace, propagation="Foreground"))
        _try(store, lambda: store.evict("a", namespace))
        _try(store, lambda: store.bind("a", namespace, "a"))
        for record in at_once(store.list(resource)).records:
            # As a restart would read it: from its bytes.
            assert record.reader().json.decode(record.raw).name == record.name
