from pathlib import Path

import pytest

from explorer.options import Options, parse


def test_nothing_asked_for() -> None:
    assert parse([]) == (Options(), None)


def test_everything_is_read(tmp_path: Path) -> None:
    memory = tmp_path / "a b.db"
    memory.touch()
    options, scale = parse(
        [
            "--open",
            str(memory),
            "--read-only",
            "--shot",
            "out.png",
            "--size",
            "1440x900",
            "--theme",
            "dark",
            "--rtl",
            "--scale",
            "2",
        ]
    )
    assert options == Options(
        open_path=memory, is_read_only=True, shot=Path("out.png"), size=(1440, 900), theme="dark", is_rtl=True
    )
    assert scale == "2"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--open", "not-there.db"], "there is no file not-there.db"),
        (["--size", "wide"], "1440x900"),
        (["--scale", "nan"], "0.5 to 4"),
        (["--sample", "--connection", "x"], "not allowed with"),
        (["--shot", "x.png", "--connection", "x"], "no saved connection"),
        (["--filter", '{"tags": ["a"]}'], "no condition named tags"),
        (["--filter", '{"tags_any": "a"}'], "tags_any: input should be a valid list"),
        (["--filter", "[]x"], "must be a JSON object"),
        (["--filter", "3"], "must be a JSON object"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(argv)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
