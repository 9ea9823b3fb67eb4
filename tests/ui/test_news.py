"""What an error says to a person: a key that is refused is one thing, a key that lacks something another."""

from __future__ import annotations

import pytest

from explorer.contract import EngineFailure, TinyMemoryError, Unauthorized, Unavailable
from explorer.ui import news

LACKS = "CortexDB: POST v1/forget at api.example answered 403: the key lacks the capability `forget`; ask for another"
REFUSED = "CortexDB: GET v1/events at api.example answered 401: the key was refused; check it, or sign in again"


@pytest.mark.parametrize(
    ("error", "lacks", "opening", "brief"),
    [
        (Unauthorized(LACKS), True, "The key may not do this: CortexDB: ", "The key may not do this."),
        (Unauthorized(REFUSED), False, "The key was refused: CortexDB: ", "The key was refused."),
        (Unauthorized("no"), False, "The key was refused: no.", "The key was refused: no."),
        (Unavailable("a capability " * 20), False, "No answer came: ", None),
        (EngineFailure("permission"), False, "The engine failed: ", None),
    ],
)
def test_a_key_that_lacks_something_is_not_said_to_be_refused(
    error: TinyMemoryError, lacks: bool, opening: str, brief: str | None
) -> None:
    assert news.lacks_permission(error) is lacks
    assert news.sentence(error).startswith(opening)
    assert news.brief(error) == (news.sentence(error) if brief is None else brief)
