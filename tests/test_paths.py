from pathlib import Path

import pytest

from explorer.paths import resource

ROOT = Path(__file__).parents[1]


def test_checkout_is_found():
    assert resource("icons") == ROOT / "resources" / "icons"


def test_unknown_name_says_where_it_was_looked_for():
    with pytest.raises(FileNotFoundError, match=r"'icons/no-such\.svg' is in none of: .*resources"):
        resource("icons/no-such.svg")
