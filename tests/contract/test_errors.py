"""The eight kinds of error."""

from __future__ import annotations

import copy
import pickle

import pytest

from explorer.contract import (
    ConfigError,
    Conflict,
    EngineFailure,
    InvalidRequest,
    NotFound,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
    Unsupported,
)

SHOWN = {
    Unsupported: "unsupported: the text",
    InvalidRequest: "invalid request: the text",
    Unauthorized: "unauthorized: the text",
    NotFound: "not found: the text",
    Conflict: "conflict: the text",
    Unavailable: "unavailable: the text",
    EngineFailure: "engine error: the text",
    ConfigError: "configuration error: the text",
}


@pytest.mark.parametrize(("kind", "shown"), SHOWN.items())
def test_each_kind_says_what_it_is(kind: type[TinyMemoryError], shown: str) -> None:
    error = kind("the text")
    assert isinstance(error, TinyMemoryError)
    assert (str(error), error.text) == (shown, "the text")


def test_only_one_kind_may_pass_by_itself() -> None:
    assert [kind for kind in SHOWN if kind.transient] == [Unavailable]


def test_errors_are_equal_by_kind_and_text() -> None:
    assert Conflict("a") == Conflict("a")
    assert hash(Conflict("a")) == hash(Conflict("a"))
    assert Conflict("a") != Conflict("b")
    assert Conflict("a") != NotFound("a")
    assert Conflict("a") != "conflict: a"
    assert len({Conflict("a"), Conflict("a"), NotFound("a")}) == 2


@pytest.mark.parametrize("kind", list(SHOWN))
def test_errors_survive_copying(kind: type[TinyMemoryError]) -> None:
    assert copy.copy(kind("a")) == kind("a")
    assert pickle.loads(pickle.dumps(kind("a"))) == kind("a")


def test_a_wait_is_kept_by_copies_and_makes_no_other_error() -> None:
    error = Unavailable("busy", retry_after_s=2.5)
    assert error == Unavailable("busy")
    assert hash(error) == hash(Unavailable("busy"))
    assert (Unavailable("busy").retry_after_s, copy.copy(error).retry_after_s) == (None, 2.5)
    assert pickle.loads(pickle.dumps(error)).retry_after_s == 2.5
