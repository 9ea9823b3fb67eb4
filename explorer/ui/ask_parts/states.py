"""What stands in the place of an answer: why there is none, and the way on that suits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer import text
from explorer.contract import EngineHealth, Unauthorized, Unsupported
from explorer.i18n import tr
from explorer.ui import news
from explorer.ui.ask_parts.question import Nothing, Reply
from explorer.ui.empty import Action
from explorer.ui.item_questions import health_sentence


@dataclass(frozen=True)
class State:
    """An icon, what is known in a title and a sentence, and up to two ways on, the better one last."""

    icon: str
    title: str
    said: str
    ways_on: Sequence[Action] = ()
    tone: str = "text2"

    @property
    def sentence(self) -> str:
        """Both as one, for a banner."""
        return " ".join(part for part in (text.full_stop(self.title), self.said) if part)


@dataclass(frozen=True)
class WaysOn:
    """What can be done now; None where it cannot."""

    again: Action
    connections: Action
    search: Action | None = None
    unfiltered: Action | None = None
    imports: Action | None = None

    def where_nothing_answers(self) -> list[Action]:
        return [way for way in (self.search, self.unfiltered) if way is not None]


def beginning() -> State:
    said = tr("It is answered from what the filter admits, and says where each sentence stands.")
    return State("ask", tr("Ask what is remembered"), said)


def let_go(again: Action) -> State:
    said = tr("Something that the answer held is no longer stored, so it is not kept either.")
    return State("erase", tr("The answer is gone"), said, [again])


def nothing(reply: Reply, ways: WaysOn) -> State | None:
    """Why there is no answer; None where there is one, or where all that can be said is that nothing answers."""
    if reply.nothing is None:
        return None
    if reply.health is not None and reply.health.state != "ok":
        return _doubtful(reply.health, ways)
    if reply.nothing is Nothing.STORED:
        said = tr("Once it holds something, questions are answered from that.")
        return State("inbox", tr("Nothing is stored in this memory"), said, [ways.imports] if ways.imports else [])
    if reply.nothing is Nothing.SANDBOXED:
        said = tr("Choose a sandbox among the namespaces to ask what it holds.")
        return State("inbox", tr("Nothing is stored outside sandboxes"), said)
    if reply.nothing is Nothing.ADMITTED:
        said = tr("No item is under this filter, so that nothing could be asked.")
        title = tr("The filter admits nothing")
        return State("funnel", title, said, [ways.unfiltered] if ways.unfiltered else [])
    return None


def _doubtful(health: EngineHealth, ways: WaysOn) -> State:
    is_down = health.state == "down"
    title = tr("The engine does not serve now") if is_down else tr("The engine answers, but not fully")
    said = " ".join((health_sentence(health), tr("That may be why nothing answers.")))
    return State("plug" if is_down else "warning", title, said, [ways.again], "caution")


def failure(error: Exception, ways: WaysOn) -> State:
    """What failed, and what can be done about it."""
    if isinstance(error, Unauthorized):
        if news.lacks_permission(error):
            said = text.sentence(text.shown(error.text, 600))
            return State("health-key", tr("The key may not do this"), said, [ways.connections], "caution")
        said = tr("Open Connections and enter the key again.")
        return State("health-key", tr("The key was refused"), said, [ways.connections], "caution")
    if isinstance(error, Unsupported):
        said = tr("It can be searched: the words of the question find what it stores.") if ways.search else ""
        title = tr("This engine answers no questions")
        return State("warning", title, said, [ways.search] if ways.search else [], "caution")
    again = [ways.again] if news.may_pass(error) else []
    return State("warning", tr("There is no answer"), news.sentence(error), again, "caution")
