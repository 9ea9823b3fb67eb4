"""What the window offers to remove, and why it cannot be where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction

from explorer import text
from explorer.conditions import without
from explorer.contract import MetaFilter, Namespace, Reach
from explorer.i18n import mark, tr
from explorer.removal.plan import Action, Target
from explorer.ui import icons
from explorer.ui.actions import allow, view_action, why_not_all
from explorer.ui.dialogs.remove_parts.words import why_not_erase

if TYPE_CHECKING:
    from explorer.ui.main_window import MainWindow


_TOO_MUCH = mark("An agent's tool refuses to forget all that it reads: set a condition")


class RemovalActions(QObject):
    """Forget and erase by the filter, and the whole tree; the panels offer the rest with their own rows."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._why_not = ""
        self.forget_matching_action = self._action(
            "forgetMatchingAction",
            tr("Forget all that match…"),
            "minus-ring",
            tr("Take what the filter admits out of every read"),
        )
        self.erase_action = self._action(
            "eraseAction", tr("Erase all that match…"), "erase", tr("Erase what the filter admits for good")
        )
        self.forget_tree_action = self._action(
            "forgetTreeAction",
            tr("Forget the whole tree…"),
            "minus-ring",
            tr("Everything at every node, sandboxes included"),
        )
        self.erase_tree_action = self._action(
            "eraseTreeAction", tr("Erase the whole tree…"), "erase", tr("Everything at every node, sandboxes included")
        )
        self.all = [self.forget_matching_action, self.erase_action, self.forget_tree_action, self.erase_tree_action]
        bar = window.chip_bar
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        bar.addActions([window.clear_action, self.forget_matching_action, self.erase_action])
        self.forget_matching_action.triggered.connect(lambda: self.forget(self._filter))
        self.erase_action.triggered.connect(lambda: self._want(self._filter, Action.ERASE))
        self.forget_tree_action.triggered.connect(lambda: self.forget(MetaFilter()))
        self.erase_tree_action.triggered.connect(lambda: self._want(MetaFilter(), Action.ERASE))

    def allow(self, why_not: str) -> None:
        """Another memory is open; `why_not` says why nothing in it can be removed, "" where it can."""
        self._why_not = why_not
        window = self._window
        window.items.allow_forgetting(why_not)
        window.facets.allow_forgetting(why_not)
        self.show_view()

    def show_view(self) -> None:
        """The filter is another."""
        view = self._window.trail.current
        ranked = why_not_all(view.query)
        # An agent has one tool that removes: it takes ids, or a filter that names something besides the node.
        not_so, too_much = "", ""
        if view.agent is not None:
            not_so = tr("No tool of an agent does that: leave its view first")
            if without(view.filter, "reach").is_empty():
                too_much = tr(_TOO_MUCH)
        allow(self.forget_matching_action, self._why_not or ranked or too_much)
        allow(self.erase_action, self._why_not_erase(view.filter) or ranked or not_so)
        allow(self.forget_tree_action, self._why_not or not_so)
        allow(self.erase_tree_action, self._why_not_erase(MetaFilter()) or not_so)
        at_root = MetaFilter(reach=Reach.exact(Namespace.ROOT))
        self._window.namespaces.allow_removing(
            self._why_not or not_so,
            self._why_not_erase(at_root) or not_so,
            self._why_not_erase(MetaFilter()) or not_so,
        )

    def forget(self, filter: MetaFilter) -> None:
        """Forget what a filter admits; in an agent's view what its tool would, at the nodes above too."""
        if self._window.trail.current.agent is None:
            self._want(filter, Action.FORGET)
        elif without(filter, "reach").is_empty():
            self._window.error_banner.show_note(text.full_stop(tr(_TOO_MUCH)), icon="info")
        else:
            self._window.forget_as_agent_wanted.emit(filter)

    @property
    def _filter(self) -> MetaFilter:
        return self._window.trail.current.filter

    def _want(self, filter: MetaFilter, action: Action) -> None:
        self._window.removal_wanted.emit(Target.of_filter(filter), action)

    def _why_not_erase(self, filter: MetaFilter) -> str:
        engine = self._window.engine
        if self._why_not or engine is None:
            return self._why_not
        return why_not_erase(engine, Target.of_filter(filter))

    def _action(self, name: str, words: str, icon: str, tip: str) -> QAction:
        action = view_action(self._window, name, words, tip)
        icons.keep(action, icon, "danger")
        return action
