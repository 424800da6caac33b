import contextlib
import functools
import gzip
import http.server
import threading

import fsspec
import pytest
from whole_documents import documents_of

from fastbpe.corpus.remote import expand_address, is_address, shown
from fastbpe.corpus.sources import Corpus, files
from fastbpe.errors import DataError, ParameterError


def read(*addresses, **options):
    corpus = Corpus(files(*addresses, **options))
    assert corpus.survey() is None
    return documents_of(corpus.blocks()), corpus.reports


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    system.store.clear()
    for name, data in {
        "/d/b.txt": b"b",
        "/d/a.jsonl.gz": gzip.compress(b'{"text": "a"}\n'),
        "/d/.x": b"hidden",
        "/d/e/c.txt": b"c",
    }.items():
        system.pipe_file(name, data)
    yield system
    system.store.clear()


def test_addresses():
    assert is_address("memory://a") and is_address("s3://b/c") and is_address("zip://a::https://b")
    assert not is_address("a/b") and not is_address("/a://b") and not is_address("C:/a")
    assert shown("ftp://me:secret@host/a") == "ftp://host/a"


def test_memory(memory):
    found, (report,) = read("memory://d")
    assert found == [b"a", b"b", b"c"]
    assert report.skipped == {"hidden": 1}
    assert report.name == "memory://d"
    assert read("memory://d/*.txt")[0] == [b"b"]
    memory.pipe_file("/d/e/.h/x.txt", b"hidden")
    found, (report,) = read("memory://d/**")
    assert (found, report.skipped) == ([b"a", b"b", b"c"], {"hidden": 2})
    assert read("memory://d/e/.h/*.txt")[0] == read("memory://d/e/.*/*")[0] == [b"hidden"]
    assert read("memory://d/b.txt", "memory://d/e/c.txt")[0] == [b"b", b"c"]


def test_parquet_at_an_address(memory):
    pa = pytest.importorskip("pyarrow", reason="pyarrow reads tables")
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow reads tables")
    with memory.open("/p.parquet", "wb") as file:
        pq.write_table(pa.table({"content": ["x", "y"]}), file)
    assert read("memory://p.parquet")[0] == [b"x", b"y"]


def test_what_is_not_there(memory):
    for address in ("memory://nothing", "memory://d/*.z"):
        with pytest.raises(DataError, match=r"memory://.*: no (such )?file"):
            read(address)
    with pytest.raises(ParameterError, match="nosuch"):
        list(expand_address("nosuch://a", lambda what, why: None))
    with pytest.raises(ParameterError, match="ocifs") as refused:  # a file system whose package is not installed
        list(expand_address("oci://a/b.txt", lambda what, why: None))
    assert "http" not in str(refused.value)


@contextlib.contextmanager
def serving(handler):
    """The address of a server on loopback that ends with the block."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def server(tmp_path):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with serving(functools.partial(Quiet, directory=tmp_path)) as address:
        yield address


def test_http(server, tmp_path):
    pytest.importorskip("aiohttp", reason="http comes with the extra of its name")
    text = b"0123456789" * 300_000
    (tmp_path / "a.txt").write_bytes(text)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"text": "b"}\n' * 1000))
    found, _ = read(f"{server}/a.txt", f"{server}/b.jsonl.gz")
    assert found == [text] + [b"b"] * 1000
    with pytest.raises(DataError, match=r"none\.txt"):
        read(f"{server}/none.txt")


def test_why_a_server_gives_nothing(server):
    """One that cannot be reached, or fails, is not one that does not have the file."""

    class Failing(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(503)

        do_HEAD = do_GET

        def log_message(self, *arguments):
            pass

    with pytest.raises(DataError, match="no such file; check the address"):
        read(f"{server}/nothing.txt")
    with serving(Failing) as address, pytest.raises(DataError, match=r"cannot be read .*503"):
        read(f"{address}/a.txt")
    with pytest.raises(DataError, match=r"cannot be read .*onnect"):
        read(f"{address}/a.txt")


def test_a_connection_that_breaks_off_is_no_end(tmp_path):
    pytest.importorskip("aiohttp", reason="http comes with the extra of its name")

    class Breaking(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(200)
            self.send_header("Content-Length", "30000")
            self.end_headers()

        def do_GET(self):
            self.do_HEAD()
            self.wfile.write(b"0123456789" * 1000)

        def log_message(self, *args):
            pass

    with (
        serving(Breaking) as address,
        pytest.raises(DataError, match=r"a\.txt: cannot be read \(.*10000 of 30000 bytes"),
    ):
        read(f"{address}/a.txt")
