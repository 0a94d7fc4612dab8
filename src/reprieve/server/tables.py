"""Objects as tables, for kubectl and for Reprieve's own `get`. A priority above 0 is for wide output only."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from reprieve.manifests.columns import Column
from reprieve.manifests.resource import Resource
from reprieve.server.table_cells import CELLS, condition, number, text
from reprieve.stores.records import Record

META = "meta.k8s.io/v1"


def cell_of(column: Column, data: Any, now: datetime) -> Any:
    if column.cell:
        return CELLS[column.cell](data, now)
    if column.condition:
        return text(condition(data, column.condition), "status", default="")
    return number(data, *column.path) if column.type == "integer" else text(data, *column.path, default=column.default)


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": int(column.wide),
    }


def table(
    resource: Resource,
    records: Iterable[Record],
    now: datetime,
    *,
    include: str = "",
    metadata: dict[str, Any] | None = None,
    headings: bool = True,
    api_version: str = "",
) -> dict[str, Any]:
    """A `Table` as kubectl prints it; in a watch only the first one has headings.

    Columns are about the preferred version; objects are in the one that is asked for.
    """
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": metadata or {},
        "columnDefinitions": [_definition(column) for column in resource.columns] if headings else None,
        "rows": [row(record, api_version or resource.api_version, now, include) for record in records],
    }


def row(record: Record, api_version: str, now: datetime, include: str) -> dict[str, Any]:
    data = record.in_version(record.resource.api_version).glance()
    row: dict[str, Any] = {"cells": [cell_of(column, data, now) for column in record.resource.columns]}
    if include == "Object":
        row["object"] = record.in_version(api_version).glance()
    elif include != "None":
        row["object"] = partial(record.in_version(api_version))
    return row


def partial(record: Record) -> dict[str, Any]:
    """Only what an object is called and carries: kubectl reads names and namespaces from it."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": record.glance()["metadata"]}
