import gzip
import io
import os
from pathlib import Path

import pytest

from fastbpe.corpus import tables
from fastbpe.corpus.compressed import Decompressed
from fastbpe.corpus.readers import ReaderOptions
from fastbpe.corpus.report import Damaged, SourceReport
from fastbpe.errors import DataError

pa = pytest.importorskip("pyarrow", reason="pyarrow reads tables")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow reads tables")
ipc = pytest.importorskip("pyarrow.ipc", reason="pyarrow reads tables")

TEXTS = [f"text {i} " + "中" * (i % 7) for i in range(2000)]
TABLE = pa.table({"n": pa.array(range(2000)), "content": pa.array(TEXTS), "lang": pa.array(["x", "y"] * 1000)})


def collect(pieces):
    documents, numbers, current = [], [], b""
    for piece in pieces:
        assert piece.noun == "row"
        start = 0
        for end in piece.ends.tolist():
            documents.append((current + bytes(piece.data[start:end])).decode("utf-8", "surrogateescape"))
            current, start = b"", end
        current += bytes(piece.data[start:])
        numbers += piece.numbers.tolist()[: len(piece.ends)]
    return documents, numbers


def read(file, kind, block_bytes=1 << 20, on_error="report", **options):
    report = SourceReport("s", on_error=on_error)
    return (*collect(tables.read_table(file, kind, ReaderOptions(**options), block_bytes, report, "a")), report)


def written(path, kind):
    if kind == "parquet":
        pq.write_table(TABLE, path, row_group_size=700)
    else:
        with (ipc.new_file if kind == "arrow file" else ipc.new_stream)(path, TABLE.schema) as file:
            file.write_table(TABLE, max_chunksize=300)
    return str(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow file", "arrow stream"])
def test_kinds(tmp_path, kind):
    path = written(tmp_path / "a", kind)
    for block_bytes in (1 << 20, 100, 1):
        documents, numbers, _ = read(path, kind, block_bytes)
        assert documents == TEXTS
        assert numbers == list(range(1, 2001))
    with open(path, "rb") as file:
        assert read(file, kind)[0] == TEXTS
    documents, numbers, report = read(path, kind, where=(("lang", "y"), ("n", "13")))
    assert (documents, numbers) == ([TEXTS[13]], [14])
    assert report.skipped == {"left out by where": 1999}
    report = read(path, kind, text_field="n")[2]
    assert report.skipped == {"the column 'n' holds no text (int64)": 1}
    with pytest.raises(DataError, match="a: no column 'text'; it has n, content, lang; name the column"):
        read(path, kind, text_field="text", on_error="stop")
    assert read(path, kind, where=(("z", "1"),))[2].rejected == 1


@pytest.mark.parametrize("kind", ["parquet", "arrow file", "arrow stream"])
def test_a_cut_file_never_passes_as_whole(tmp_path, kind):
    path = written(tmp_path / "a", kind)
    data = Path(path).read_bytes()
    for part in (0.3, 0.7, 0.99):
        with pytest.raises(Damaged, match="a: is cut short or damaged"):
            read(io.BytesIO(data[: int(len(data) * part)]), kind)


def test_a_stream_that_stops_between_batches_is_cut(tmp_path):
    data = Path(written(tmp_path / "a", "arrow stream")).read_bytes()
    file = io.BytesIO(data)
    messages, bounds = ipc.MessageReader.open_stream(file), []
    with pytest.raises(StopIteration):
        while True:
            messages.read_next_message()
            bounds.append(file.tell())
    assert len(bounds) == 8 and bounds[-1] + 8 == len(data)
    for rows, bound in zip([0, 300, 600, 900, 1200, 1500, 1800, 2000], bounds, strict=True):
        with pytest.raises(Damaged, match=f"stops before the mark of its end.*; {rows} rows before"):
            read(io.BytesIO(data[:bound]), "arrow stream")


def test_streams_one_after_the_other(tmp_path):
    data = Path(written(tmp_path / "a", "arrow stream")).read_bytes()
    documents, numbers, _ = read(io.BytesIO(data + data), "arrow stream")
    assert (documents, numbers) == (TEXTS + TEXTS, list(range(1, 4001)))
    for more in (b"x", b"something else", data[:100]):
        with pytest.raises(Damaged, match="2000 rows before were read"):
            read(io.BytesIO(data + more), "arrow stream")


def test_batches_before_a_cut_are_kept(tmp_path):
    path = written(tmp_path / "a", "arrow stream")
    os.truncate(path, int(os.path.getsize(path) * 0.7))
    kept = []
    with pytest.raises(Damaged, match="1200 rows before were read"):
        for piece in tables.read_table(path, "arrow stream", ReaderOptions(), 1 << 20, SourceReport("s"), "a"):
            kept.append(piece)
    assert collect(kept)[0] == TEXTS[:1200]


def read_csv(data, kind="csv", on_error="report", **options):
    report = SourceReport("s", on_error=on_error)
    pieces = tables.read_csv(io.BytesIO(data), kind, ReaderOptions(**options), 1 << 20, report, "a.csv", data[:1000])
    return (*collect(pieces), report)


def test_csv():
    assert read_csv(b'id,text\r\n1,"a, ""b""\r\nc"\r\n2,\r\n')[0] == ['a, "b"\r\nc', ""]
    assert read_csv(b'text\n""\n\n"a"\n')[0] == ["", "", "a"]
    assert read_csv(b"id\ttext\n1\tNULL\n")[0] == ["NULL"]
    assert read_csv(b"\xef\xbb\xbftext;lang\nNA;x\nb;y\n", where=(("lang", "x"),))[0] == ["NA"]
    assert read_csv(b"text,lang\n")[0] == []
    assert read_csv(b"")[0] == []
    assert read_csv(b"a,b\n1,2\n")[2].rejected == 1


def test_rows_of_a_wrong_length():
    documents, _, report = read_csv(b"id,text\n1,a\n2,b,c\n3,d\n")
    assert documents == ["a", "d"]
    assert report.skipped == {"3 fields, not 2": 1}
    assert report.skipped_examples == [("a.csv, row 2", "3 fields, not 2")]
    with pytest.raises(DataError, match="row 2: 3 fields"):
        read_csv(b"id,text\n1,a\n2,b,c\n", on_error="stop")


def test_tsv_has_no_quotes():
    assert read_csv(b'text\tid\n"a\t1\nb"\t2\n', "tsv")[0] == ['"a', 'b"']


def test_rows_before_the_cut_of_an_archive_are_kept():
    rows = [f"text {i}, \n" + "ab\n" * (i % 5) for i in range(500)]
    data = b"id,text\n" + b"".join(b'%d,"%s"\n' % (i, row.encode()) for i, row in enumerate(rows))
    packed = gzip.compress(data, 0)
    for cut in (*range(1000, 1060), len(packed) - 1):
        file = Decompressed(io.BytesIO(packed[:cut]), "gzip", "a.csv.gz")
        pieces = []
        with pytest.raises(Damaged, match="is cut short"):
            report = SourceReport("s")
            for piece in tables.read_csv(file, "csv", ReaderOptions(), 1 << 20, report, "a", data[:100]):
                pieces.append(piece)
        found = collect(pieces)[0]
        assert found == rows[: len(found)]
        assert len(found) > 10
        assert report.rejected == 0


def test_few_long_rows_are_read_at_once(tmp_path):
    texts = [str(i).zfill(8) * 250_000 for i in range(20)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "a", use_dictionary=False)
    with pq.ParquetFile(tmp_path / "a") as file:
        assert tables._batch_rows(file.metadata) == 4
    assert read(str(tmp_path / "a"), "parquet")[0] == texts
    pq.write_table(pa.table({"text": []}), tmp_path / "a")
    with pq.ParquetFile(tmp_path / "a") as file:
        assert tables._batch_rows(file.metadata) == tables.BATCH_ROWS
