"""What the window's command line asks for. Free of Qt, which reads the environment when it is first imported."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from explorer import __version__
from explorer.contract import MetaFilter
from explorer.contract.model import reason

_SIZE = re.compile(r"(\d{3,5})x(\d{3,5})")


@dataclass(frozen=True)
class Options:
    """What the command line asks for. `size` is width and height in logical pixels."""

    open_path: Path | None = None
    connection: str | None = None
    is_sample: bool = False
    is_read_only: bool = False
    filter: MetaFilter | None = None
    shot: Path | None = None
    size: tuple[int, int] | None = None
    theme: str | None = None
    is_rtl: bool = False
    language: str | None = None


def parse(argv: list[str]) -> tuple[Options, str | None]:
    """The options, and the scale for Qt where one is asked for. Exits with 2 for arguments that make no sense."""
    parser = argparse.ArgumentParser(
        prog="tinymemory-explorer", description="Browse what AI agents remember: by facet, by namespace, item by item."
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--open", metavar="PATH", type=Path, help="a memory file to open; it must exist")
    what.add_argument("--sample", action="store_true", help="open the sample memory")
    what.add_argument("--connection", metavar="NAME", help="a saved connection to open")
    parser.add_argument("--read-only", action="store_true", help="open it so that nothing in it can change")
    parser.add_argument("--filter", metavar="JSON", type=_filter, help="begin with this filter, as the contract's JSON")
    parser.add_argument("--shot", metavar="OUT.png", type=Path, help="draw the window into a picture and end")
    parser.add_argument("--size", metavar="WxH", type=_size, help="the window's size, such as 1440x900")
    parser.add_argument("--theme", choices=("system", "light", "dark"), help="the window's appearance")
    parser.add_argument("--language", choices=("en", "de", "zh_CN"), help="the window's language")
    parser.add_argument("--rtl", action="store_true", help="lay the window out from right to left")
    parser.add_argument("--scale", metavar="N", type=_scale, help="enlarge everything, such as 2")
    parser.add_argument("--version", action="version", version=f"TinyMemory Explorer {__version__}")
    args = parser.parse_args(argv)
    if args.shot is not None and args.connection is not None:
        parser.error("--shot draws the sample or the file that --open names, and no saved connection")
    if args.open is not None and not args.open.exists():
        parser.error(f"there is no file {args.open}; name one that exists, or use --sample")
    options = Options(
        open_path=args.open,
        connection=args.connection,
        is_sample=args.sample,
        is_read_only=args.read_only,
        filter=args.filter,
        shot=args.shot,
        size=args.size,
        theme=args.theme,
        is_rtl=args.rtl,
        language=args.language,
    )
    return options, args.scale


def _filter(text: str) -> MetaFilter:
    try:
        # The contract ignores keys that it does not know. A person would then see more than was asked for.
        unknown = sorted(set(json.loads(text)) - set(MetaFilter.model_fields))
        if unknown:
            raise argparse.ArgumentTypeError(f"not a filter: it has no condition named {', '.join(unknown)}")
        return MetaFilter.model_validate_json(text)
    except (TypeError, ValueError) as error:
        if not isinstance(error, ValidationError):
            raise argparse.ArgumentTypeError("not a filter: it must be a JSON object") from None
        raise argparse.ArgumentTypeError(f"not a filter: {reason(error)}") from None


def _size(text: str) -> tuple[int, int]:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError("a size is written like 1440x900")
    return int(found[1]), int(found[2])


def _scale(text: str) -> str:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.5 <= value <= 4:
        raise argparse.ArgumentTypeError("a scale is a number from 0.5 to 4")
    return text
