"""Briefs, the number of learnings and a budget under a name of the user's.

    <config folder>/tinymemory-explorer/presets.json
    {"version": 1, "presets": [{"name": "Standup", "briefs": […], "learnings_limit": 5, "budget_tokens": 800}]}

How the file is shared and kept whole: `EntryFile`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from explorer.context.spec import (
    DEFAULT_BRIEFS,
    DEFAULT_BUDGET_TOKENS,
    DEFAULT_LEARNINGS,
    Brief,
    ContextSpec,
    InvalidSpec,
)
from explorer.contract import Reach, is_blank
from explorer.contract.model import Count, Model, Text, reason
from explorer.engines.entry_file import EntryFile


class Preset(Model):
    """What a spec has but its reach, under a name. Raises ValidationError for a name that is no readable line."""

    name: Text
    briefs: list[Brief] = Field(default_factory=lambda: list(DEFAULT_BRIEFS))
    learnings_limit: Count = DEFAULT_LEARNINGS
    budget_tokens: Count = DEFAULT_BUDGET_TOKENS

    @field_validator("name")
    @classmethod
    def _is_a_line(cls, name: str) -> str:
        if is_blank(name) or not name.isprintable():
            raise ValueError("a preset's name must be one line of readable characters")
        return name

    def spec(self, reach: Reach | None = None) -> ContextSpec:
        """The spec of a document for an agent of that reach."""
        return ContextSpec(
            budget_tokens=self.budget_tokens, briefs=self.briefs, learnings_limit=self.learnings_limit, reach=reach
        )


class PresetStore:
    """The presets of this user, in the order they were added.

    `path` is the file; None is the one in the user's config folder. `notices` tells what the user should know of what
    was found there, a sentence each, and empties only by the caller. All calls touch the disk, and raise ConfigError
    or Unavailable where the file cannot be used.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._file = EntryFile(path, name="presets", what="saved presets")

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def notices(self) -> list[str]:
        return self._file.notices

    def load(self) -> list[Preset]:
        """What is saved. A file that cannot be read is moved aside; an entry that cannot is left in its place."""
        presets: dict[str, Preset] = {}
        for number, entry in enumerate(self._file.load(), 1):
            try:
                preset = Preset.model_validate(entry)
                preset.spec().check()
            except ValidationError as error:
                self._left_out(number, reason(error))
                continue
            except InvalidSpec as error:
                self._left_out(number, error.text)
                continue
            if preset.name in presets:
                self._left_out(number, "its name is there twice")
                continue
            presets[preset.name] = preset
        return list(presets.values())

    def get(self, name: str) -> Preset | None:
        """The preset of that name."""
        return next((preset for preset in self.load() if preset.name == name), None)

    def save(self, preset: Preset, *, replacing: str | None = None) -> None:
        """Put a preset in the place of the one of its name, or of `replacing` (a rename); else append it.

        Raises InvalidSpec for one that no document can be compiled by, Conflict where a rename meets a taken name.
        """
        preset.spec().check()
        old = preset.name if replacing is None else replacing
        self._file.put(preset.name, partial(_written, preset), old=old, noun="preset")

    def remove(self, name: str) -> bool:
        """Take a preset off the list; False where it was not on it."""
        return self._file.remove(name)

    def _left_out(self, number: int, why: str) -> None:
        self._file.notice(f"Saved preset {number} in {self.path} is left out: {why}.")


def _written(preset: Preset, old: dict[str, Any]) -> dict[str, Any]:
    """The entry as it goes to the file: what this version knows is new, and what it does not know stays."""
    new = preset.model_dump(mode="json", by_alias=True)
    old_briefs = old.get("briefs")
    before = {str(brief.get("heading")): brief for brief in _dicts(old_briefs if isinstance(old_briefs, list) else [])}
    new["briefs"] = [{**brief, **_unknown(before.get(brief["heading"], {}), Brief)} for brief in new["briefs"]]
    return {**new, **_unknown(old, Preset)}


def _dicts(values: list[Any]) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)]


def _unknown(entry: dict[str, Any], model: type[Model]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in model.model_fields}
