"""Event loops for `async def` tests, and waiting for what a person would see."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # before anything imports Qt

TEST_LIMIT_S = 10.0
SETTLE_LIMIT_S = 1.0  # for tasks that were cancelled but have not ended
UI_TESTS = Path(__file__).parent / "ui"
QT_FIXTURES = {"qapp", "qtbot", "qtmodeltester", "themed"}

SHARED = Path(os.environ.get("TINYMEMORY_SHARED") or Path(__file__).parents[2] / "shared")
REAL_ITEMS = SHARED / "data" / "locomo" / "items.jsonl"  # its licence keeps it out of the repository
SAMPLE_ITEMS = Path(__file__).parents[1] / "resources" / "sample" / "memory.jsonl"

Until = Callable[..., Awaitable[None]]


def needs_qt(pyfuncitem: pytest.Function) -> bool:
    """Whether a test runs on the application's loop: all of tests/ui, and whatever asks for a Qt fixture."""
    return UI_TESTS in pyfuncitem.path.parents or not QT_FIXTURES.isdisjoint(pyfuncitem.fixturenames)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests: on the Qt loop where widgets are tested, else on plain asyncio without any application."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    mark = pyfuncitem.get_closest_marker("limit_s")
    limit_s = float(mark.args[0]) if mark else TEST_LIMIT_S
    args = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if needs_qt(pyfuncitem):
        app = pyfuncitem._request.getfixturevalue("qapp")
        from qasync import QEventLoop  # after PySide6, which pytest-qt has imported for qapp

        def factory() -> asyncio.AbstractEventLoop:
            return QEventLoop(app)  # type: ignore[no-any-return]

    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(run_limited(pyfuncitem.obj(**args), limit_s))
    return True


async def run_limited(test: Awaitable[Any], limit_s: float) -> None:
    """Await a test, but not for ever; it fails as well if it leaves a task, or an error that nobody awaited."""
    loop = asyncio.get_running_loop()
    unseen: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: unseen.append(context))
    await asyncio.wait_for(test, limit_s)
    deadline = time.monotonic() + SETTLE_LIMIT_S
    while left := [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]:
        if time.monotonic() > deadline:
            pytest.fail(f"the test left tasks: {left}")
        await asyncio.sleep(0.002)
    for context in unseen:
        if error := context.get("exception"):
            raise error
        pytest.fail(context["message"])


@pytest.fixture
def until() -> Until:
    """`await until(condition)`: returns as soon as `condition()` holds, and fails the test if it never does."""

    async def wait(condition: Callable[[], object], timeout_s: float = 5.0) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                pytest.fail(f"not within {timeout_s} s: {inspect.getsource(condition).strip()}")
            await asyncio.sleep(0.002)

    return wait


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"limit_s(seconds): how long an async test may take, {TEST_LIMIT_S:g} s unless told"
    )


def pytest_report_header() -> str:
    """Say on what the tests of real input run."""
    if REAL_ITEMS.is_file():
        return "real input: the LoCoMo conversations of the shared folder"
    return f"real input: absent ({REAL_ITEMS}); the sample memory stands in"


@pytest.fixture
def real_items() -> Path:
    """A file of real items, one a line; the sample memory where the shared folder is absent."""
    return REAL_ITEMS if REAL_ITEMS.is_file() else SAMPLE_ITEMS
