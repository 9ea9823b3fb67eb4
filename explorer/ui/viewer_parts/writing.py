"""Items written into text documents, step by step: a step is short, and the caller decides when to take the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from itertools import groupby

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFrameFormat,
    QTextLength,
    QTextOption,
    QTextTableCellFormat,
    QTextTableFormat,
)

from explorer.contract import Role, Turn
from explorer.i18n import tr
from explorer.text import NO_BREAK, date_in_full, word
from explorer.ui.markdown import Block, BlockKind, Side, Span
from explorer.ui.theme import theme
from explorer.ui.viewer_parts.ink import LEADING, MAX_LINE, PIECE, Ink, Steps, broken_lines, pieces, put, put_long

ROLE_PX = 80  # at the design's text size
CELL = 8
NUMBER_SIGN = "#"
ROWS_PER_TABLE = 10
BLOCKS_PER_STEP = 16
CELLS_PER_TABLE = 200
TABLE_PAD = 6
LIST_PX = 20  # of indentation per level
QUOTE_PX = 3
MAX_COLUMNS = 24
IMAGE_SIGN = "▨"
_DESIGN_PX = 13


def write_plain(cursor: QTextCursor, text: str, role: str, token: str, ink: Ink, limit: int = MAX_LINE) -> Steps:
    """A text as it is, but for lines beyond `limit`."""
    yield from put_long(cursor, text, ink.chars(role, token), ink, limit)


# Conversations


@dataclass(frozen=True)
class _Row:
    """A turn, or a piece of a long one: the first has the speaker, the last the tool calls and the line below."""

    turn: Turn
    text: str
    is_first: bool
    is_last: bool
    number: int
    """Of the turn in its thread, from 0."""
    is_found: bool


@dataclass
class TurnPlaces:
    """The numbers of a conversation's turns, which of them to mark, and where those that are written begin."""

    first: int = 0
    found: range = range(0)
    starts: list[int] = field(default_factory=list)
    """Positions in the document."""


def write_turns(cursor: QTextCursor, turns: Sequence[Turn], zone: tzinfo, ink: Ink, places: TurnPlaces) -> Steps:
    """Turns in two columns, who and when beside what was said. A step is a table of a few turns."""
    day = ""
    for rows in _tables(turns, places):
        cursor.beginEditBlock()
        table = cursor.insertTable(len(rows), 2, _turn_table())
        for at, row in enumerate(rows):
            for column in (0, 1):
                table.cellAt(at, column).setFormat(_turn_cell(column, row))
            if row.is_first:
                day = _write_speaker(table.cellAt(at, 0).firstCursorPosition(), row, day, zone, ink)
            _write_said(table.cellAt(at, 1).firstCursorPosition(), row, ink)
        # Only now do they stay: what is written into a cell moves all the cells after it.
        places.starts += [table.cellAt(at, 0).firstPosition() for at, row in enumerate(rows) if row.is_first]
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.setBlockFormat(_thin())
        cursor.setBlockCharFormat(_tiny())
        cursor.endEditBlock()
        yield sum(len(row.text) for row in rows)


def _tables(turns: Sequence[Turn], places: TurnPlaces) -> Iterator[list[_Row]]:
    """The rows of one table after the other. Each change lays its whole table out again, so they are kept small."""
    rows: list[_Row] = []
    size = 0
    for number, turn in enumerate(turns, places.first):
        texts = list(pieces(turn.text)) or [""]
        is_found = number in places.found
        for at, text in enumerate(texts):
            rows.append(_Row(turn, text, at == 0, at == len(texts) - 1, number, is_found))
            size += len(text)
            if len(rows) >= ROWS_PER_TABLE or size >= PIECE:
                yield rows
                rows, size = [], 0
    if rows:
        yield rows


def _turn_table() -> QTextTableFormat:
    form = QTextTableFormat()
    width = round((ROLE_PX - CELL) * theme().size_px("body") / _DESIGN_PX)
    form.setColumnWidthConstraints(
        [
            QTextLength(QTextLength.Type.FixedLength, width),
            QTextLength(QTextLength.Type.PercentageLength, 100),
        ]
    )
    form.setBorder(0)
    form.setCellSpacing(0)
    form.setCellPadding(0)
    form.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
    return form


def _turn_cell(column: int, row: _Row) -> QTextTableCellFormat:
    form = QTextTableCellFormat()
    form.setTopPadding(CELL if row.is_first else 0)
    if column == 1:
        form.setLeftPadding(CELL)
    elif row.is_found:
        form.setBackground(theme().color("hit"))
        form.setLeftPadding(CELL // 2)
    if row.is_last:
        form.setBottomPadding(CELL)
        form.setBottomBorder(1)
        form.setBottomBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setBottomBorderBrush(theme().color("line"))
    return form


def _write_speaker(cursor: QTextCursor, row: _Row, day: str, zone: tzinfo, ink: Ink) -> str:
    """The role, below it the turn's number and time, and the day where it is another than `day`; that turn's day."""
    turn = row.turn
    micro = QTextCharFormat(ink.chars("micro", "text2" if row.is_found else "text3"))
    micro.setToolTip(tr("Turn {n}. Turns are counted from 0, as in the memory contract.", n=row.number))
    number = f"{NUMBER_SIGN}{row.number}"
    cursor.setBlockFormat(ink.block())
    put(cursor, word(turn.role), ink.chars("strong"), ink)
    if turn.at is None:
        cursor.insertBlock(ink.block())
        put(cursor, number, micro, ink)
        return day
    try:
        at = turn.at.astimezone(zone)
    except OverflowError:  # the first and last hours that a date can hold
        at = turn.at.as_datetime()
    today = date_in_full(at.day, at.month, at.year)
    for line in ([today] if today != day else []) + [f"{at:%H:%M}{NO_BREAK}{NO_BREAK}{number}"]:
        cursor.insertBlock(ink.block())
        put(cursor, line, micro, ink)
    return today


def _write_said(cursor: QTextCursor, row: _Row, ink: Ink) -> None:
    is_tool = row.turn.role is Role.TOOL
    cursor.setBlockFormat(ink.block())
    text = row.text if row.is_last else row.text.removesuffix("\n")  # the next row begins a line anyway
    put(cursor, broken_lines(text)[0], ink.chars("mono", "text2") if is_tool else ink.chars("body"), ink)
    for call in row.turn.tool_calls if row.is_last else []:
        cursor.insertBlock(ink.block(above=2))
        put(cursor, f"→ {call.name}" + (f" ({call.id})" if call.id else ""), ink.chars("mono", "accent"), ink)


def _thin() -> QTextBlockFormat:
    """For the paragraph that Qt has after each table: it cannot be left out, so it is made too low to be seen."""
    made = QTextBlockFormat()
    made.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
    return made


def _tiny() -> QTextCharFormat:
    made = QTextCharFormat()
    made.setFontPointSize(1)
    return made


# Markdown


def write_blocks(cursor: QTextCursor, blocks: Sequence[Block], ink: Ink) -> Steps:
    """The blocks of a markdown text; a step is a few of them."""
    for quote, several in groupby(blocks, key=lambda block: block.quote):
        inside = _open_quote(cursor, quote, ink) if quote else cursor
        few: list[Block] = []
        for block in several:
            if is_long := _columns(block) * len(block.rows) > CELLS_PER_TABLE:
                yield _write_few(inside, few, ink)
                yield from _write_long_table(inside, block, ink)
            few = [] if is_long else [*few, block]
            if len(few) == BLOCKS_PER_STEP:
                yield _write_few(inside, few, ink)
                few = []
        yield _write_few(inside, few, ink)
        if quote:
            cursor.movePosition(QTextCursor.MoveOperation.End)


def _write_few(cursor: QTextCursor, blocks: Sequence[Block], ink: Ink) -> int:
    cursor.beginEditBlock()
    written = sum(_write_block(cursor, block, ink) for block in blocks)
    cursor.endEditBlock()
    return written


def _open_quote(cursor: QTextCursor, depth: int, ink: Ink) -> QTextCursor:
    """A cell behind a rule; where to write in it."""
    form = QTextTableFormat()
    form.setBorder(0)
    form.setCellSpacing(0)
    form.setTopMargin(4)
    form.setBottomMargin(8)
    form.setLeftMargin(LIST_PX * (depth - 1))
    form.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
    table = cursor.insertTable(1, 1, form)
    cell = QTextTableCellFormat()
    cell.setLeftBorder(QUOTE_PX)
    cell.setLeftBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    cell.setLeftBorderBrush(theme().color("barDim"))
    cell.setLeftPadding(12)
    table.cellAt(0, 0).setFormat(cell)
    return table.cellAt(0, 0).firstCursorPosition()


def _write_block(cursor: QTextCursor, block: Block, ink: Ink) -> int:
    """Write one block; its characters."""
    indent = LIST_PX * block.indent
    match block.kind:
        case BlockKind.HEADING:
            _begin(cursor, ink.block(above=12 if block.level < 3 else 8, below=4, indent=indent))
            role = "title" if block.level <= 2 else "strong"
            _write_spans(cursor, block.spans, role, ink)
        case BlockKind.CODE:
            _write_code(cursor, block, indent, ink)
        case BlockKind.RULE:
            _write_rule(cursor)
        case BlockKind.TABLE:
            _write_table(cursor, block, ink, _columns(block))
        case _:
            form = ink.block(above=2 if block.indent else 4, below=2 if block.indent else 6, indent=indent)
            if block.marker:
                form.setTextIndent(-LIST_PX)
                form.setTabPositions([QTextOption.Tab(indent, QTextOption.TabType.LeftTab)])
            _begin(cursor, form)
            if block.marker:
                put(cursor, f"{block.marker}\t", ink.chars("body", "text3"), ink)
            _write_spans(cursor, block.spans, "body", ink)
    return len(block.text)


def _begin(cursor: QTextCursor, form: QTextBlockFormat) -> None:
    """A new paragraph; the empty one that a document, a cell or the end of a table has is used up first."""
    if cursor.block().length() <= 1:
        cursor.setBlockFormat(form)
        cursor.setBlockCharFormat(QTextCharFormat())
    else:
        cursor.insertBlock(form, QTextCharFormat())


def _write_spans(cursor: QTextCursor, spans: Sequence[Span], role: str, ink: Ink) -> None:
    for at, span in enumerate(spans):
        if span.is_image:
            _write_image(cursor, span, ink)
            continue
        put(cursor, span.text, _span_format(span, role, ink), ink)
        # After the last part of a link stands its target: what it says and where it leads may differ.
        follows = spans[at + 1] if at + 1 < len(spans) else None
        if span.target and (follows is None or follows.target != span.target) and _says_otherwise(spans, at):
            put(cursor, f"  {span.target}", ink.chars("monoSmall", "text3"), ink)


def _says_otherwise(spans: Sequence[Span], last: int) -> bool:
    """Whether the link that ends at `last` has a text other than its target."""
    first = last
    while first and spans[first - 1].target == spans[last].target and not spans[first - 1].is_image:
        first -= 1
    return "".join(span.text for span in spans[first : last + 1]) != spans[last].target


def _span_format(span: Span, role: str, ink: Ink) -> QTextCharFormat:
    if span.code:
        made = QTextCharFormat(ink.chars("mono", "text"))
        made.setBackground(theme().color("sunken"))
    else:
        made = QTextCharFormat(ink.chars(role, "text"))
    if span.bold:
        made.setFontWeight(QFont.Weight.DemiBold)
    if span.italic:
        made.setFontItalic(True)
    if span.target and span.opens:
        made.setAnchor(True)
        made.setAnchorHref(span.target)
        made.setForeground(theme().color("accent"))
        made.setFontWeight(QFont.Weight.Medium)
    return made


def _write_image(cursor: QTextCursor, span: Span, ink: Ink) -> None:
    """The address of an image. No picture is ever put into a document: Qt would look for it by itself."""
    words = tr("image not loaded: {address}", address=span.target) + (f" ({span.text})" if span.text else "")
    put(cursor, f"{IMAGE_SIGN} {words}", ink.chars("mono", "text2"), ink)


def _write_code(cursor: QTextCursor, block: Block, indent: int, ink: Ink) -> None:
    form = QTextTableFormat()
    form.setBorder(0)
    form.setCellSpacing(0)
    form.setCellPadding(8)
    form.setLeftMargin(indent)
    form.setTopMargin(4)
    form.setBottomMargin(8)
    form.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
    table = cursor.insertTable(1, 1, form)
    ground = QTextTableCellFormat()
    ground.setBackground(theme().color("sunken"))
    table.cellAt(0, 0).setFormat(ground)
    inside = table.cellAt(0, 0).firstCursorPosition()
    put(inside, broken_lines(block.text)[0], ink.chars("mono", "text"), ink)
    cursor.setPosition(table.lastPosition() + 1)
    cursor.setBlockFormat(_thin())
    cursor.setBlockCharFormat(_tiny())


def _write_rule(cursor: QTextCursor) -> None:
    form = QTextBlockFormat()
    form.setProperty(
        QTextBlockFormat.Property.BlockTrailingHorizontalRulerWidth.value,
        QTextLength(QTextLength.Type.PercentageLength, 100),
    )
    form.setTopMargin(8)
    form.setBottomMargin(8)
    _begin(cursor, form)


def _table_cell() -> QTextTableCellFormat:
    """The text in the middle: each line has room of its own below it."""
    form = QTextTableCellFormat()
    form.setVerticalAlignment(QTextTableCellFormat.VerticalAlignment.AlignMiddle)
    form.setPadding(TABLE_PAD)
    form.setTopPadding(TABLE_PAD + LEADING)
    return form


def _aligned(block: Block, column: int, ink: Ink) -> QTextBlockFormat:
    """The paragraph of a cell, at the side that its column asks for."""
    form = ink.block()
    match block.sides[column] if column < len(block.sides) else Side.NONE:
        case Side.RIGHT:
            form.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute)
        case Side.CENTER:
            form.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    return form


def _columns(block: Block) -> int:
    """Of a table; 0 of anything else."""
    return min(MAX_COLUMNS, max((len(row) for row in block.rows), default=0))


def _write_long_table(cursor: QTextCursor, block: Block, ink: Ink) -> Steps:
    """A table in parts, as each cell that is written lays its whole table out again; a step is one of them.

    The columns of all have one width, whatever they hold: the parts stand as one table.
    """
    rows_each = max(1, CELLS_PER_TABLE // _columns(block))
    for start in range(0, len(block.rows), rows_each):
        part = replace(block, rows=block.rows[start : start + rows_each])
        is_last = start + rows_each >= len(block.rows)
        cursor.beginEditBlock()
        _write_table(cursor, part, ink, _columns(block), is_first=start == 0, is_last=is_last, is_even=True)
        cursor.endEditBlock()
        # At least one sign of the source parts two cells. To count more than there was would end the writing early.
        yield sum(len(span.text) + 1 for cells in part.rows for spans in cells for span in spans)


def _write_table(
    cursor: QTextCursor,
    block: Block,
    ink: Ink,
    columns: int,
    *,
    is_first: bool = True,
    is_last: bool = True,
    is_even: bool = False,
) -> None:
    if not columns:
        return
    form = QTextTableFormat()
    form.setBorder(1)
    form.setBorderBrush(theme().color("line"))
    form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    form.setBorderCollapse(True)
    form.setCellSpacing(0)
    form.setCellPadding(TABLE_PAD)
    form.setTopMargin(4 if is_first else 0)
    form.setBottomMargin(8 if is_last else 0)
    has_head = block.has_head and is_first
    form.setHeaderRowCount(int(has_head))
    if is_even:
        form.setColumnWidthConstraints([QTextLength(QTextLength.Type.PercentageLength, 100 / columns)] * columns)
    form.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
    table = cursor.insertTable(len(block.rows), columns, form)
    for row, cells in enumerate(block.rows):
        for column, spans in enumerate(cells[:columns]):
            cell = table.cellAt(row, column)
            cell.setFormat(_table_cell())
            inside = cell.firstCursorPosition()
            inside.setBlockFormat(_aligned(block, column, ink))
            _write_spans(inside, spans, "strong" if has_head and row == 0 else "body", ink)
    cursor.setPosition(table.lastPosition() + 1)
    cursor.setBlockFormat(_thin())
    cursor.setBlockCharFormat(_tiny())
