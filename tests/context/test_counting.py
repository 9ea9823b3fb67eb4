"""The second estimate: as the tokenizer counts the whole text, and near that where there is none."""

from __future__ import annotations

import random

import pytest

from explorer.context import count_again, counting, estimate
from explorer.context.counting import differs, fair_tokens
from explorer.engines.embedding.wordllama import tokenizer

# Article 1 of the Universal Declaration of Human Rights, as the United Nations publish it.
ARTICLE = {
    "en": "All human beings are born free and equal in dignity and rights. They are endowed with reason.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt.",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "ar": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا.",
    "hi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "zh": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神互相对待。",
    "emoji": "🎉🚀😀👍🏽❤️🔥🥰🍕🌍",
    "ids": "refs: [45a60ec14b5da399b1a6446998564062138fcea5, b0978b6323fcb29fa56db2322be5e3a9482ed062]",
}


def whole(text: str) -> int:
    exact = tokenizer()
    assert exact is not None  # the package is one of the program's own
    return len(exact.encode(text, add_special_tokens=False).ids)


def test_parts_together_are_the_whole() -> None:
    made = "\n\n".join(ARTICLE.values())
    odd = [
        "",
        " ",
        "\n",
        "a \n",
        "\n\n a",
        "a ",
        " a",
        "a  b   c",
        " \n a\n",
        "▁ ▁a ▁",
        "</s> <s>x",
        "\r\n b;\r\n",
        "\ta\t b",
    ]
    dice = random.Random(3)
    odd += ["".join(dice.choices(" \n\r\tab.▁é日🎉1{}", k=40)) for _ in range(200)]
    for text in [*ARTICLE.values(), made, *odd]:
        assert fair_tokens(text) == whole(text), repr(text)


def test_known_counts() -> None:
    # By the reference implementation of Llama's tokenizer: ▁Hello ▁world ! — and one for each of what it spells out.
    assert fair_tokens("Hello world!") == 3
    assert fair_tokens("") == 0
    assert fair_tokens("</s>") > 1  # stored text has no special meaning


def test_without_a_tokenizer_scripts_are_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = {name: fair_tokens(text) for name, text in ARTICLE.items()}
    assert count_again("").by == "Llama 2 tokenizer"
    monkeypatch.setattr(counting, "tokenizer", lambda: None)
    assert count_again("").by == "characters by script"
    for name, text in ARTICLE.items():
        assert fair_tokens(text) == pytest.approx(exact[name], rel=0.25), name
        assert not differs(fair_tokens(text), exact[name])
    assert fair_tokens("") == 0


@pytest.mark.parametrize("has_tokenizer", [True, False])
def test_where_the_contracts_estimate_is_far_off(monkeypatch: pytest.MonkeyPatch, has_tokenizer: bool) -> None:
    if not has_tokenizer:
        monkeypatch.setattr(counting, "tokenizer", lambda: None)
    off = {name for name, text in ARTICLE.items() if differs(estimate(text), fair_tokens(text))}
    assert off == {"el", "ar", "hi", "ko", "ja", "zh", "emoji", "ids"}


def test_more_than_half_is_a_difference() -> None:
    assert not differs(100, 150)
    assert differs(100, 151)
    assert not differs(150, 100)
    assert differs(151, 100)
    assert not differs(0, 0)
    assert differs(0, 1)


def test_ids_in_the_frontmatter_are_no_surprise_but_chinese_is() -> None:
    def document(read: str) -> str:
        return f"---\ntokens: 9\nrefs: [{'61b6ba0c4de1' * 4}, {'0f3a9c77be52' * 4}]\n---\n\n# Context\n\n{read}\n"

    counted = count_again(document("- prefers short answers in the morning"))
    assert counted.tokens == fair_tokens(document("- prefers short answers in the morning"))
    assert differs(estimate(document("- prefers short answers in the morning")), counted.tokens)
    assert counted.frame > counted.tokens / 2
    assert not counted.is_far
    assert count_again(document(f"- {ARTICLE['zh']}")).is_far
    assert (count_again("").tokens, count_again("").frame, count_again("").is_far) == (0, 0, False)


def test_a_word_without_end_is_counted_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sequence of DNA, for one: looked for a digit from each letter on, it would take an hour."""
    monkeypatch.setattr(counting, "tokenizer", lambda: None)
    assert fair_tokens("ACGT" * 100_000) == 92_000
    assert fair_tokens("ACGT" * 1_000 + "7") == 3_601
