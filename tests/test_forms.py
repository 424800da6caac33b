import gzip

import numpy as np
import pytest

from fastbpe.errors import FastbpeError, FormatError, ParameterError
from fastbpe.shards.ends import Ends
from fastbpe.shards.forms import FORMS, Origin, form_named

ORIGINS = [Origin("a", 1), Origin('b"', 2), Origin("c", 9)]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_headers_keep_their_size(form):
    dtype = form.dtype(1000)
    assert len({len(form.header(dtype, n)) for n in (0, 1, 100_000_000)}) == 1


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_file_that_is_not_what_it_should_be(form, tmp_path):
    dtype = form.dtype(1000)
    tokens = np.arange(10).astype(dtype)
    path = tmp_path / "x"
    path.write_bytes(form.header(dtype, 10) + tokens.tobytes())
    assert form.open(path, dtype, 10).tolist() == tokens.tolist()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FormatError, match="x: "):
        form.open(path, dtype, 10)
    if form.name == "llmc":
        path.write_bytes(bytes(1024) + tokens.tobytes())
        with pytest.raises(FormatError, match="header"):
            form.open(path, dtype, 10)


def test_types():
    edges = {"npy": (65_536, "<u2", "<u4"), "llmc": (65_536, "<u2", "<u4"), "megatron": (65_499, "<u2", "<i4")}
    for name, (limit, below, above) in edges.items():
        form = form_named(name)
        assert (form.dtype(limit), form.dtype(limit + 1)) == (np.dtype(below), np.dtype(above))
    dolma = form_named("dolma")
    assert [dolma.dtype(n).itemsize for n in (256, 257, 65_536, 65_537)] == [1, 2, 2, 4]
    with pytest.raises(ParameterError):
        form_named("nanogpt").dtype(65_537)
    with pytest.raises(ParameterError, match="choose npy, nanogpt"):
        form_named("x")


def ends_of(folder, *values):
    ends = Ends(folder)
    for value in values:
        ends.add(np.array([value], np.int64))
    return ends


@pytest.mark.parametrize("held", [1, 2, 100])
def test_beside(tmp_path, monkeypatch, held):
    monkeypatch.setattr("fastbpe.shards.ends.HELD", held)
    monkeypatch.setattr("fastbpe.shards.forms.HELD", held)
    dtype = np.dtype("<u2")
    ends = ends_of(tmp_path, 2, 2, 5)
    ((name, parts),) = form_named("dolma").beside("part-0-00000.npy", dtype, ends, ORIGINS).items()
    assert name == "part-0-00000.csv.gz"
    assert gzip.decompress(b"".join(parts)).decode() == '0,2,a:1,a,1\n2,2,"b"":2","b""",2\n2,5,c:9,c,9\n'
    ((name, parts),) = form_named("megatron").beside("x.bin", dtype, ends, []).items()
    assert name == "x.idx"
    data = b"".join(parts)
    assert len(data) == 34 + 3 * 4 + 3 * 8 + 4 * 8
    assert np.frombuffer(data, "<i4", 3, 34).tolist() == [2, 0, 3]
    assert np.frombuffer(data, "<i8", 7, 46).tolist() == [0, 4, 4, 0, 1, 2, 3]
    too_long = ends_of(tmp_path, 1, 1 + (1 << 31))
    with pytest.raises(FastbpeError, match="too long"):
        list(form_named("megatron").beside("x.bin", dtype, too_long, [])["x.idx"])
    ends.close()
    too_long.close()
