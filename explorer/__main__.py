"""The window's command: reads the arguments, then hands over to Qt."""

from __future__ import annotations

import os
import sys

from explorer.options import parse


def main(argv: list[str] | None = None) -> int:
    """Open the window, or draw it into a file; the process's exit status."""
    options, scale = parse(sys.argv[1:] if argv is None else argv)
    if options.shot is not None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    if scale is not None:
        os.environ["QT_SCALE_FACTOR"] = scale
    from explorer.ui.app import run  # Qt reads the environment when it is first imported

    return run(options)


if __name__ == "__main__":
    sys.exit(main())
