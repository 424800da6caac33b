"""The recipes run, on small corpora, and give what they say."""

import importlib
import io
import json
import lzma
import tarfile
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from corpora import chinese_poetry
from corpora.classical import compare
from corpora.classical import prepare as classical
from corpora.python import train as python
from corpora.tang import prepare as tang
from corpora.tang import train as tang_train

SAMPLE = compare.SAMPLE
QUATRAIN = ["白日依山盡，黃河入海流。", "欲窮千里目，更上一層樓。"]


def package(directory: Path, files: dict[str, list[dict[str, Any]]]) -> Path:
    """An archive like npm's, in the place where the recipes look for it."""
    archive = directory / chinese_poetry.ARCHIVE
    with tarfile.open(archive, "w:gz") as tar:
        for name, entries in files.items():
            content = json.dumps(entries).encode()
            member = tarfile.TarInfo(f"package/dist/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return archive


@pytest.fixture
def poems(tmp_path: Path) -> Path:
    quatrain = {"title": "登鸛雀樓", "author": "王之渙", "paragraphs": QUATRAIN}
    return package(
        tmp_path,
        {
            "quantangshi/poet.tang.1000.json": [quatrain, {"title": "x", "author": "y", "paragraphs": ["短。"]}],
            "quantangshi/poet.tang.0.json": [quatrain, {**quatrain, "paragraphs": [*QUATRAIN, *QUATRAIN]}],
            "quantangshi/error/poet.tang.0.json": [quatrain],
            "songci/ci.song.0.json": [{"rhythmic": "导引", "author": "和岘", "paragraphs": ["气和\n玉烛。 "]}],
            "shijing/shijing.json": [
                {"title": "关雎", "content": ["关关雎鸠，在河之洲。"]},
                {"title": "", "content": []},
            ],
        },
    )


def test_tang_is_prepared(poems: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("opencc", reason="the recipe's characters are simplified by OpenCC")
    kept, counts = tang.prepared(poems)
    one = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。"
    assert sorted(kept) == [one, one + one]
    assert [counts[name] for name in ("files", "poems", "of the four forms", "distinct")] == [2, 4, 3, 2]
    assert (counts["4 lines of 5"], counts["8 lines of 5"], counts["bytes"]) == (1, 1, 3 * len(one.encode()) + 2)
    assert tang.main(poems.parent) == 1  # these are not the published poems
    out, err = capsys.readouterr()
    assert "published: 57607" in out
    assert "is not written" in err
    assert not (poems.parent / "poems.txt").exists()


def test_without_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"npm is missing.*chinese-poetry-2\.0\.1\.tgz"):
        chinese_poetry.fetched(tmp_path)


def test_tang_checks_what_is_in_the_repository() -> None:
    text = lzma.decompress(tang_train.POEMS.read_bytes())
    lines = text.decode().splitlines()
    assert tang.text_of(lines) == text
    assert len(text) == tang.PUBLISHED["bytes"]
    for form in tang.FORMS:
        assert sum(tang.form_of(line) == form for line in lines) == tang.PUBLISHED[form]


@pytest.mark.parametrize(
    ("poem", "form"),
    [
        ("一二三四五，一二三四五。" * 2, "4 lines of 5"),
        ("一二三四五六七，一二三四五六七。" * 4, "8 lines of 7"),
        ("一二三四五。一二三四五，" * 2, None),
        ("一二三四五，一二三四五。" * 3, None),
        ("一二三四a，一二三四五。" * 2, None),
    ],
)
def test_forms(poem: str, form: str | None) -> None:
    assert tang.form_of(poem) == form


def test_tang_trainings(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lzma.decompress(tang_train.POEMS.read_bytes()).decode().splitlines()[:3_000]
    (tmp_path / "poems.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    few = {"500": (500, None, 150), "500-split": (500, tang_train.AT_PUNCTUATION, 150)}
    monkeypatch.setattr(tang_train, "TRAININGS", few)
    tang_train.main([str(tmp_path / "poems.txt"), "-o", str(tmp_path / "out")])
    out = capsys.readouterr().out
    assert "500-split" in out
    assert "unknown in unseen" in out
    unsplit, split = (fastbpe.load(tmp_path / "out" / f"tang-{name}.json") for name in few)
    assert {len(split.splitter.split("一，二。\n三")), len(unsplit.splitter.split("一，二。\n三"))} == {6, 1}
    # No token of several characters crosses punctuation once it is split there.
    assert any(set("，。\n") & set(token) for token in tang_train.learned(unsplit)["several"])
    assert not any(set("，。\n") & set(token) for token in tang_train.learned(split)["several"])
    assert isinstance(fastbpe.load(tmp_path / "out" / "tang-characters-2000.json"), fastbpe.CharTokenizer)


def test_structured_records(poems: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("opencc", reason="the recipe's characters are simplified by OpenCC")
    classical.main(poems.parent)
    records = [json.loads(line)["text"] for line in (poems.parent / "records.jsonl").read_text("utf-8").splitlines()]
    assert records[:2] == [
        "<|title|>关雎<|author|>佚名<|dynasty|>先秦<|content|>关关雎鸠，在河之洲。</s>",
        "<|title|>登鹳雀楼<|author|>王之涣<|dynasty|>唐<|content|>白日依山尽，黄河入海流。欲穷千里目，更上一层楼。</s>",
    ]
    assert records[-1] == "<|title|>导引<|author|>和岘<|dynasty|>宋<|content|>气和玉烛。</s>"
    assert len(records) == 5  # the quatrain that stands in two files once
    assert "records.jsonl" in capsys.readouterr().out


def test_the_two_patterns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare.main(["--vocab-size", "2048", "-o", str(tmp_path)])
    assert "1,092 records to train on, 58 to measure with" in capsys.readouterr().out
    records = compare.records_in(SAMPLE)
    classic, fused = (fastbpe.load(tmp_path / f"classical-{name}.json") for name in compare.PATTERNS)
    assert dict(classic.special_tokens) == {name: id for id, name in enumerate(compare.SPECIALS)}
    before, after = (compare.measured(tokenizer, records[:200]) for tokenizer in (classic, fused))
    assert float(str(before["isolated"])[:-1]) > 2 * float(str(after["isolated"])[:-1])
    assert float(str(before["broken"])[:-1]) < float(str(after["broken"])[:-1])


def test_measures_of_a_record() -> None:
    record = "<|title|>a<|author|>b<|dynasty|>c<|content|>" + ("一二三四五六七，一二三四五六七。" * 2) + "</s>"
    tokenizer = compare.trained([record], 264, "gpt2")  # bytes only
    figures = compare.measured(tokenizer, [record])
    assert figures == {
        "tokens": 3 + 3 * 32,
        "isolated": "0.00%",
        "broken": f"{96 / 99:.2%}",
        "characters per token": round(35 / 99, 4),
        "quatrain": "96.00",
    }
    assert [compare.kind_of(token) for token in ("，".encode(), "一，".encode(), b"\xef\xbc")] == [
        "punctuation",
        "text",
        "part",
    ]


def test_python_trainings(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for i, path in enumerate(sorted(Path(fastbpe.__file__).parent.rglob("*.py"))[:40]):
        (tmp_path / f"{i}.py").write_bytes(path.read_bytes())
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    (tmp_path / "again.py").write_bytes((tmp_path / "0.py").read_bytes())
    texts = python.sources([tmp_path])
    assert len(texts) == len({(tmp_path / f"{i}.py").read_bytes() for i in range(40)} - {b""})
    monkeypatch.setattr(python, "SIZES", (400, 500))
    monkeypatch.setattr(python, "MEGABYTE", 20_000)
    python.main([str(tmp_path), "--megabytes", "1", "2", "-o", str(tmp_path / "out")])
    assert "bytes/token" in capsys.readouterr().out
    small, large = (fastbpe.load(tmp_path / "out" / f"python-2mb-{size}.json") for size in (400, 500))
    assert (small.vocab_size, large.vocab_size) == (400, 500)
    assert small == large.truncate(400)
    assert small.special_tokens["<tool_call>"] == 3


def test_the_stack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow", reason="the recipe reads Parquet (extra parquet)")
    make_sample = importlib.import_module("corpora.the-stack.make_sample")
    train = importlib.import_module("corpora.the-stack.train")
    texts = {"python": ["def f():\n    return 1\n" * 20] * 10, "css": ["a { color: red; }\n" * 20] * 3}
    for language, contents in texts.items():
        make_sample.write(tmp_path / "stack", language, ".x", contents)
    arguments = [str(tmp_path / "stack"), "--vocab-size", "290", "--weight", "css=100"]
    train.main([*arguments[:1], str(tmp_path / "out"), *arguments[1:]])
    out = capsys.readouterr().out
    assert [line.split()[:3] for line in out.splitlines()] == [
        ["language", "weight", "documents"],
        ["css", "100", "3"],
        ["python", "1", "10"],
    ]
    tokenizer = fastbpe.load(tmp_path / "out" / "tok.json")
    assert b" color" in tokenizer.model.tokens  # which css alone would not have paid for
    shards = fastbpe.TokenShards(tmp_path / "out" / "shards" / "css")
    assert shards.manifest.documents == 3
    with pytest.raises(SystemExit):
        train.main([str(tmp_path / "stack"), str(tmp_path / "out2"), "--weight", "rust=2"])
    assert "there is no language rust" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        train.main([str(tmp_path), str(tmp_path / "out2")])
    assert "has no data/LANGUAGE" in capsys.readouterr().err


def test_the_stacks_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the recipe writes Parquet (extra parquet)")
    make_sample = importlib.import_module("corpora.the-stack.make_sample")
    monkeypatch.setattr(make_sample, "LANGUAGES", {"python": ".py"})
    monkeypatch.setattr(make_sample, "MOST_FILES", 3)
    library = {name: str(Path(fastbpe.__file__).parent / "cli") for name in ("stdlib", "include", "purelib")}
    monkeypatch.setattr(make_sample.sysconfig, "get_paths", lambda *_: library)
    make_sample.main(tmp_path)
    (file,) = (tmp_path / "data" / "python").glob("*.parquet")
    table = parquet.read_table(file)
    assert table.column_names == ["content", "lang", "ext", "size"]
    assert table.num_rows == 3
    assert all(
        len(text.encode()) == n for text, n in zip(*(table[c].to_pylist() for c in ("content", "size")), strict=True)
    )
