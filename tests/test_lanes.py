from collections import Counter

import pytest

from fastbpe.corpus.blocks import Address
from fastbpe.corpus.sources import Corpus
from fastbpe.errors import FormatError, ParameterError
from fastbpe.pattern.splitter import Splitter
from fastbpe.pipeline.invalid import InvalidBytes
from fastbpe.pipeline.lanes import Found, Lane
from fastbpe.pipeline.progress import Progress
from fastbpe.pipeline.stretches import StretchPacker
from fastbpe.shards.journal import begin
from fastbpe.shards.packing import RowPacker

DOCUMENTS = ["ab c", "", "de fg h", "i"] * 4


def lane(journal, rows=None):
    return Lane(None, journal, StretchPacker(Splitter("gpt2"), None, -1, -1, None), rows, "<u2")


def works(lane, documents, progress=None):
    """All the work, the lane being over."""
    found = []
    for block in Corpus(documents).blocks(7):
        found += lane.work(lane.packer.take(block), progress or Progress())
    found += lane.work(lane.packer.rest(), progress or Progress())
    lane.over()
    return found


@pytest.fixture
def journal(tmp_path):
    journal = begin(tmp_path / "out", {}, resume=False)
    yield journal
    journal.close()


def test_a_later_run_goes_on_with_the_unit(journal):
    first = lane(journal, RowPacker(4, 0))
    whole = works(first, DOCUMENTS)
    assert [work.number for work in whole] == list(range(len(whole)))
    assert b"".join(bytes(w.stretch.data[: w.stretch.stop]) for w in whole) == "".join(DOCUMENTS).encode()
    first.found.left["<e>"] = 2
    first.rows.padding = 3
    for number in (0, 2, len(whole) - 1):
        journal.append({"shard": {}, "state": first.state(number, whole[number].checksum)(), "offset": 1})
        again, progress = lane(journal, RowPacker(4, 0)), Progress()
        assert (again.offset, again.found.left, again.rows.padding) == (1, Counter({"<e>": 2}), 3)
        rest = works(again, DOCUMENTS, progress)
        assert [(work.number, work.checksum) for work in rest] == [(w.number, w.checksum) for w in whole[number:]]
    journal.append({"shard": {}, "state": first.state(len(whole), first.checksum.state(), last=True)(), "offset": 0})
    assert works(lane(journal, RowPacker(4, 0)), DOCUMENTS) == []


@pytest.mark.parametrize("last", [False, True])
def test_another_source_is_noticed(journal, last):
    first = lane(journal)
    whole = works(first, DOCUMENTS)
    number, checksum = (len(whole), first.checksum.state()) if last else (2, whole[2].checksum)
    journal.append({"shard": {}, "state": first.state(number, checksum, last)(), "offset": 0})
    works(lane(journal), DOCUMENTS)
    moved = ["ab ", "c", *DOCUMENTS[2:]]  # the same bytes, cut elsewhere
    for others in (DOCUMENTS[:1], [], ["xb c", *DOCUMENTS[1:]], moved, *([[*DOCUMENTS, "more"]] if last else [])):
        with pytest.raises(ParameterError, match="the source is not as it was"):
            works(lane(journal), others)


def test_what_was_found_comes_back():
    found = Found(Counter({"<e>": 2}), InvalidBytes(3, Address("a", 1, 2)))
    found.add(Found(Counter({"<e>": 1, "<s>": 1}), InvalidBytes()))
    assert found.as_json()["left"] == {"<e>": 3, "<s>": 1}
    assert Found.from_json(found.as_json()) == found
    assert Found.from_json(Found().as_json()) == Found()


def test_a_damaged_journal(journal):
    good = lane(journal, RowPacker(4, 0)).state(0, [0, 0])()
    for state in (None, {}, good | {"found": {}}, good | {"rows": {"column": 1}}, good | {"found": {"invalid": 3}}):
        journal.append({"shard": {}, "state": state, "offset": 0})
        with pytest.raises(FormatError, match="its journal is damaged"):
            lane(journal, RowPacker(4, 0))
