"""`tinymemory ask`: a question, answered out of a memory."""

from __future__ import annotations

import argparse
import asyncio
import json
from typing import Any

from explorer.asking import DEFAULT_LIMIT, Answered, WriterStore, answer_text, ask, sources_text
from explorer.cli.options import filter_flags, filter_of, opened, whole_number
from explorer.cli.output import Console, plural, visible
from explorer.contract import ConfigError, is_blank

HELP = "answer a question, with the items the answer rests on"
DESCRIPTION = """\
Answer a question out of the items that the flags admit: sentences with the numbers of the passages they rest on, then
these passages, each with its item's id, node, source and day. The memory's own engine answers. Only with --write a chat
endpoint gets the question and the passages, and writes: the one saved in the window's settings of answers."""
EPILOG = """\
--json prints one object: question, says_nothing, by (engine or endpoint), model, sentences (text, cites: numbers from
1, support: the share of its words that these passages hold, mark), citations (the contract's Citation, with its place:
characters start to stop of the item's text), read_not_cited (ids), note (what the engine says of its answer),
writer_error, reading_error.
Exit status: 0 answered; 1 nothing stored answers, or failed; 2 wrong usage."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", metavar="QUESTION", help="what to ask, in quotes")
    parser.add_argument(
        "--limit",
        metavar="N",
        type=whole_number(),
        default=DEFAULT_LIMIT,
        help=f"items to rest on, at most (default: {DEFAULT_LIMIT})",
    )
    parser.add_argument(
        "--write", action="store_true", help="send question and passages to the saved chat endpoint, which answers"
    )
    filter_flags(parser)


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    if is_blank(args.question):
        parser.error("the question is blank")
    filter = filter_of(args, parser)
    writer = None
    if args.write:
        writer = await asyncio.to_thread(WriterStore().writer)
        if writer is None:
            raise ConfigError("no endpoint writes answers; turn it on in the window's settings of answers")
    async with opened(args, read_only=True) as memory:
        answered = await ask(memory.engine, args.question, filter, limit=args.limit, writer=writer)
    if args.json:
        console.json(json.dumps(_value(answered), ensure_ascii=True))
    else:
        console.out(visible(answer_text(answered), keep="\n"))
        if sources := sources_text(answered):
            console.out("\n" + visible(sources, keep="\n"))
    if answered.note is not None and not args.json:
        console.note(answered.note)
    if answered.writer_error is not None:
        console.note(f"{answered.writer_error}. This is the engine's own answer.")
    if answered.says_nothing and answered.read_not_cited and not args.json:
        console.note(f"{plural(len(answered.read_not_cited), 'item')} came near; --json names them.")
    return 1 if answered.says_nothing else 0


def _value(answered: Answered) -> dict[str, Any]:
    return {
        "question": answered.question,
        "says_nothing": answered.says_nothing,
        "by": answered.by.value,
        "model": answered.model,
        "sentences": [
            {"text": one.text, "cites": one.cites, "support": round(one.support, 3), "mark": one.mark}
            for one in answered.sentences
        ],
        "citations": [
            {
                **citation.model_dump(mode="json"),
                "place": None if citation.place is None else citation.place.model_dump(mode="json"),
            }
            for citation in answered.citations
        ],
        "read_not_cited": [hit.id for hit in answered.read_not_cited],
        "note": answered.note,
        "writer_error": answered.writer_error,
        "reading_error": answered.reading_error,
    }
