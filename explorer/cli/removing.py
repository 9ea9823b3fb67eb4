"""`tinymemory forget` and `tinymemory erase`: one plan, shown first and run only when it is confirmed."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from explorer.cli.options import Memory, filter_flags, filter_of, flag, opened
from explorer.cli.output import Console, one_line, plural, size_text, visible
from explorer.contract import InvalidRequest, ItemId, MemoryEngine, MetaFilter, TinyMemoryError, Unsupported
from explorer.removal import words
from explorer.removal.confirmation import Answers, Confirmation, Lack
from explorer.removal.journal import Journal, default_folder
from explorer.removal.outcome import Check, Outcome, Phase, Step
from explorer.removal.plan import Action, Plan, Target, make_plan
from explorer.removal.preview import Preview
from explorer.removal.remaining import remaining
from explorer.removal.removing import Removal
from explorer.removal.way_back import Lost
from explorer.text import NARROW, NO_BREAK, word
from explorer.transfer import FileError

LEFT = 1
REFUSED = 2
_MOST = 10  # lines of each table

EPILOG = """\
Without --yes nothing is removed: the plan is shown, counted to the end. With --yes it is counted once more, and runs
only where that finds the same items. The receipt is written as it goes; its path is printed.
--json prints one object: plan, way_back where --export made one, and where it ran outcome and receipt; where nothing
was removed the reason (refused).
Exit status: 0 all that was planned is gone and nothing asked again answers (or the plan was only shown); 1 something is
left, or still answers, or the engine has not finished its removal; 2 nothing was removed: a plan that is refused, by
the engine too, or not confirmed; 130 interrupted."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    filter_flags(parser)
    group = parser.add_argument_group("what to do")
    group.add_argument("--dry-run", action="store_true", help="show the plan and remove nothing, as without --yes")
    group.add_argument("--yes", action="store_true", help="run the plan")
    group.add_argument("--confirm", metavar="NODE", default="", help="the name of the node that goes, as the plan says")
    group.add_argument("--whole-tree", action="store_true", help="the whole tree is meant, sandboxes included")
    group.add_argument("--large", action="store_true", help="more than half of all, or than 10,000 items, is meant")
    group.add_argument(
        "--export", metavar="FILE.jsonl", help="first write what goes to this new file, and read it back"
    )
    group.add_argument("--keep-texts", action="store_true", help="write what the items say on the receipt as well")
    group.add_argument("--receipts", metavar="FOLDER", help="where the receipt is written (default: the program's own)")


async def run(
    args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console, action: Action, ids: list[ItemId]
) -> int:
    if args.dry_run and args.yes:
        parser.error("--dry-run and --yes contradict each other")
    if args.export and not args.yes:
        parser.error("--export writes its file only where the plan runs: add --yes")
    for name in ("export", "receipts", "folder", "file_path"):  # a script's variable that was never set, perhaps
        if getattr(args, name) is not None and not getattr(args, name).strip():
            parser.error(f"{flag(name)} is given, and blank: leave it out, or say what is meant")
    if not all(id.strip() for id in ids):
        parser.error("--id is given, and blank: say which item is meant")
    target = _target(args, parser, ids)
    told: dict[str, Any] = {}
    if (why_not := _cannot_write(args)) is not None:
        status = _refused(why_not, told, console)
    else:
        async with opened(args, read_only=not args.yes) as memory:
            status = await _run(args, console, memory, target, action, told)
    if args.json:
        console.json(json.dumps(told, ensure_ascii=False))
    console.done = ""  # all of it is told
    return status


def _refused(why: str, told: dict[str, Any], console: Console, advice: str = "") -> int:
    told["refused"] = why
    console.note(f"tinymemory: {why}; nothing was removed{advice}")
    return REFUSED


async def _run(
    args: argparse.Namespace,
    console: Console,
    memory: Memory,
    target: Target,
    action: Action,
    told: dict[str, Any],
) -> int:
    """The exit status; what --json prints of it is put into `told`."""
    try:
        plan = await make_plan(memory.engine, target, action)
    except InvalidRequest as error:
        return _refused(error.text, told, console)
    name = args.connection or memory.path or memory.engine.descriptor().label
    removal = Removal(memory.engine, plan, _journal(args), name, keeps_texts=args.keep_texts)
    async with contextlib.aclosing(removal.count()) as counting:
        async for found in counting:
            console.progress(f"{plural(found.total, 'item')} counted")
    preview = removal.preview
    confirmation = removal.confirmation
    assert preview is not None
    assert confirmation is not None
    remains = await _remains(memory.engine, plan, preview)
    others = words.others_go(memory.engine.descriptor(), plan)
    told["plan"] = _plan_object(plan, preview, confirmation, remains, others)
    if not args.json:
        for line in _plan_lines(plan, preview, remains, others):
            console.out(visible(line))
    if not args.yes:
        if not args.json:
            console.out()
            console.out(_how_to_run(confirmation, preview))
        return 0
    answers = Answers(args.confirm, args.whole_tree, args.large)
    if not preview.total:
        console.note("There is nothing to remove.")
        return 0
    if (lack := confirmation.lacks(answers)) is not None:
        return _refused(_how_to_say(lack, confirmation), told, console)
    if args.export:
        told["way_back"] = await _export(removal, Path(args.export), console)
    try:
        last = await _carry_out(removal, answers, console)
    except Lost as error:
        return _refused(error.text, told, console)
    except FileError:  # the receipt's
        raise
    except TinyMemoryError as error:  # raised only where nothing was removed
        advice = ", and `tinymemory forget` may do" if isinstance(error, Unsupported) else ""
        return _refused(error.text, told, console, advice)
    if last.phase is Phase.MOVED:
        moved = last.moved
        assert moved is not None
        told["moved"] = {"new": list(moved.new), "gone": list(moved.gone)}
        changed = f"{len(moved.new):,} new, {len(moved.gone):,} gone"
        why = f"what is stored has changed since it was counted ({changed})"
        return _refused(why, told, console, ", look at the plan again")
    outcome = last.outcome
    assert outcome is not None
    told["outcome"] = _outcome_object(outcome)
    told["receipt"] = None if outcome.receipt is None else str(outcome.receipt)
    if not args.json:
        console.out()
        for line in _outcome_lines(action, outcome):
            console.out(visible(line))
    return 0 if outcome.is_clean and not outcome.remains else LEFT


async def _export(removal: Removal, path: Path, console: Console) -> dict[str, Any]:
    async with contextlib.aclosing(removal.export_first(path)) as exporting:
        async for step in exporting:
            console.progress(f"{plural(step.written, 'item')} exported")
    back = removal.way_back
    assert back is not None
    size = size_text(back.size_bytes)
    console.note(f"Exported {plural(back.items, 'item')}, read back and counted: {back.path} ({size}).")
    if back.incomplete:
        console.note(f"{plural(len(back.incomplete), 'item')} not in it, as the engine holds only part of them:")
        for id in back.incomplete:
            console.note(f"  {one_line(id, 70)}")
    return {
        "path": str(back.path),
        "items": back.items,
        "size_bytes": back.size_bytes,
        "incomplete": back.incomplete,
    }


def _journal(args: argparse.Namespace) -> Journal:
    return Journal(default_folder() if args.receipts is None else Path(args.receipts).absolute())


def _cannot_write(args: argparse.Namespace) -> str | None:
    """Why nothing can be removed; None where it is to be shown only, or can. No file is made where there is none."""
    _, settings, _ = args.memory
    if args.yes and settings.read_only:
        return f"the connection {args.connection} is open read-only"
    if args.yes and settings.path and not os.path.exists(settings.path):
        return f"there is no file {os.path.abspath(settings.path)}"
    return None


async def _remains(engine: MemoryEngine, plan: Plan, preview: Preview) -> list[str]:
    said = None
    with contextlib.suppress(TinyMemoryError):  # the plan can be shown all the same
        said = (await engine.health()).reason
    found = remaining(engine.descriptor(), plan, preview, said)
    return [remnant.words for remnant in found]


async def _carry_out(removal: Removal, answers: Answers, console: Console) -> Step:
    last = Step(Phase.COUNTING)
    async with contextlib.aclosing(removal.run(answers)) as steps:
        async for last in steps:
            waiting = f", waiting: {last.waiting}" if last.waiting else ""
            if last.outcome is not None and last.outcome.receipt is not None:
                console.done = f"How far it is stands in {last.outcome.receipt}"
            console.progress(f"{last.phase}: {last.done:,} of {last.total:,}{waiting}")
    return last


def _target(args: argparse.Namespace, parser: argparse.ArgumentParser, ids: list[ItemId]) -> Target:
    filter = filter_of(args, parser)
    if ids:
        if filter != MetaFilter(reach=filter.reach):
            parser.error("--id names items one by one: leave out what they have in common")
        return Target.of_ids(ids, filter.reach)
    if filter.is_empty():
        parser.error("what is to go? Give at least one condition; --node root --reach subtree is the whole tree")
    if args.node is not None and args.reach is None:
        parser.error("--reach exact removes what is at the node itself, --reach subtree also what is below: say which")
    if args.reach == "inherit":
        parser.error("a removal never goes up: --reach exact or --reach subtree")
    return Target.of_filter(filter)


def _how_to_say(lack: Lack, confirmation: Confirmation) -> str:
    match lack:
        case Lack.WHOLE_TREE:
            return "this is the whole tree; add --whole-tree if it is meant"
        case Lack.LARGE:
            return "this is a large part of what is stored; add --large if it is meant"
        case Lack.NAME:
            return f"add --confirm {confirmation.name}, exactly"


def _how_to_run(confirmation: Confirmation, preview: Preview) -> str:
    if not preview.total:
        return "There is nothing to remove."
    flags = ["--yes"]
    flags += ["--whole-tree"] if confirmation.whole_tree else []
    flags += ["--large"] if confirmation.large else []
    flags += [f"--confirm {confirmation.name}"] if confirmation.name is not None else []
    return f"Nothing was removed. To run it, add: {' '.join(flags)}"


def _plan_lines(plan: Plan, preview: Preview, remains: list[str], others: str) -> Iterable[str]:
    yield _plain(words.title(plan))
    stored = f"{preview.stored:,}{'+' if preview.stored_is_least else ''}"
    yield f"  {plural(preview.total, 'item')} of {stored} stored"
    yield f"  goes: {_plain(words.what_goes(plan, preview))}"
    if others:
        yield f"  goes: {_plain(others)}"
    if plan.target.filter is not None:
        for field, value in plan.target.filter.model_dump(
            mode="json", exclude_none=True, exclude_defaults=True
        ).items():
            if field != "reach":
                yield f"  {field}: {one_line(json.dumps(value, ensure_ascii=False))}"
    if preview.gone:
        yield f"  {plural(len(preview.gone), 'item')} named and not there"
    for sandbox in plan.sandboxes:
        said = words.sandbox_goes(sandbox) if plan.takes_sandboxes else words.sandbox_stays(sandbox)
        yield f"  {'goes' if plan.takes_sandboxes else 'stays'}: {_plain(said)}"
    if plan.takes_unlisted:
        yield f"  goes: {_plain(words.unlisted_sandboxes(plan.action, takes_sandboxes=True))}"
    for said in words.what_stays(plan):
        yield f"  stays: {_plain(said)}"
    for said in remains:
        yield f"  may remain: {_plain(said)}"
    tables = (
        ("kind", _named(preview.kinds, word)),
        ("node", _named(preview.nodes, str)),
        ("source", _named(preview.sources, lambda source: f"{word(source[0])} {source[1] or ''}".rstrip())),
        ("month", _named(preview.months, lambda month: month or "no date")),
        ("path", _named(preview.paths, str)),
    )
    for name, counts in tables:
        if counts:
            yield f"by {name}:"
        for value, n in counts[:_MOST]:
            yield f"  {n:>9,}  {one_line(value, 120)}"
        if len(counts) > _MOST:
            yield f"             and {len(counts) - _MOST:,} more"
    if preview.samples:
        yield "samples:"
    for hit in preview.samples:
        yield f"  {one_line(hit.id, 70)}  {one_line(hit.text, 90)}"


def _named(counts: Counter[Any], name: Any) -> list[tuple[str, int]]:
    return sorted(((name(value), n) for value, n in counts.items()), key=lambda row: (-row[1], row[0]))


def _outcome_lines(action: Action, outcome: Outcome) -> Iterable[str]:
    yield _plain(words.outcome_title(outcome, action))
    if outcome.stopped:
        yield f"  stopped: {outcome.stopped}"
    if outcome.gone_besides:
        yield f"  {_plain(words.gone_besides(outcome.gone_besides))}"
    for id, reason in list(outcome.failed.items())[:_MOST]:
        yield f"  failed: {one_line(id, 70)}: {reason}"
    for check in outcome.checks:
        yield f"  asked again, {check.asked}{f' {check.mode}' if check.mode else ''}: {_answer(check)}"
    for receipt in outcome.receipts:
        yield f"  engine: {receipt}"
    for said in outcome.remains:
        if said not in outcome.receipts:
            yield f"  remains: {said}"
    if outcome.receipt is not None:
        yield f"receipt: {outcome.receipt}"


def _answer(check: Check) -> str:
    if check.error is not None:
        return f"could not be asked: {check.error}"
    quoted = f", {check.quoted:,} answered with its words from elsewhere" if check.quoted else ""
    return f"{check.found:,} found{quoted}"


def _plan_object(
    plan: Plan, preview: Preview, confirmation: Confirmation, remains: list[str], others: str
) -> dict[str, Any]:
    return {
        "action": plan.action.value,
        "target": plan.target.model_dump(mode="json"),
        "items": preview.total,
        "stored": preview.stored,
        "stored_is_least": preview.stored_is_least,
        "not_there": preview.gone,
        "kinds": {kind.value: n for kind, n in preview.kinds.items()},
        "nodes": {str(node): n for node, n in sorted(preview.nodes.items())},
        "sources": {f"{kind}:{id}" if id else str(kind): n for (kind, id), n in preview.sources.items()},
        "months": {month or "undated": n for month, n in sorted(preview.months.items(), key=lambda one: one[0] or "")},
        "paths": dict(sorted(preview.paths.items())),
        "samples": [hit.id for hit in preview.samples],
        "stays": [_plain(said) for said in words.what_stays(plan)],
        "may_remain": [_plain(said) for said in remains],
        "sandboxes": {str(sandbox.node): sandbox.items for sandbox in plan.sandboxes},
        "takes_sandboxes": plan.takes_sandboxes,
        "takes_others": bool(others),
        "knows_sandboxes": plan.knows_sandboxes,
        "confirm": confirmation.name,
        "needs_whole_tree": confirmation.whole_tree,
        "needs_large": confirmation.large,
    }


def _outcome_object(outcome: Outcome) -> dict[str, Any]:
    return {
        **outcome.facts(),
        "remains": outcome.remains,
        "gone_besides": outcome.gone_besides,
        "checks": [
            {
                "asked": check.asked.value,
                "mode": None if check.mode is None else check.mode.value,
                "found": check.found,
                "quoted": check.quoted,
                "error": check.error,
            }
            for check in outcome.checks
        ],
        "is_clean": outcome.is_clean,
    }


def _plain(said: str) -> str:
    """Numbers as the commands write them."""
    return said.replace(NARROW, ",").replace(NO_BREAK, " ")
