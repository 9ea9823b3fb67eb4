"""The questions of a session: kept in memory, and gone with what they hold."""

from __future__ import annotations

from collections.abc import Iterable

from explorer.asking import Answered, By, History, Sentence
from explorer.asking.history import MAX_KEPT
from explorer.contract import Citation, Hit, ItemId, MetaFilter
from tests.fakes import learning

ITEM = learning("x")


def answered(question: str, cites: Iterable[str] = (), read: Iterable[str] = ()) -> Answered:
    return Answered(
        question=question,
        filter=MetaFilter(),
        sentences=(Sentence("x"),),
        citations=tuple(Citation(id=ItemId(id), kind=ITEM.item_kind, snippet="x", meta=ITEM.meta) for id in cites),
        read_not_cited=tuple(Hit.of_item(ItemId(id), ITEM) for id in read),
        says_nothing=False,
        by=By.ENGINE,
        model=None,
        elapsed_s=0.0,
    )


def kept(history: History) -> list[str]:
    return [one.question for one in history]


def test_newest_is_first_and_the_oldest_go() -> None:
    history = History()
    for number in range(MAX_KEPT + 2):
        assert history.add(answered(str(number)))
    assert len(history) == MAX_KEPT
    assert kept(history)[0] == str(MAX_KEPT + 1)
    assert kept(history)[-1] == "2"


def test_answers_that_cite_or_read_what_was_removed_go() -> None:
    history = History()
    for one in (answered("cites", "ab"), answered("read", "c", "d"), answered("other", "e"), answered("none")):
        history.add(one)
    assert history.drop([ItemId("b"), ItemId("d"), ItemId("zzz")]) == 2
    assert kept(history) == ["none", "other"]
    assert history.drop([]) == 0
    history.clear()
    assert kept(history) == []


def test_answer_that_comes_after_a_removal_does_not_bring_back_what_went() -> None:
    history = History()
    before = history.now()
    history.drop([ItemId("a")])
    assert not history.add(answered("late", "a"), before)
    assert not history.add(answered("late", "b", "a"), before)
    assert history.add(answered("other", "b"), before)
    assert history.add(answered("asked anew", "a"), history.now())
    history.clear()
    assert not history.add(answered("late", "c"), before)
    assert history.add(answered("asked anew", "c"), history.now())
