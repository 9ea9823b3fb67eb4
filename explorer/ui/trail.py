"""Where the person has been: the views behind Back and Forward. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass, field

from explorer.contract import FetchMode, InvalidRequest, MetaFilter, Namespace, Reach
from explorer.i18n import tr


@dataclass(frozen=True)
class View:
    """What the window shows: the items a filter admits, or the hits of a search inside it.

    With an `agent` it is seen as one placed at that node sees it: the filter reads what such an agent reads unless it
    names less. Raises InvalidRequest for a filter that names more.
    """

    filter: MetaFilter = field(default_factory=MetaFilter)
    query: str = ""
    mode: FetchMode | None = None
    agent: Namespace | None = None

    def __post_init__(self) -> None:
        scope = self.scope
        if scope is None:
            return
        if self.filter.reach is None:
            object.__setattr__(self, "filter", self.filter.model_copy(update={"reach": scope}))
        elif not self.filter.reach.within(scope):
            at = self.filter.reach.at
            raise InvalidRequest(tr("an agent at {node} does not read all of {other}", node=self.agent, other=at))

    @property
    def scope(self) -> Reach | None:
        """What the agent reads, whatever the filter is; None where nobody's eyes are borrowed."""
        return Reach.of(self.agent) if self.agent is not None else None

    @property
    def own_filter(self) -> MetaFilter:
        """The conditions that the person set: without a reach that is the agent's alone."""
        if self.scope is None or self.filter.reach != self.scope:
            return self.filter
        return self.filter.model_copy(update={"reach": None})


class Trail:
    """A walk through views: going somewhere drops what was ahead."""

    def __init__(self, start: View) -> None:
        self._views = [start]
        self._at = 0

    @property
    def current(self) -> View:
        return self._views[self._at]

    @property
    def can_go_back(self) -> bool:
        return self._at > 0

    @property
    def can_go_forward(self) -> bool:
        return self._at < len(self._views) - 1

    def go(self, view: View, *, is_typed: bool = True) -> bool:
        """Step to `view`; False where it is the current one already. `is_typed`: its query may go on with the last."""
        if view == self.current:
            return False
        before = self._views[self._at - 1] if self._at else None
        if is_typed and _is_typing_on(self.current, view, before):
            self._views[self._at :] = [view]
        else:
            self._views[self._at + 1 :] = [view]
            self._at += 1
        return True

    def back(self) -> View:
        self._at = max(0, self._at - 1)
        return self.current

    def forward(self) -> View:
        self._at = min(len(self._views) - 1, self._at + 1)
        return self.current


def _is_typing_on(now: View, then: View, before: View | None) -> bool:
    """Whether `then` only goes on with the query being typed, so that Back leads out of the search in one step."""
    if before is None or not now.query or not then.query:
        return False
    is_same = now.filter == then.filter == before.filter and now.agent == then.agent == before.agent
    return is_same and not before.query
