import numpy as np
from report_maker import SOURCES, measurement, tokenizers

from fastbpe.report.measured import ratio, total


def test_counts_are_those_of_all_texts() -> None:
    found = measurement()
    assert found.main is found.tokenizers[0]
    ids, _ = tokenizers()[0].encode_batch_to_numpy([text for source in SOURCES for text in source])
    rows = found.main.vocabulary.rows(ids)
    assert found.main.counts.tolist() == np.bincount(rows, minlength=len(found.main.vocabulary)).tolist()


def test_texts_are_chosen() -> None:
    found = measurement()
    assert (found.chosen(True), found.chosen(False), list(found.everything)) == ([2], [0, 1], [0, 1, 2])
    assert total(found.texts, [0, 2], "documents") == len(SOURCES[0]) + len(SOURCES[2])


def test_ratio() -> None:
    assert ratio(1, 3) == 0.333333 and ratio(0, 5) == 0.0 and ratio(1, 0) is None
