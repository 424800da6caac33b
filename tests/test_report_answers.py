"""report/answers.py: sentences say what the figures say."""

import copy

import pytest
from report_maker import figures

import fastbpe
from fastbpe.report.answers import answers, at_size
from fastbpe.report.gather import gather
from fastbpe.report.texts import Text


def asked(found: dict) -> dict[str, str]:
    return {answer["question"]: answer["answer"] for answer in answers(found)}


def test_every_question_is_answered() -> None:
    found = figures()
    said = asked(found)
    assert found["answers"] == answers(found)
    assert list(said) == [
        "Is the vocabulary too big?",
        "Which script pays?",
        "What did the last 29 merges buy?",
        "Which tokens are junk?",
        "Does it fit text it was not trained on?",
        "How does it compare?",
    ]
    assert "the text is short for such a judgement" in said["Is the vocabulary too big?"]
    assert said["Which script pays?"].startswith("Han takes ")
    assert "With second, Han takes " in said["Which script pays?"]
    saved = found["last"]["saved"]
    assert said["What did the last 29 merges buy?"].startswith(f"{saved:,} tokens, ")
    assert said["How does it compare?"].endswith(f"{found['tokenizers'][0]['vocab_size'] / 276:.2f} times its ids.")


@pytest.mark.parametrize(
    ("more", "rare", "tokens", "verdict"),
    [
        (0.0, 0, 100_000, "Yes, for this text: half"),
        (0.014, 900, 100_000, "Yes, for this text: half"),
        (0.016, 400, 100_000, "Perhaps"),
        (0.049, 900, 100_000, "Yes, for a model that learns from this text alone"),
        (0.049, 900, 20_000, "Perhaps"),
        (0.06, 0, 100_000, "No: the second half is of use."),
        (0.2, 0, 100_000, "No: the second half is of use, and a bigger one may be, too."),
    ],
)
def test_verdicts(more: float, rare: int, tokens: int, verdict: str) -> None:
    found = copy.deepcopy(figures())
    found["tokenizers"][0]["vocab_size"] = 2000
    found["efficiency"]["all"][0]["tokens"] = tokens
    found["unused"][0] |= {"tokens": 1000, "below_hundred": rare}
    sizes = [9**9, round(tokens * (1 + more)), tokens]
    found["sizes"][0] = {"vocab_size": [256, 1000, 2000], "all": {"tokens": sizes}}
    said = asked(found)["Is the vocabulary too big?"]
    assert said.startswith(verdict)
    assert ("the text is short" in said) == (tokens < 40_000)


def test_between_two_sizes_lies_a_line() -> None:
    curve = {"vocab_size": [256, 356, 556], "all": {"tokens": [1000, 500, 300]}}
    assert [at_size(curve, size) for size in (256, 306, 356, 456, 556, 999)] == [1000, 750, 500, 400, 300, 300]


def test_questions_without_an_answer_are_left_out() -> None:
    tokenizer = fastbpe.Tokenizer.from_merges([], pattern=None)
    found = asked(gather(tokenizer, [Text(["12 34"])], models=[]))
    assert list(found) == ["Is the vocabulary too big?", "Which tokens are junk?"]
    assert "half" not in found["Is the vocabulary too big?"]


def test_scripts_are_set_beside_each_other() -> None:
    found = copy.deepcopy(figures())
    rows = [row for row in found["scripts"] if row["source"] is None]
    for row in rows:
        row["tokenizers"][0]["of_tokens"] = row["of_bytes"]
    assert "Dear beside" not in asked(found)["Which script pays?"]
    row = next(row for row in rows if row["script"] == "punctuation")
    row["tokenizers"][0]["of_tokens"] = 2 * row["of_bytes"]
    said = asked(found)["Which script pays?"]
    assert "Latin is the cheapest with" in said
    assert "Dear beside the scripts: punctuation, " in said


def test_junk_is_named() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"bc": 256, b"ab": 257, b"xyz": 258}
    tokenizer = fastbpe.Tokenizer.from_ranks(ranks, "none")
    said = asked(gather(tokenizer, [Text(["ab" * 20])]))["Which tokens are junk?"]
    assert "2 tokens never stand in the text; 0 of them are steps" in said
    assert "The longest idle ones: |xyz|, |bc|." in said
    assert "1 tokens no merge can build." in said
