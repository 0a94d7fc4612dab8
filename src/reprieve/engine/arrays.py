"""Small things that columns are made of."""

from collections.abc import Hashable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Item = TypeVar("Item")


class Interner(Generic[Item]):
    """Numbers for things that recur, so that a column of them is a column of integers. 0 means nothing."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self.items: list[Item | None] = [None]

    def number(self, item: Item, key: Hashable = None) -> int:
        """The number of an item; `key` stands for it where it cannot be hashed itself."""
        key = item if key is None else key
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self.items)
            self.items.append(item)
        return known

    def __len__(self) -> int:
        return len(self.items)


def enough(have: int, need: int) -> int:
    return have if need <= have else max(need, 2 * have)


def resized(array: NDArray[Any], shape: tuple[int, ...], empty: Any) -> NDArray[Any]:
    """The same content in a larger array."""
    if array.shape == shape:
        return array
    larger = np.full(shape, empty, dtype=array.dtype)
    larger[tuple(slice(0, length) for length in array.shape)] = array
    return larger
