"""The choice of a language: each is called as it calls itself, and the choice is for the next start."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAction
from pytestqt.qtbot import QtBot

from explorer.i18n import LANGUAGES, OWN_NAMES
from explorer.ui.actions import actions_of
from explorer.ui.main_window import MainWindow
from tests.conftest import Until
from tests.ui.test_main_window import opened
from tests.ui.test_palette import commands, open_palette

CHOICES = {"": "As the system", "en": "English", "de": "Deutsch", "zh_CN": "简体中文"}


def kept(folder: Path) -> QSettings:
    return QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)


def languages(window: MainWindow) -> dict[str, QAction]:
    prefix = "Appearance: Language: "
    found = {title: action for action, title in actions_of(window).items() if title.startswith(prefix)}
    return {title.removeprefix(prefix): action for title, action in found.items()}


def test_each_language_has_a_name_of_its_own() -> None:
    assert set(OWN_NAMES) == set(LANGUAGES)


@pytest.mark.parametrize("language", CHOICES)
async def test_a_choice_is_kept_and_said(qtbot: QtBot, tmp_path: Path, until: Until, language: str) -> None:
    settings = kept(tmp_path)
    settings.setValue("language", "de" if language != "de" else "en")
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        assert list(languages(window)) == list(CHOICES.values())
        title = window.more_button.accessibleName()
        open_palette(qtbot, window, "language ")
        window.palette_box.edit.insert(CHOICES[language])  # no keys of a test's type Chinese
        assert commands(window)[0].title == f"Appearance: Language: {CHOICES[language]}"
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        name = CHOICES[language] if language else "the system's language"
        assert window.error_banner.sentence == f"The window speaks {name} from its next start."
        assert window.more_button.accessibleName() == title, "not before"
    settings.sync()
    async with opened(qtbot, tmp_path, until, settings=kept(tmp_path)) as window:
        assert [each for each, action in languages(window).items() if action.isChecked()] == [CHOICES[language]]


async def test_what_is_kept_and_no_language_is_the_system_s(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    settings = kept(tmp_path)
    settings.setValue("language", "tlh")
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        assert languages(window)["As the system"].isChecked()
