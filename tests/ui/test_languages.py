"""Each language has every message, and a window that speaks one says nothing in English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po

import explorer
from explorer import i18n
from explorer.i18n import LANGUAGES, language_for, tr, tr_in, tr_n, use_language
from explorer.options import parse
from explorer.paths import resource

KEYWORDS = {"tr": None, "tr_n": (1, 2), "tr_in": ((1, "c"), 2), "mark": None, "mark_n": (1, 2)}
PLACES = re.compile(r"\{[^{}]*\}")


@pytest.fixture(autouse=True)
def _english_after() -> Iterator[None]:
    yield
    use_language("en")


def messages() -> set[tuple[str | None, object]]:
    """Context and text of all that the code asks a translation of."""
    folder = str(Path(explorer.__file__).parent)
    found = extract_from_dir(folder, method_map=[("**.py", "python")], keywords=KEYWORDS, strip_comment_tags=True)
    return {(context, message) for _, _, message, _, context in found}


def catalog(language: str) -> Catalog:
    with (resource("locale") / language / "LC_MESSAGES" / "explorer.po").open("rb") as file:
        return read_po(file, language)


def forms(of: object) -> tuple[str, ...]:
    return (of,) if isinstance(of, str) else tuple(of)  # type: ignore[arg-type]


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_a_language_has_every_message_and_none_besides(language: str) -> None:
    made = {(message.context, message.id): message for message in catalog(language) if message.id}
    assert set(made) == messages(), "run packaging/dev.py locale, then translate"
    empty = [message.id for message in made.values() if not all(forms(message.string)) or message.fuzzy]
    assert not empty


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_a_translation_puts_in_what_its_message_puts_in(language: str) -> None:
    for message in catalog(language):
        if message.id:
            wanted = set(PLACES.findall(forms(message.id)[-1]))
            for said in forms(message.string):
                assert set(PLACES.findall(said)) == wanted, (message.id, said)
            for first in forms(message.id):
                assert first[:1].isspace() == forms(message.string)[0][:1].isspace(), message.id
                assert first[-1:].isspace() == forms(message.string)[0][-1:].isspace(), message.id


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_what_is_shipped_is_compiled_from_what_is_written(language: str) -> None:
    folder = resource("locale") / language / "LC_MESSAGES"
    compiled = BytesIO()
    write_mo(compiled, catalog(language))
    compiled.seek(0)
    with (folder / "explorer.mo").open("rb") as file:
        shipped = {(message.context, forms(message.id)): message.string for message in read_mo(file) if message.id}
    made = {(message.context, forms(message.id)): message.string for message in read_mo(compiled) if message.id}
    assert shipped == made, "run packaging/dev.py locale"


@pytest.mark.parametrize(
    ("wanted", "language"),
    [
        (["de-AT", "en"], "de"),
        (["fr-FR", "de-DE"], "de"),
        (["zh-Hans-CN"], "zh_CN"),
        (["zh_TW"], "zh_CN"),
        (["en-GB", "de"], "en"),
        (["C"], "en"),
        (["fr"], "en"),
        ([], "en"),
    ],
)
def test_the_language_is_the_first_that_is_there(wanted: list[str], language: str) -> None:
    assert language_for(wanted) == language


def test_words_come_from_the_language_in_use() -> None:
    use_language("de")
    assert tr("Cancel") == "Abbrechen"
    use_language("en")
    assert tr("Cancel") == "Cancel"


def test_stored_text_with_braces_is_put_in_as_it_is() -> None:
    assert tr("Drew {path}", path="{0} {name} {") == "Drew {0} {name} {"


def test_counts_follow_the_grammar() -> None:
    use_language("de")
    assert tr_n("{n} day", "{n} days", 1, n="1") == "1 Tag"
    assert tr_n("{n} day", "{n} days", 2, n="2") == "2 Tage"
    use_language("zh_CN")
    assert tr_n("{n} day", "{n} days", 1, n="1") == "1 天"


def test_a_context_that_is_not_known_leaves_the_word() -> None:
    assert tr_in("nowhere", "Drew {path}", path="a") == "Drew a"
    assert i18n.mark("Cancel") == "Cancel"


def test_no_message_is_asked_for_alone_and_with_a_plural() -> None:
    """A catalogue has one entry for both, of which the translation would not be found one way."""
    alone = {message for _, message in messages() if isinstance(message, str)}
    assert not [message for _, message in messages() if isinstance(message, tuple) and message[0] in alone]


def test_the_command_line_takes_the_languages_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    for language in LANGUAGES:
        assert parse(["--language", language])[0].language == language
    with pytest.raises(SystemExit):
        parse(["--help"])
    assert f"{{{','.join(LANGUAGES)}}}" in capsys.readouterr().out
