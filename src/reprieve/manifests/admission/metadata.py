"""Names, labels and annotations, as every Kubernetes object has them."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from reprieve.manifests.core import Namespace
from reprieve.manifests.meta import Manifest
from reprieve.manifests.problems import Finding, found, join_path
from reprieve.model.remembering import looked_up

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_NAME_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_DNS_LABEL = "allowed: a DNS label: a-z, 0-9 and -, starting and ending with a letter or digit, at most 63 long"
_DNS_NAME = "allowed: a DNS name: a-z, 0-9, - and ., starting and ending with a letter or digit, at most 253 long"
_LABEL_KEYS = "allowed: an optional DNS name and /, then letters, digits, -, _ and ., at most 63 long"
_LABEL_VALUES = "allowed: letters, digits, -, _ and ., at most 63 long"


@looked_up(65536)
def is_dns_label(name: str) -> bool:
    return len(name) <= 63 and _LABEL.fullmatch(name) is not None


def is_dns_name(name: str) -> bool:
    return len(name) <= 253 and _SUBDOMAIN.fullmatch(name) is not None


def _fits_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return len(name) <= 63 and _NAME_PART.fullmatch(name) is not None and (not slash or is_dns_name(prefix))


def is_label_value(value: str) -> bool:
    return not value or (len(value) <= 63 and _NAME_PART.fullmatch(value) is not None)


is_label_key = looked_up(65536)(_fits_key)


def check_dns_label(path: str, name: str) -> Iterator[Finding]:
    if not is_dns_label(name):
        yield Finding(path, found(name), _DNS_LABEL)


def check_dns_name(path: str, name: str) -> Iterator[Finding]:
    if not is_dns_name(name):
        yield Finding(path, found(name), _DNS_NAME)


def check_unique(path: str, names: list[str], part: str = "name") -> Iterator[Finding]:
    """Items of a list that must be told apart by name."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            yield Finding(f"{path}[{index}].{part}", f"{found(name)} a second time", "allowed: each name once")
        seen.add(name)


def check(manifest: Any) -> Iterator[Finding]:
    if not isinstance(manifest, Manifest):
        return
    metadata = manifest.metadata
    if not is_dns_name(metadata.name):
        yield Finding("$.metadata.name", found(metadata.name), _DNS_NAME)
    elif type(manifest) is Namespace:
        yield from check_dns_label("$.metadata.name", metadata.name)
    if metadata.namespace and not is_dns_label(metadata.namespace):
        yield Finding("$.metadata.namespace", found(metadata.namespace), _DNS_LABEL)
    yield from check_labels("$.metadata.labels", metadata.labels)
    if not all(map(_is_annotation_key, metadata.annotations)):
        for key in metadata.annotations:
            if not _is_annotation_key(key):
                yield Finding(join_path("$.metadata.annotations", key), "not an annotation key", _LABEL_KEYS)


@looked_up(65536)
def _is_annotation_key(key: str) -> bool:
    return _fits_key(key.lower())


@looked_up(65536)
def _is_label(label: tuple[str, str]) -> bool:
    key, value = label
    return _fits_key(key) and is_label_value(value)


def check_labels(path: str, labels: dict[str, str]) -> Iterable[Finding]:
    return () if all(map(_is_label, labels.items())) else _odd_labels(path, labels)


def _odd_labels(path: str, labels: dict[str, str]) -> Iterator[Finding]:
    for key, value in labels.items():
        if not is_label_key(key):
            yield Finding(join_path(path, key), "not a label key", _LABEL_KEYS)
        if not is_label_value(value):
            yield Finding(join_path(path, key), found(value), _LABEL_VALUES)


def check_one(path: str, first: str, one: object, second: str, other: object) -> Iterator[Finding]:
    """Of two fields exactly one is set."""
    if (one is None) == (other is None):
        state = "both set" if one is not None else "neither set"
        yield Finding(path, f"{first} and {second}: {state}", f"allowed: exactly one of {first}, {second}")
