import pytest
from whole_documents import documents_of

from fastbpe.corpus.sources import Corpus, documents
from fastbpe.errors import DataError, ParameterError
from fastbpe.text import to_bytes


def read(source, block_bytes=1 << 20):
    corpus = Corpus(source)
    return documents_of(corpus.blocks(block_bytes)), corpus.reports[0]


@pytest.mark.parametrize("block_bytes", [1, 2, 7, 1 << 20])
def test_long_texts_come_in_parts(block_bytes):
    texts = ["\u00e9" * 20, "", "a\ud83d\ude00\ud83d" * 9, b"\xffb" * 20, "short"]
    corpus = Corpus(iter(texts))
    blocks = list(corpus.blocks(block_bytes))
    assert max(len(block.data) for block in blocks) <= max(block_bytes, 9)
    assert read(iter(texts), block_bytes)[0] == [to_bytes(text) for text in texts]
    assert corpus.reports[0].documents == len(texts)


def test_mappings():
    records = [{"text": "a"}, {"text": None}, {"text": b"\xff"}, "plain", {"x": 1}, {"text": 3}]
    found, report = read(iter(records))
    assert found == [b"a", b"", b"\xff", b"plain"]
    assert report.skipped == {"no field 'text'": 1, "the field 'text' is no text": 1}
    assert report.skipped_examples[0] == ("documents given, document 4", "no field 'text'")
    assert read([{"content": "c"}, {"content": "d"}])[0] == [b"c", b"d"]
    with pytest.raises(DataError, match="document 4: no field 'text'; name the field"):
        read(documents(records, on_error="stop"))


def test_where_and_nested_fields():
    records = [{"a": {"b": "x"}, "lang": "py"}, {"a": {"b": "y"}, "lang": "c"}]
    found, report = read(documents(records, "a.b", {"lang": "py"}))
    assert found == [b"x"]
    assert report.skipped == {"left out by where": 1}


def test_a_dictionary_of_datasets_is_refused():
    with pytest.raises(ParameterError, match=r"several \(train, test\): choose one"):
        Corpus({"train": ["a"], "test": []})


def test_arrow_tables_and_readers():
    pa = pytest.importorskip("pyarrow", reason="pyarrow reads tables")
    table = pa.table({"content": ["a", None, "bc"], "lang": ["x", "y", "x"]})
    assert read(table)[0] == [b"a", b"", b"bc"]
    assert read(table.to_reader(max_chunksize=1), 1)[0] == [b"a", b"", b"bc"]
    assert read(documents(table, where={"lang": "x"}))[0] == [b"a", b"bc"]
    with pytest.raises(DataError, match="no column 'z'; it has content, lang; name the column"):
        read(documents(table, "z"))


def test_hugging_face_datasets():
    datasets = pytest.importorskip("datasets", reason="the library of the datasets")
    table = pytest.importorskip("datasets.table", reason="the library of the datasets")
    pa = pytest.importorskip("pyarrow", reason="pyarrow reads tables")
    rows = {"text": [f"text {i}" for i in range(1000)], "n": list(range(1000))}
    dataset = datasets.Dataset(table.InMemoryTable(pa.table(rows)), fingerprint="rows")
    expected = [text.encode() for text in rows["text"]]
    assert read(dataset)[0] == expected
    assert read(dataset.select([5, 3]))[0] == [expected[5], expected[3]]
    assert read(dataset.to_iterable_dataset())[0] == expected
    assert read(documents(dataset, "text", {"n": "7"}))[0] == [expected[7]]
    generated = datasets.IterableDataset.from_generator(lambda: ({"a": {"b": row}} for row in rows["text"][:7]))
    assert read(documents(generated, "a.b"))[0] == expected[:7]
    assert read(documents(generated.take(2), "a.b"))[0] == expected[:2]
    with pytest.raises(ParameterError, match="choose one of them"):
        Corpus(datasets.DatasetDict({"train": dataset}))


def test_what_behaves_as_a_dataset():
    pa = pytest.importorskip("pyarrow", reason="pyarrow reads tables")

    class Dataset:
        def with_format(self, name):
            assert name == "arrow"
            return self

        def iter(self, batch_size):
            yield pa.table({"text": ["a", "b"]})
            yield pa.table({"text": [None]})

    assert read(Dataset())[0] == [b"a", b"b", b""]
