"""Presets in a file of the user's. What keeps that file whole is `EntryFile`, see also the tests of connections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from explorer.context import DEFAULT_BRIEFS, Brief, ContextSpec, InvalidSpec, Preset, PresetStore
from explorer.contract import ConfigError, Conflict, ItemKind, MetaFilter, Namespace, Reach

ONE = Brief(heading="Büro", question="Who?", filter=MetaFilter(kinds=[ItemKind.LEARNING]))
TWO = Brief(heading="Then", question="When?")


@pytest.fixture
def store(tmp_path: Path) -> PresetStore:
    return PresetStore(tmp_path / "presets.json")


def names(store: PresetStore) -> list[str]:
    return [preset.name for preset in store.load()]


def test_a_preset_comes_back(store: PresetStore) -> None:
    assert store.load() == []
    preset = Preset(name="Standup", briefs=[TWO, ONE], learnings_limit=0, budget_tokens=800)
    store.save(preset)
    assert PresetStore(store.path).load() == [preset]
    assert store.get("Standup") == preset
    assert store.get("other") is None
    assert json.loads(store.path.read_text("utf-8")) == {
        "version": 1,
        "presets": [
            {
                "name": "Standup",
                "briefs": [
                    {"heading": "Then", "question": "When?", "filter": {}},
                    {"heading": "Büro", "question": "Who?", "filter": {"kinds": ["learning"]}},
                ],
                "learnings_limit": 0,
                "budget_tokens": 800,
            }
        ],
    }
    assert "Büro" in store.path.read_text("utf-8")


def test_a_preset_makes_a_spec() -> None:
    reach = Reach.of(Namespace.parse("team:acme"))
    preset = Preset(name="p", briefs=[ONE], learnings_limit=3, budget_tokens=9)
    assert preset.spec(reach) == ContextSpec(briefs=[ONE], learnings_limit=3, budget_tokens=9, reach=reach)
    assert Preset(name="p").spec() == ContextSpec()
    assert tuple(Preset(name="p").briefs) == DEFAULT_BRIEFS


def test_presets_are_replaced_renamed_and_removed(store: PresetStore) -> None:
    for name in "cab":
        store.save(Preset(name=name))
    store.save(Preset(name="a", budget_tokens=7))
    assert [(preset.name, preset.budget_tokens) for preset in store.load()] == [("c", 1500), ("a", 7), ("b", 1500)]
    store.save(Preset(name="d"), replacing="a")
    with pytest.raises(Conflict, match="a preset named b already; choose another name"):
        store.save(Preset(name="b"), replacing="d")
    assert names(store) == ["c", "d", "b"]
    assert store.remove("d")
    assert not store.remove("d")
    assert names(store) == ["c", "b"]


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x1b[31m", "a\u202eb"])
def test_name_is_one_readable_line(name: str) -> None:
    with pytest.raises(ValidationError):
        Preset(name=name)


def test_what_no_document_can_be_compiled_by_is_not_saved(store: PresetStore) -> None:
    for preset in (Preset(name="p", budget_tokens=0), Preset(name="p", briefs=[Brief(heading=" ", question="Q")])):
        with pytest.raises(InvalidSpec):
            store.save(preset)
    assert not store.path.exists()


def test_what_is_not_known_stays(store: PresetStore) -> None:
    later = {"name": "later", "briefs": [{"heading": "H", "question": "Q", "weight": 3}], "colour": "red"}
    broken, blank = {"name": 3}, {"name": "blank", "briefs": [{"heading": "", "question": "Q"}]}
    store.path.write_text(json.dumps({"version": 1, "presets": [later, broken, "?", blank, later]}))
    assert names(store) == names(store) == ["later"]
    assert [notice.partition(" is left out: ")[0].partition(" in ")[0] for notice in store.notices] == [
        f"Saved preset {number}" for number in (2, 3, 4, 5)
    ]
    assert store.notices[2].endswith("is left out: the heading of brief 1 must not be blank.")
    assert store.notices[3].endswith("is left out: its name is there twice.")
    saved = Preset(name="later", briefs=[TWO, Brief(heading="H", question="Q2")])
    store.save(saved)
    assert json.loads(store.path.read_text())["presets"] == [
        {
            **saved.model_dump(mode="json"),
            "briefs": [
                {"heading": "Then", "question": "When?", "filter": {}},
                {"heading": "H", "question": "Q2", "filter": {}, "weight": 3},
            ],
            "colour": "red",
        },
        *(broken, "?", blank, later),
    ]


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"version": 1}', b'{"version": 2, "presets": []}', b"\xff"])
def test_a_damaged_file_is_kept_aside_and_told(store: PresetStore, content: bytes) -> None:
    store.path.write_bytes(content)
    assert store.load() == []
    store.save(Preset(name="new"))
    assert names(store) == ["new"]
    aside = store.path.with_name("presets.unreadable-1.json")
    assert aside.read_bytes() == content
    (notice,) = store.notices
    assert notice.startswith("The saved presets could not be read: ")
    assert notice.endswith(f"The file was kept as {aside}.")


def test_a_folder_in_its_place_is_told(store: PresetStore) -> None:
    store.path.mkdir()
    with pytest.raises(ConfigError, match="cannot read the saved presets at "):
        store.load()


def test_the_file_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: tmp_path / "config")
    PresetStore().save(Preset(name="p"))
    assert names(PresetStore(tmp_path / "config" / "presets.json")) == ["p"]
