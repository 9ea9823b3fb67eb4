"""Every word of the window's own passes `tr`, and each language has them all."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator, Set
from enum import StrEnum
from pathlib import Path

import pytest

import explorer
from explorer import i18n, text
from explorer.contract import FetchMode, ItemKind, LearningKind, Role, SourceKind, TinyMemoryError
from explorer.removal.page import _STYLE as STYLE
from explorer.transfer import FileError

PACKAGE = Path(explorer.__file__).parent
UI = PACKAGE / "ui"

SPEAKS = "from explorer.i18n import"

TRANSLATES = {"tr", "tr_n", "tr_in", "mark", "mark_n"}

UNSEEN = {
    # Qt's names and the settings', the program's log, and what is raised for programmers.
    "setObjectName",
    "setProperty",
    "property",
    "findChild",
    "value",
    "setValue",
    "debug",
    "info",
    "warning",
    "exception",
    "error",
    "compile",
    "AssertionError",
    "RuntimeError",
    "TypeError",
    "ValueError",
    "KeyError",
    "NotImplementedError",
}

ERRORS = {error.__name__ for error in (*TinyMemoryError.__subclasses__(), FileError)}
"""Like what an engine says, what a service raises is in English."""

NO_WORDS: dict[str, set[str]] = {
    "removal/page.py": {STYLE},
    "ui/app.py": {
        "TinyMemory Explorer",
        "no Qt platform plugin could be initialized",  # Qt's own messages, by which they are known
        "This plugin does not support",
        *("PingFang SC", "Microsoft YaHei UI", "Noto Sans CJK SC", "Source Han Sans SC"),
    },
    "ui/ask.py": {"TinyMemory Explorer"},
    "ui/clock.py": {"Etc"},
    "ui/context_preview.py": {"Markdown (*.md)"},
    "ui/dialogs/connect_parts/more_settings.py": {"Fault", "About"},  # ends of names
    "ui/dialogs/connect_parts/trial.py": {"a connection that is tested", "no answer within "},  # errors are explained
    "ui/dialogs/writer.py": {"Which colour is the door?", "The door of the office was painted green."},  # to a model
    "ui/files.py": {"JSON Lines (*.jsonl *.ndjson)", "PDF (*.pdf)"},
    "ui/main_window.py": {"TinyMemory Explorer", " – TinyMemory Explorer", "open item", "Alt+Shift+"},
    "ui/news.py": {"may not do this"},  # what an engine's error says
    "ui/reads.py": {"open item"},
    "ui/theme.py": {"Tag", "Fusion"},
    "ui/windows.py": {"see off "},
}
"""By file: what looks like words and is none."""

KEYS = re.compile(r"((Ctrl|Alt|Shift)\+)*(\S|F\d+|Backspace|Del|Down|End|Esc|Home|Left|Return|Right|Space|Up)")
WORDS = re.compile(r"[A-Za-z]{2,}[,.:;]? +[A-Za-z(]|^[A-Z][a-z]{2,}")
TAGS = re.compile(r"<[^>]*>?")


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _untranslated(source: str, unseen: Set[str] = UNSEEN) -> Iterator[tuple[int, str]]:
    """Line and text of each literal that looks like words for a person and does not pass `tr`."""
    tree = ast.parse(source)
    skipped = {id(node) for node in _docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node) in TRANSLATES | unseen:
            skipped |= {id(part) for arg in node.args for part in ast.walk(arg) if isinstance(part, ast.Constant)}
        elif isinstance(node, ast.Assert) and node.msg is not None:
            skipped |= {id(part) for part in ast.walk(node.msg)}
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            skipped |= {id(part) for part in ast.walk(node.annotation)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in skipped:
            continue
        if KEYS.fullmatch(node.value):
            continue
        if WORDS.search(TAGS.sub("", node.value).strip()):
            yield node.lineno, node.value


def _sources() -> list[Path]:
    """The window's files, but for its style sheet, and those of services whose words it shows."""
    ui = [path for path in UI.rglob("*.py") if path.name != "sheet.py"]
    others = [path for path in PACKAGE.rglob("*.py") if UI not in path.parents and SPEAKS in path.read_text()]
    return sorted([*ui, *others])


def test_every_visible_string_passes_tr() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text!r}"
        for path in _sources()
        for line, text in _untranslated(path.read_text(), UNSEEN if UI in path.parents else UNSEEN | ERRORS)
        if text not in NO_WORDS.get(path.relative_to(PACKAGE).as_posix(), set())
    ]
    assert not found, "\n".join(found)


def test_what_is_no_words_is_still_in_its_file() -> None:
    for name, texts in NO_WORDS.items():
        there = {text for _, text in _untranslated((PACKAGE / name).read_text())}
        assert texts <= there, name


def test_an_untranslated_string_is_found() -> None:
    source = 'a.setText("Copy")\nb.setText(f"{n} items of")\nc.setText(tr("Copy"))\nd = "kind"\n'
    assert [line for line, _ in _untranslated(source)] == [1, 2]


def test_tr_is_given_literals_and_called_when_it_is_shown() -> None:
    """A message put together at run time has no translation, and one at import is before a language is chosen."""
    for path in _sources():
        tree = ast.parse(path.read_text())
        inside = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for part in ast.walk(node)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or _name(node) not in TRANSLATES:
                continue
            name, where = _name(node), f"{path.name}:{node.lineno}"
            if name.startswith("mark"):
                assert isinstance(node.args[0], ast.Constant), where
                continue
            assert id(node) in inside, f"{where}: {name} at import; use mark"
            assert not isinstance(node.args[0], ast.JoinedStr | ast.BinOp), f"{where}: no literal"


def test_tr_is_not_called_inside_an_f_string() -> None:
    """What finds the messages takes an f-string for one word, and would pass over them."""
    for path in _sources():
        for node in ast.walk(ast.parse(path.read_text())):
            inside = ast.walk(node) if isinstance(node, ast.JoinedStr) else ()
            calls = [part for part in inside if isinstance(part, ast.Call) and _name(part) in TRANSLATES]
            assert not [call for call in calls if isinstance(call.args[0], ast.Constant)], f"{path.name}:{node.lineno}"


class Marked(gettext.NullTranslations):
    """A language in which what was translated can be told from what was not."""

    def gettext(self, message: str) -> str:
        return f"<{message}>"


@pytest.mark.parametrize("names", [ItemKind, LearningKind, SourceKind, Role, FetchMode])
def test_each_name_of_the_contract_has_a_word(names: type[StrEnum], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(i18n, "_words", Marked())
    assert [text.word(name) for name in names] == [f"<{name.value}>" for name in names]
