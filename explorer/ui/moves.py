"""Moving and copying out of the open memory: the dialog, the memories it goes to, its job, and the window after it."""

from __future__ import annotations

import asyncio
import contextlib
from enum import Enum, auto
from functools import partial
from pathlib import Path

from explorer import text
from explorer.contract import ConfigError, MemoryEngine, TinyMemoryError, Unavailable
from explorer.engines import (
    ConnectionStore,
    EngineCredential,
    KeyStore,
    SavedConnection,
    build_engine,
    find_credential,
    list_engines,
)
from explorer.engines.place import has_no_file
from explorer.i18n import tr
from explorer.removal.journal import Journal, is_done_in
from explorer.removal.moving import Interrupted, MoveOutcome, read_interrupted
from explorer.removal.plan import Target
from explorer.removal.receipts import Entry, ids_left
from explorer.removal.words import memory_of, move_title
from explorer.ui.ask import ask
from explorer.ui.dialogs.key import KeyDialog
from explorer.ui.dialogs.move import MoveDialog, Opened
from explorer.ui.dialogs.move_parts import words
from explorer.ui.dialogs.move_parts.form import HERE, Place
from explorer.ui.engine_words import engine_label
from explorer.ui.files import not_there
from explorer.ui.main_window import MainWindow
from explorer.ui.planned import Planned, sentences
from explorer.ui.selected import plan_selected


class Moves(Planned[MoveDialog]):
    """Moving and copying, and going on with what was interrupted."""

    def __init__(self, window: MainWindow, journal: Journal, store: ConnectionStore, keys: KeyStore) -> None:
        super().__init__(window, journal)
        self.store = store
        self.keys = keys
        self.key = ""
        """The name of the saved connection that is open; "" where it is none."""
        self._opened: list[MemoryEngine] = []  # by the dialog, which is done with them when it closes
        window.move_wanted.connect(self._on_window_move_wanted)
        window.journal.continue_wanted.connect(self.go_on)
        window.move_selected_wanted.connect(self._on_window_move_selected_wanted)

    def leave(self, memory_path: str | None, connection: str = "") -> None:
        """Another engine is open, on the file of this path and by the saved connection of that name."""
        self.key = connection
        for lane in ("plan", "selected", "continue"):
            self.jobs.cancel(lane)
        self._leave(memory_path)

    async def aclose(self) -> None:
        await super().aclose()
        await self._close_opened()

    def plan(self, target: Target, again: tuple[Path, Interrupted] | None = None) -> None:
        """Open the dialog on a target; `again`: as the interrupted receipt at this path has it, which ends then."""
        if self._makes_way():
            self.jobs.start("plan", self._places(), partial(self._on_places, target, again))

    async def _places(self) -> list[Place]:
        """Where items can go: the memory that is open, and each saved one that can be written."""
        engines = {engine.id: engine for engine in list_engines()}
        is_read_only = self.window.is_read_only
        places = [] if is_read_only else [Place(HERE, self.window.connection_name, "")]
        for saved in await asyncio.to_thread(self.store.load):
            if saved.name != self.key and not saved.settings.read_only and saved.engine in engines:
                places.append(Place(saved.name, saved.name, engine_label(engines[saved.engine])))
        return places

    def go_on(self, path: Path) -> None:
        """Ask for what is left of the move or copy at `path`, which was interrupted; removals are not meant."""
        read = asyncio.to_thread(_interrupted, self.journal, path)
        self.jobs.start("continue", read, partial(self._on_interrupted, path))

    def _on_interrupted(self, path: Path, found: Interrupted | _Left) -> None:
        window, engine = self.window, self.window.engine
        if found is _Left.OTHERS or engine is None:
            return
        if found is _Left.NOTHING:
            window.error_banner.show_note(tr("Nothing of it is left to be moved or copied."), icon="info")
            window.journal.refresh()
        elif found is _Left.UNKNOWN:
            window.show_error(tr("Its receipt does not say enough to go on from it. Plan it anew."))
        elif not is_done_in(found, engine, window.connection_name):
            name = memory_of(found)
            window.show_error(tr("It was interrupted in {name}: open that memory, then go on.", name=name))
        else:
            self.plan(found.target, (path, found))

    def _on_places(self, target: Target, again: tuple[Path, Interrupted] | None, places: list[Place]) -> None:
        window, engine = self.window, self.window.engine
        if engine is None:
            return
        if not places:
            window.show_error(
                tr(
                    "There is nowhere to copy to: this memory is open read-only, and no other is saved. "
                    "Open Connections to add one."
                )
            )
            return
        dialog = MoveDialog(self._memory(engine), places, self._open, target, window)
        dialog.may_store = window.paths_stay.may_store
        dialog.run_ended.connect(partial(self._on_dialog_run_ended, engine))
        self._show(dialog)
        if again is not None:
            path, found = again
            key = HERE if found.to_connection == found.connection else found.to_connection
            if dialog.propose(found, key):
                dialog.run_ended.connect(partial(self._settle, dialog, path))
            else:
                name = text.inline(found.to_connection)
                dialog.banner.show_note(
                    tr("It went to {name}, which cannot be chosen here.", name=name), icon="warning"
                )

    def _settle(self, dialog: MoveDialog, path: Path, outcome: MoveOutcome | None, *_: object) -> None:
        """Another receipt goes on where the one at `path` was interrupted, unless it is of something else."""
        if outcome is not None and outcome.receipt is not None and dialog.is_as_proposed:
            settle = asyncio.to_thread(self.journal.settle, path, outcome.receipt)
            self.jobs.start("settle", settle, lambda _: self.window.journal.refresh())

    # The memories it goes to

    async def _open(self, place: Place) -> Opened | None:
        saved = await asyncio.to_thread(self.store.get, place.key)
        if saved is None:
            raise Unavailable(tr("there is no saved connection named {name} any more; choose another", name=place.key))
        found = await asyncio.to_thread(find_credential, saved, self.keys)
        credential: EngineCredential = found.credential
        if found.ask_because is not None:
            dialog = KeyDialog(saved.name, found.ask_because, self.dialog)
            if not await ask(dialog):
                return None
            credential = dialog.credential
        return await self._built(saved, credential)

    async def _built(self, saved: SavedConnection, credential: EngineCredential) -> Opened:
        if saved.last_opened is not None and await asyncio.to_thread(has_no_file, saved.settings):
            raise ConfigError(not_there(saved.settings.path))
        engine = build_engine(saved.engine, saved.engine_settings, credential)
        self._opened.append(engine)
        health = await engine.health()
        if not health.is_serving:
            raise Unavailable(health.reason or tr("the engine of {name} is down", name=saved.name))
        return Opened(engine, saved.settings.path)

    async def _close_opened(self) -> None:
        opened, self._opened = self._opened, []
        for engine in opened:
            with contextlib.suppress(TinyMemoryError):
                await engine.aclose()

    def _on_window_move_wanted(self, target: Target) -> None:
        self.jobs.cancel("selected")  # what comes late must not stand in the place of what is looked at by then
        self.plan(target)

    def _on_window_move_selected_wanted(self) -> None:
        plan_selected(self.window, self.jobs, self.plan)

    # The dialog

    def _on_dialog_run_ended(
        self, engine: MemoryEngine, outcome: MoveOutcome | None, is_midway: bool, why: str
    ) -> None:
        if outcome is None:
            self._end_left(engine, is_midway=is_midway, nothing=tr("Nothing was moved or copied."), why=why)
            self.window.journal.refresh()
            return
        said = sentences(move_title(outcome), words.doubt(outcome))
        self._end_job(said, is_done=outcome.is_clean)
        self.window.journal.refresh()
        if self.window.engine is engine:
            self.window.show_removed(set() if outcome.is_copy else set(outcome.done), set(outcome.kept))
            self._say_outcome(said, is_clean=outcome.is_clean)

    async def _end(self, dialog: MoveDialog) -> None:
        await super()._end(dialog)
        if self.dialog is None:
            await self._close_opened()


class _Left(Enum):
    """What is left of what a receipt tells of, where it cannot be asked for again."""

    OTHERS = auto()
    """No move or copy."""
    NOTHING = auto()
    UNKNOWN = auto()


def _interrupted(journal: Journal, path: Path) -> Interrupted | _Left:
    """What the receipt at `path` has to be asked for again. Where nothing is left, it is ended."""
    if Entry.read(path).action not in ("move", "copy"):
        return _Left.OTHERS
    if (found := read_interrupted(path)) is not None:
        return found
    if ids_left(path):
        return _Left.UNKNOWN
    journal.settle(path)
    return _Left.NOTHING
