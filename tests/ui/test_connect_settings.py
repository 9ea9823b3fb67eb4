"""The further settings of a connection: what its engine names is offered, kept, and refused at its field."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit, QPlainTextEdit, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from explorer.contract import ConfigError, Consolidation, Detail, EngineDescriptor, FetchMode
from explorer.engines import ConnectionStore, EngineEntry, EngineSettings, KeyPlace, KeyStore, SavedConnection, registry
from explorer.ui.dialogs.connect import ConnectDialog
from explorer.ui.dialogs.connect_parts.cards import EngineCard
from explorer.ui.theme import theme
from tests.conftest import Until
from tests.fakes import FakeEngine

ALL = [
    "scope_root",
    "scope_owner",
    "tenant_root",
    "retired_scope_root",
    "consolidation",
    "observed_actor",
    "listing_cache",
    "headers",
]


def described(id: str, settings: Sequence[str], label: str = "Server") -> EngineDescriptor:
    return EngineDescriptor(
        id=id,
        label=label,
        description="somewhere else",
        hosted=False,
        needs_endpoint=False,
        needs_key=True,
        default_endpoint="https://memory.example",
        fetch_modes=[FetchMode.HYBRID],
        settings=list(settings),
    )


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Callable[[EngineEntry], None]:
    """Have an engine among those that can be opened."""

    def add(entry: EngineEntry) -> None:
        entries, broken = registry._engines()
        monkeypatch.setattr(registry, "_found", ({**entries, entry.descriptor.id: entry}, broken))

    return add


@asynccontextmanager
async def showing(
    qtbot: QtBot,
    store: ConnectionStore,
    engines: Sequence[EngineDescriptor],
    current: str = "",
    parent: QWidget | None = None,
    details: Callable[[], Sequence[Detail]] | None = None,
) -> AsyncIterator[ConnectDialog]:
    dialog = ConnectDialog(store, KeyStore(), store.load(), engines, current, parent, details=details)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.activateWindow()
    try:
        await settled(dialog)
        yield dialog
    finally:
        await dialog.jobs.aclose()


async def settled(dialog: ConnectDialog) -> None:
    """Shown, and laid out."""
    while not dialog.isActiveWindow():  # noqa: ASYNC110
        await asyncio.sleep(0.002)
    for _ in range(3):  # a layout that is told of another height tells the one around it
        await asyncio.sleep(0)


def offered(dialog: ConnectDialog) -> list[str]:
    return [name for name, row in dialog.more.rows.items() if row.isVisible()]


def choose_engine(qtbot: QtBot, dialog: ConnectDialog, id: str) -> None:
    card = dialog.findChild(EngineCard, f"engine:{id}")
    assert card is not None
    qtbot.mouseClick(card, Qt.MouseButton.LeftButton)


def open_more(qtbot: QtBot, dialog: ConnectDialog) -> None:
    qtbot.mouseClick(dialog.more.button, Qt.MouseButton.LeftButton)


async def test_the_descriptor_says_what_is_offered(qtbot: QtBot, tmp_path: Path) -> None:
    engines = [described("one", ["scope_root", "headers"]), described("two", ["tenant_root"]), described("none", [])]
    async with showing(qtbot, ConnectionStore(tmp_path / "c.json"), engines) as dialog:
        assert dialog.more.button.isVisible()
        assert offered(dialog) == []
        open_more(qtbot, dialog)
        assert offered(dialog) == ["scope_root", "headers"]
        choose_engine(qtbot, dialog, "two")
        assert offered(dialog) == ["tenant_root"]
        choose_engine(qtbot, dialog, "none")
        assert offered(dialog) == []
        assert not dialog.more.button.isVisible()


async def test_each_setting_has_words_and_the_widget_it_needs(qtbot: QtBot, tmp_path: Path) -> None:
    async with showing(qtbot, ConnectionStore(tmp_path / "c.json"), [described("one", ALL)]) as dialog:
        open_more(qtbot, dialog)
        kinds = {name: type(row.field) for name, row in dialog.more.rows.items()}
        lines = {name for name, kind in kinds.items() if kind is QLineEdit}
        assert lines == {"scope_root", "scope_owner", "retired_scope_root"}
        assert {name for name, kind in kinds.items() if kind is QCheckBox} == {
            "tenant_root",
            "observed_actor",
            "listing_cache",
        }
        assert kinds["consolidation"] is QComboBox
        assert issubclass(kinds["headers"], QPlainTextEdit)
        for name, row in dialog.more.rows.items():
            assert row.field.accessibleName() not in ("", name)
            about = row.findChild(QLabel, f"setting:{name}About")
            assert about is not None
            assert about.text().endswith(".")
            assert row.field.accessibleDescription() == about.text()


async def test_a_setting_of_a_package_goes_by_its_name(qtbot: QtBot, tmp_path: Path) -> None:
    engine = described("one", ["profile", "read_only", "not_of_this_program"])
    async with showing(qtbot, ConnectionStore(tmp_path / "c.json"), [engine]) as dialog:
        open_more(qtbot, dialog)
        assert offered(dialog) == ["profile", "read_only"]
        assert isinstance(dialog.more.rows["profile"].field, QLineEdit)
        assert isinstance(dialog.more.rows["read_only"].field, QCheckBox)


async def test_a_choice_offers_what_the_engine_does(qtbot: QtBot, tmp_path: Path) -> None:
    one = described("one", ["consolidation"])
    two = one.model_copy(update={"id": "two", "consolidation": Consolidation.SCHEDULED})
    store = ConnectionStore(tmp_path / "c.json")
    for name, value in (("a", "automatic"), ("odd", "by hand")):
        settings = EngineSettings(consolidation=value)
        store.add(SavedConnection(name=name, engine="one", settings=settings, key_from=KeyPlace.ASK))
    async with showing(qtbot, store, [one, two], "a") as dialog:
        box = dialog.more.rows["consolidation"].field

        def values() -> list[str | None]:
            return [box.itemData(row) for row in range(box.count())]

        assert (box.currentData(), values()) == ("automatic", [None, "automatic", "on_demand"])
        choose_engine(qtbot, dialog, "two")
        assert (box.currentData(), values()) == (None, [None, "scheduled"])
        choose_engine(qtbot, dialog, "one")
        assert box.currentData() == "automatic", "a look at another engine changes nothing"
    async with showing(qtbot, store, [one, two], "odd") as dialog:
        box = dialog.more.rows["consolidation"].field
        assert (box.currentData(), box.currentText()) == ("by hand", "by hand")


async def test_what_is_set_is_saved_and_shown_again(
    qtbot: QtBot, tmp_path: Path, until: Until, added: Callable[[EngineEntry], None]
) -> None:
    engine = described("one", ALL)
    added(EngineEntry(engine, lambda settings, credential: FakeEngine()))
    store = ConnectionStore(tmp_path / "c.json")
    async with showing(qtbot, store, [engine]) as dialog:
        dialog.place_box.show_place(KeyPlace.ASK)
        open_more(qtbot, dialog)
        fields = {name: row.field for name, row in dialog.more.rows.items()}
        qtbot.keyClicks(fields["scope_root"], "org:42")
        fields["tenant_root"].click()
        fields["listing_cache"].click()
        fields["consolidation"].setCurrentIndex(2)
        qtbot.keyClicks(fields["headers"], "X-Team: 42")
        qtbot.keyClick(fields["headers"], Qt.Key.Key_Return)
        qtbot.keyClicks(fields["headers"], "X-Floor:3")
        dialog.open_button.click()
        await until(lambda: dialog.chosen_name)
    (saved,) = store.load()
    settings = saved.settings
    assert (settings.scope_root, settings.tenant_root, settings.consolidation) == ("org:42", True, "on_demand")
    assert settings.headers == {"X-Team": "42", "X-Floor": "3"}
    assert settings.listing_cache is False
    assert (settings.scope_owner, settings.observed_actor, settings.retired_scope_root) == (None, None, None)
    async with showing(qtbot, store, [engine], saved.name) as dialog:
        assert "5" in dialog.more.button.text()
        open_more(qtbot, dialog)
        fields = {name: row.field for name, row in dialog.more.rows.items()}
        assert fields["scope_root"].text() == "org:42"
        assert fields["tenant_root"].isChecked()
        assert not fields["observed_actor"].isChecked()
        assert not fields["listing_cache"].isChecked()
        assert fields["consolidation"].currentData() == "on_demand"
        assert fields["headers"].toPlainText() == "X-Team: 42\nX-Floor: 3"


async def test_what_another_engine_took_does_not_stay(
    qtbot: QtBot, tmp_path: Path, until: Until, added: Callable[[EngineEntry], None]
) -> None:
    one, two = described("one", ["scope_root", "tenant_root"]), described("two", ["scope_root"])
    added(EngineEntry(two, lambda settings, credential: FakeEngine()))
    store = ConnectionStore(tmp_path / "c.json")
    settings = EngineSettings(scope_root="org:42", tenant_root=True)
    store.add(SavedConnection(name="a", engine="one", settings=settings, key_from=KeyPlace.ASK))
    async with showing(qtbot, store, [one, two], "a") as dialog:
        choose_engine(qtbot, dialog, "two")
        dialog.open_button.click()
        await until(lambda: dialog.chosen_name)
    (saved,) = store.load()
    assert saved.engine == "two"
    assert (saved.settings.scope_root, saved.settings.tenant_root) == ("org:42", None)


async def test_a_value_that_cannot_be_used_is_said_at_its_field(
    qtbot: QtBot, tmp_path: Path, until: Until, added: Callable[[EngineEntry], None]
) -> None:
    engine = described("one", ALL)

    def build(settings: EngineSettings, credential: object) -> FakeEngine:
        if settings.retired_scope_root is not None:
            raise ConfigError(f"the `retired_scope_root` `{settings.retired_scope_root}` is none; write it as org:42")
        return FakeEngine()

    added(EngineEntry(engine, build))  # type: ignore[arg-type]
    store = ConnectionStore(tmp_path / "c.json")
    async with showing(qtbot, store, [engine]) as dialog:
        dialog.place_box.show_place(KeyPlace.ASK)
        open_more(qtbot, dialog)
        row = dialog.more.rows["retired_scope_root"]
        row.field.setFocus()
        qtbot.keyClicks(row.field, "nonsense")
        assert row.fault == ""
        qtbot.keyClick(row.field, Qt.Key.Key_Tab)
        await until(lambda: row.fault)
        assert row.fault == "The Former root `nonsense` is none; write it as org:42."
        assert row.fault in row.field.accessibleDescription()
        assert [name for name, one in dialog.more.rows.items() if one.fault] == ["retired_scope_root"]
        qtbot.keyClicks(row.field, "x")
        assert row.fault == ""
        open_more(qtbot, dialog)
        assert not row.isVisible()
        for button in (dialog.test_button, dialog.open_button):
            row.show_fault("")
            dialog.more.open(False)
            button.click()
            await until(lambda: row.fault and not dialog.jobs.is_busy)
            assert row.isVisible()
            assert row.field.hasFocus()
    assert store.load() == []


async def test_a_header_that_is_none_is_said_at_its_field(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, ConnectionStore(tmp_path / "c.json"), [described("one", ["headers"])]) as dialog:
        open_more(qtbot, dialog)
        row = dialog.more.rows["headers"]
        for words, said in (("no colon at all", "its own line"), ("X-A: 1\nx-a: 2", "twice")):
            row.field.setPlainText(words)
            dialog.test_button.click()
            await until(lambda: row.fault and not dialog.jobs.is_busy)
            assert said in row.fault


async def test_a_header_that_may_hold_a_key_is_not_saved(
    qtbot: QtBot, tmp_path: Path, until: Until, added: Callable[[EngineEntry], None]
) -> None:
    engine = described("one", ["headers"])
    added(EngineEntry(engine, lambda settings, credential: FakeEngine()))
    store = ConnectionStore(tmp_path / "c.json")
    async with showing(qtbot, store, [engine]) as dialog:
        dialog.place_box.show_place(KeyPlace.ASK)
        open_more(qtbot, dialog)
        qtbot.keyClicks(dialog.more.rows["headers"].field, "X-Api-Key: sk-secret-0123456789")
        dialog.open_button.click()
        await until(lambda: not dialog.jobs.is_busy)
        assert "X-Api-Key" in dialog.more.rows["headers"].fault
        assert "sk-secret" not in dialog.more.rows["headers"].fault
        assert dialog.isVisible()
    assert store.load() == []


@pytest.mark.parametrize("zoom", [100, 200])
async def test_all_of_it_is_reached_in_a_small_window(qtbot: QtBot, tmp_path: Path, zoom: int) -> None:
    before = theme().zoom
    theme().set_zoom(zoom)
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.resize(1280, 800)
    try:
        engines = [described(id, ALL, id.capitalize()) for id in ("one", "two", "three", "four")]
        async with showing(qtbot, ConnectionStore(tmp_path / "c.json"), engines, parent=parent) as dialog:
            assert dialog.width() <= 1280
            assert dialog.height() <= 800
            open_more(qtbot, dialog)
            scroll = dialog.findChild(QScrollArea, "connectScroll")
            assert scroll is not None
            last = dialog.more.rows["headers"].field
            last.setFocus(Qt.FocusReason.TabFocusReason)
            scroll.ensureWidgetVisible(last)
            top = last.mapTo(scroll.viewport(), last.rect().topLeft())
            assert scroll.viewport().rect().contains(top)
            right = last.mapTo(scroll.viewport(), last.rect().topRight())
            assert scroll.viewport().rect().contains(right)
            assert dialog.open_button.isVisible()
    finally:
        theme().set_zoom(before)


async def test_cards_show_all_of_their_words(qtbot: QtBot, tmp_path: Path) -> None:
    engines = [described(id, [], f"Memory {id}") for id in ("one", "two", "three", "four")]
    async with showing(qtbot, ConnectionStore(tmp_path / "c.json"), engines) as dialog:
        cards = dialog.findChildren(EngineCard)
        assert len(cards) == 4
        await settled(dialog)
        assert len({card.y() for card in cards}) == 2
        assert len({card.size().toTuple() for card in cards}) == 1
        for width in (760, 840, 1400):
            dialog.resize(width, dialog.height())
            await settled(dialog)
            assert all(card.width() >= card.sizeHint().width() for card in cards)
        assert len({card.y() for card in cards}) == 1


async def test_what_the_open_connection_tells_is_shown_with_it_alone(qtbot: QtBot, tmp_path: Path) -> None:
    store = ConnectionStore(tmp_path / "c.json")
    for name in ("a", "b"):
        store.add(SavedConnection(name=name, engine="one", key_from=KeyPlace.ASK))
    told = ["11"]
    engine = described("one", [])

    def details() -> list[Detail]:
        return [Detail(name="Events of other programs", value=told[-1]), Detail(name="<b>x</b>", value="<i>y</i>")]

    async with showing(qtbot, store, [engine], "a", details=details) as dialog:
        box = dialog.findChild(QWidget, "connectionDetails")
        assert box is not None
        assert box.isVisible()
        words = [label.text() for label in box.findChildren(QLabel)]
        assert words == ["This connection", "Events of other programs", "11", "<b>x</b>", "<i>y</i>"]
        assert all(label.textFormat() is Qt.TextFormat.PlainText for label in box.findChildren(QLabel))
        rows = {button.accessibleName().split(",")[0]: button for button in dialog._row_group.buttons()}
        qtbot.mouseClick(rows["b"], Qt.MouseButton.LeftButton)
        assert not box.isVisible()
        told.append("12")
        qtbot.mouseClick(rows["a"], Qt.MouseButton.LeftButton)
        assert "12" in [label.text() for label in box.findChildren(QLabel) if label.isVisible()]
