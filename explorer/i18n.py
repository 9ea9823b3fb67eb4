"""The window's words in the user's language. Free of Qt.

Source text is English; `resources/locale/LANGUAGE/LC_MESSAGES/explorer.po` holds the others, and `dev.py locale`
brings them up to date. What is stored, and what an engine says, is never translated.
"""

from __future__ import annotations

import gettext
from collections.abc import Iterable

from explorer.paths import resource

DOMAIN = "explorer"

LANGUAGES = ("en", "de", "zh_CN")
"""What the window can speak, as gettext names them; the first is the source's."""

OWN_NAMES = {"en": "English", "de": "Deutsch", "zh_CN": "简体中文"}
"""What each language calls itself, which is the same in all of them."""

_words = gettext.NullTranslations()


def tr(message: str, /, **values: object) -> str:
    """`message` in the language in use, each `{name}` in it replaced by the value of that name."""
    said = _words.gettext(message)
    return said.format_map(values) if values else said


def tr_n(one: str, many: str, n: int, /, **values: object) -> str:
    """`one` or `many` in the language in use, as its grammar has it for `n`; `{name}` as in `tr`.

    Neither knows how `n` is written: `tr_n("{n} item", "{n} items", count, n=number(count))`.
    """
    said = _words.ngettext(one, many, n)
    return said.format_map(values) if values else said


def tr_in(context: str, message: str, /, **values: object) -> str:
    """As `tr`, for a word that English uses for two things: `context` tells them apart for who translates."""
    said = _words.pgettext(context, message)
    return said.format_map(values) if values else said


def mark(message: str) -> str:
    """`message` as it is, noted for translation: for constants, which `tr` translates where they are shown."""
    return message


def mark_n(one: str, many: str) -> tuple[str, str]:
    """As `mark`, for what `tr_n` is to translate."""
    return one, many


def use_language(language: str) -> None:
    """Speak `language`, one of `LANGUAGES`, from now on: what is on screen stays as it is."""
    global _words
    if language == LANGUAGES[0]:
        _words = gettext.NullTranslations()
        return
    _words = gettext.translation(DOMAIN, str(resource("locale")), [language])


def language_for(wanted: Iterable[str]) -> str:
    """The one of `LANGUAGES` for who wants these, best first, as systems name them: `de-AT`, `zh_Hans_CN`, `fr`."""
    for name in wanted:
        base = name.replace("-", "_").split("_")[0].lower()
        for language in LANGUAGES:
            if language.split("_")[0] == base:
                return language
    return LANGUAGES[0]
