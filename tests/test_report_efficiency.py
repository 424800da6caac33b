"""report/efficiency.py: tokens by source and script are those of a plain count."""

import pytest
from report_maker import SOURCES, measurement, tokenizers

from fastbpe.report.efficiency import completeness, efficiency, parity, punctuation, scripts
from fastbpe.report.measured import Measured, Measurement


def test_rows_of_sources_and_sums() -> None:
    found = efficiency(measurement())
    for source, rows in zip(SOURCES, found["sources"], strict=True):
        for tokenizer, row in zip(tokenizers(), rows, strict=True):
            tokens = sum(map(tokenizer.count, source))
            text = "".join(source)
            assert row["tokens"] == tokens
            assert row["bytes_per_token"] == pytest.approx(len(text.encode()) / tokens, rel=1e-5)
            assert row["characters_per_token"] == pytest.approx(len(text) / tokens, rel=1e-5)
            assert row["tokens_per_character"] == pytest.approx(tokens / len(text), rel=1e-5)
            assert row["tokens_per_word"] == pytest.approx(tokens / len(text.split()), rel=1e-5)
    counts = [row["tokens"] for rows in found["sources"] for row in rows[:1]]
    assert found["all"][0]["tokens"] == sum(counts)
    assert found["training"][0]["tokens"] == counts[0] + counts[1]
    assert found["held_out"][0]["tokens"] == counts[2]


def test_without_held_out_text() -> None:
    whole = measurement()
    found = efficiency(Measurement(whole.tokenizers, whole.texts, [False] * 3))
    assert found["training"] is None and found["held_out"] is None


def test_scripts_add_up() -> None:
    rows = scripts(measurement())
    overall = [row for row in rows if row["source"] is None]
    assert [row["script"] for row in overall][:1] == ["Han"]
    assert {"Han", "Latin", "punctuation", "spaces"} <= {row["script"] for row in overall}
    for number, tokenizer in enumerate(tokenizers()):
        tokens = sum(tokenizer.count(text) for source in SOURCES for text in source)
        assert sum(row["tokenizers"][number]["tokens"] for row in overall) == pytest.approx(tokens, abs=3)
    han = next(row for row in rows if row["source"] == 0 and row["script"] == "Han")
    assert han["characters"] == sum("一" <= character <= "鿿" for text in SOURCES[0] for character in text)
    assert han["bytes"] == 3 * han["characters"]
    assert not [row for row in rows if row["source"] == 1 and row["script"] == "Han"]


def test_of_one_source_there_is_one_table() -> None:
    whole = measurement()
    main = Measured("first", whole.main.tokenizer, whole.main.vocabulary, whole.main.usages[:1])
    one = Measurement([main], whole.texts[:1], [False])
    assert {row["source"] for row in scripts(one)} == {None}
    assert parity(one) is None


def test_completeness_and_punctuation() -> None:
    found = measurement()
    for one, divided, marks in zip(found.tokenizers, completeness(found), punctuation(found), strict=True):
        assert sum(divided["vocabulary"].values()) == len(one.vocabulary) - one.vocabulary.special.sum()
        assert sum(divided["texts"].values()) == one.counts.sum()
        for source, row in zip(SOURCES, marks["sources"], strict=True):
            tokens = [one.tokenizer.token_bytes(id) for text in source for id in one.tokenizer.encode(text)]
            alone = [
                token for token in tokens if token.decode(errors="replace") in set("，。(){}[]:,.;'\"!?*/\\#&%@-_")
            ]
            assert row["isolated"] == len(alone)
            assert row["of_tokens"] == pytest.approx(len(alone) / len(tokens), rel=1e-5)
            broken = [token for token in tokens if "\ufffd" in token.decode(errors="replace")]
            assert row["fragments_of_tokens"] == pytest.approx(len(broken) / len(tokens), rel=1e-5)


def test_parity() -> None:
    found = parity(measurement())
    assert found is not None and len(found) == 2
    assert set(found[0]) == {"tokens_per_byte", "tokens_per_character", "tokens_per_word"}
    assert all(0 <= value < 1 for row in found for value in row.values())
    # The second learned code alone: Chinese costs it more, and characters more than bytes.
    assert found[1]["tokens_per_character"] > found[0]["tokens_per_character"]
