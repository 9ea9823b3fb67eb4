"""Where the files that come with the program are."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_PLACES = (
    _PACKAGE / "_resources",  # a wheel, or a frozen program, carries them inside the package
    _PACKAGE.parent / "resources",  # a checkout
)


def resource(name: str) -> Path:
    """The file or folder `name` of the shipped resources, with "/" between its parts, such as "icons/erase.svg".

    Raises FileNotFoundError where there is none of that name: the program is not whole.
    """
    for place in _PLACES:
        if (path := place / name).exists():
            return path
    raise FileNotFoundError(f"resource {name!r} is in none of: {', '.join(map(str, _PLACES))}")
