"""The steps that all policies share: remove, reprieve, choose."""

from __future__ import annotations

import numpy as np
import pytest

from reprieve.engine.steps import ONLY_CANDIDATE, Criterion, SlackLedger, choose, remove_all, reprieve


def criteria(**columns: list[int]) -> list[Criterion]:
    return [Criterion(name, np.array(values)) for name, values in columns.items()]


def possible(*domains: int) -> np.ndarray:
    return np.array([bool(domain) for domain in domains])


@pytest.mark.parametrize(
    ("where", "columns", "want"),
    [
        (possible(0, 0), {"price": [1, 2]}, None),
        (possible(0, 1), {"price": [1, 2]}, (1, ONLY_CANDIDATE)),
        (possible(1, 1), {"price": [2, 1], "age": [1, 2]}, (1, "price")),
        (possible(1, 1, 1), {"price": [1, 1, 2], "age": [2, 1, 0]}, (1, "age")),
        (possible(0, 1, 1), {"price": [0, 1, 1], "age": [0, 2, 1]}, (2, "age")),
        (possible(1, 1, 1), {"price": [1, 1, 2], "age": [1, 1, 1]}, (0, "price")),
        (possible(1, 1), {"price": [-(2**40), -(2**40) + 1]}, (0, "price")),
    ],
    ids=[
        "nothing is possible",
        "one is left and needs no reason",
        "the first criterion decides",
        "the second decides among those the first could not tell apart",
        "what is not possible is not compared",
        "the last criterion that told any apart decided",
        "less is better, also below zero",
    ],
)
def test_the_best_domain_and_the_criterion_that_decided(
    where: np.ndarray, columns: dict[str, list[int]], want: tuple[int, str] | None
) -> None:
    choice = choose(where, criteria(**columns))
    assert (choice and tuple(choice)) == want


def ledger(slack: list[list[int]], weights: list[list[list[int]]], **company: int) -> SlackLedger:
    return SlackLedger(np.array(slack), np.array(weights), **company)


def test_all_candidates_are_removed_and_those_that_fit_come_back_from_the_top() -> None:
    # Two domains, one resource: the preemptor lacks 2 in the first and 1 in the second.
    books = ledger([[-2, -1]], [[[1, 1]], [[1, 1]], [[2, 1]]])
    candidates = np.array([[True, True], [True, True], [True, True]])
    assert remove_all(books, candidates).tolist() == [True, True]
    victims = reprieve(books, candidates, [candidates])
    assert victims.tolist() == [[False, False], [False, False], [True, True]]


def test_a_class_is_given_back_before_the_next_one_whatever_its_rank() -> None:
    books = ledger([[-1]], [[[1]], [[1]]])
    candidates = np.array([[True], [True]])
    remove_all(books, candidates)
    protected = np.array([[False], [True]])
    assert reprieve(books, candidates, [protected, ~protected]).tolist() == [[True], [False]]


def test_only_where_it_is_a_candidate_does_anybody_leave() -> None:
    books = ledger([[-1, -1]], [[[1, 1]]])
    assert remove_all(books, np.array([[True, False]])).tolist() == [True, False]


def test_who_is_alone_needs_no_company() -> None:
    # Rows: a resource, "nobody like it anywhere", and the company it wants. One friend, who is in the first domain.
    slack, friend = [[0, 0], [-1, -1], [0, -1]], [[[0, 0], [1, 0], [-1, 0]]]
    books = ledger(slack, friend, near=1, alone=1)
    assert books.fits().tolist() == [True, False]
    books.remove(np.array([[True, False]]))
    assert books.fits().tolist() == [True, False], "without the friend it may be the first of its kind"
    strict = ledger([[0], [-1]], [[[0], [0]]], near=1)
    assert strict.fits().tolist() == [False]
