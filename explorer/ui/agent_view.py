"""Seeing as the agent: the view of one node's tool scope, said above the filter, and left by one act."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy

from explorer import text
from explorer.contract import MetaFilter, Namespace, SegmentKind
from explorer.i18n import tr
from explorer.tools import ToolScope
from explorer.ui import icons
from explorer.ui.actions import allow, view_action
from explorer.ui.chips import EMPTY_TEXT
from explorer.ui.dialogs.plan_parts.one_line import OneLine
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.nodes import icon_of
from explorer.ui.trail import View

if TYPE_CHECKING:
    from explorer.ui.main_window import MainWindow

_NAME_CHARS = 120


def agent_name(node: Namespace) -> str:
    """Whose eyes they are: `agent:writer at team:acme`, `an agent at team:acme`."""
    last, above = node.last, node.parent
    if last is not None and above is not None and last.kind is SegmentKind.AGENT:
        return tr("{agent} at {node}", agent=last, node=text.shown(str(above), _NAME_CHARS))
    return tr("an agent at {node}", node=text.shown(str(node), _NAME_CHARS))


def reads_words(node: Namespace) -> str:
    """Which nodes an agent at `node` reads, by name."""
    if node.is_root:
        return tr("It reads what is at the root, and nothing below.")
    above = text.listed([text.shown(str(one), _NAME_CHARS) for one in reversed(list(node.ancestors_and_self())[:-1])])
    return tr("It reads this node and those above: {nodes}.", nodes=above)


class AgentStrip(QFrame):
    """Above the filter while the window is seen through an agent's scope: whose, what it reads, and the way out."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("agentStrip")
        self.setProperty("surface", "agent")
        self._icon = icons.IconLabel("agent", "accent")
        self.name_label = plain_label("smallStrong")
        self.name_label.setObjectName("agentNameLabel")
        self.reads_label = OneLine("small", "text2")
        self.reads_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.reads_label.setObjectName("agentReadsLabel")
        self.leave_button = QPushButton(tr("Leave"))
        self.leave_button.setObjectName("leaveAgentButton")
        self.leave_button.setProperty("kind", "small")
        row = QHBoxLayout(self)
        row.setContentsMargins(margins(12, 4, 12, 4))
        row.setSpacing(8)
        row.addWidget(self._icon)
        row.addWidget(self.name_label)
        row.addWidget(self.reads_label, 1)
        row.addWidget(self.leave_button)
        self.hide()

    def show_agent(self, node: Namespace | None) -> None:
        """Whose view it is; None takes the strip away."""
        self.setVisible(node is not None)
        if node is None:
            return
        self._icon.show_icon(icon_of(node), "accent")
        self.name_label.setText(tr("Seen as {agent}", agent=agent_name(node)))
        self.name_label.setToolTip(text.tip(str(node)))
        self.reads_label.say(reads_words(node))
        self.setAccessibleName(f"{self.name_label.text()}. {self.reads_label.text()}")


class AgentActions(QObject):
    """Into the view of an agent and out of it; what a person adds to it can only narrow."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.strip = AgentStrip()
        self.see_action = view_action(
            window,
            "seeAsAgentAction",
            tr("See as the agent here"),
            tr("The program as an agent placed at the chosen node reads the memory"),
        )
        self.see_action.setShortcut("Ctrl+Shift+E")
        icons.keep(self.see_action, "agent")
        self.leave_action = view_action(
            window, "leaveAgentAction", tr("Leave the agent's view"), tr("Read as yourself again, with the same filter")
        )
        self.leave_action.setShortcut("Ctrl+Shift+L")
        icons.keep(self.leave_action, "close")
        self.see_action.triggered.connect(lambda: self.see_as(self.node))
        self.leave_action.triggered.connect(self.leave)
        self.strip.leave_button.clicked.connect(self.leave)

    @property
    def node(self) -> Namespace:
        """The node that the action is about: the one that the keyboard is on among the namespaces, else the root."""
        return self._window.namespaces.current or Namespace.ROOT

    @property
    def agent(self) -> Namespace | None:
        """Whose view is shown."""
        return self._window.trail.current.agent

    @property
    def scope(self) -> ToolScope:
        """Of the agent whose view it is; else of one at the node that the filter names, else as a host has it."""
        reach = self._window.trail.current.filter.reach
        node = self.agent or (reach.at if reach is not None else None)
        return ToolScope.at(node) if node is not None else ToolScope.default()

    @property
    def no_filter_words(self) -> str:
        """What stands in the place of the chips while there is none."""
        return tr(EMPTY_TEXT) if self.agent is None else tr("No filter: all that the agent reads")

    def allow(self) -> None:
        """Another memory is open, or none; or the keyboard is on another node."""
        node, nothing = self.node, "" if self._window.engine is not None else tr("Nothing is open")
        name = text.shown(str(node), _NAME_CHARS)
        self.see_action.setProperty("wholeTitle", tr("See as the agent at {node}", node=name))
        allow(self.see_action, nothing or (tr("It is seen like that") if self.agent == node else ""))
        allow(self.leave_action, "" if self.agent is not None else tr("Nobody else's view is shown"))

    def show_view(self) -> None:
        """The view is another."""
        self.strip.show_agent(self.agent)
        self._window.console.show_scope(self.scope)
        self.allow()

    def see_as(self, node: Namespace) -> None:
        """Show what an agent at `node` reads, under the conditions that are set beside the node's."""
        if self._window.engine is None:
            return
        now = self._window.trail.current
        bare = now.filter.model_copy(update={"reach": None})
        self._window.search_box.tell_now()
        self._window.go(View(bare, now.query, now.mode, node))

    def leave(self) -> None:
        """Back to the person's own view; a condition on the node that is set stays."""
        now = self._window.trail.current
        if now.agent is not None:
            self._window.search_box.tell_now()
            self._window.go(replace(now, filter=now.own_filter, agent=None))

    def refuse(self, filter: MetaFilter) -> None:
        """Say that a filter would read more than the agent does."""
        if self.agent is None or filter.reach is None:
            return
        said = tr(
            "{node} is not read from there by {agent}. Leave its view to look.",
            node=text.inline(str(filter.reach.at), _NAME_CHARS),
            agent=agent_name(self.agent),
        )
        self._window.error_banner.show_note(said, tr("Leave"), self.leave, icon="info")
