"""How before and after look in a terminal: what was changed, how much is different, and then each difference."""

from collections.abc import Iterator, Sequence

from reprieve.cli.show import grouped, table
from reprieve.planning.comparison import DIFFERENCES, Comparison, Exposed, Outcome, Overfull, Preempting
from reprieve.texts import changes as texts
from reprieve.texts.parts import listed
from reprieve.texts.tables import such_as

_MOST_ROWS = 10
Row = tuple[str, str, str]


def show_comparison(made: Comparison) -> str:
    """Differences in tables, those alike in one row; or that there are none."""
    lines = [texts.changes(made.changed)] if made.changed else []
    lines += [f"Note: {note}." for note in made.notes]
    if not made.difference:
        return "\n".join([*lines, texts.NO_DIFFERENCE])
    found = {kind: getattr(made, kind) for kind in DIFFERENCES}
    lines.append(texts.summary({kind: len({_unit(item) for item in items}) for kind, items in found.items()}))
    for kind, items in found.items():
        if items:
            lines += ["", *table(texts.HEADINGS[kind], list(_rows(items)), most=_MOST_ROWS)]
    return "\n".join(lines)


def _unit(item: object) -> str:
    return item if isinstance(item, str) else str(getattr(item, "unit", ""))


def _rows(items: Sequence[object]) -> Iterator[Row]:
    """Units that differ in the same way stand together."""
    for (_, *key), alike in grouped((_key(item), item) for item in items).items():
        units = listed(list(dict.fromkeys(map(_unit, alike))))
        yield _row(units, key, alike)


def _key(item: object) -> tuple[str, ...]:
    match item:
        case Exposed():
            return item.policy, ", ".join(item.by), item.rule
        case Overfull():
            return item.policy, item.place.replace("//", "/"), f"{item.over} {item.resource}"
        case Preempting():
            return item.unit, listed(item.victims), item.message
        case Outcome():
            return item.unit, item.message, ""
        case _:
            return "", "", ""


def _row(units: str, key: Sequence[str], alike: Sequence[object]) -> Row:
    first = alike[0]
    if not isinstance(first, Exposed):
        return units, key[0], key[1]
    messages = {item.message for item in alike if isinstance(item, Exposed)}
    told = first.message if len(messages) == 1 else such_as(first.message)
    return units, listed(first.by), f"{first.rule}: {told}"
