"""A training that is killed at any point and goes on gives the bytes of an undisturbed one, with less work."""

import functools
import itertools
import os
import random
import signal
from pathlib import Path

import pytest
from children import fork
from test_crash import killed_at

import fastbpe
from fastbpe import merging
from fastbpe.corpus.sources import Corpus
from fastbpe.errors import FastbpeError, ParameterError
from fastbpe.pipeline import checkpoint, count
from fastbpe.pipeline.bounded import BoundedCounter
from fastbpe.pipeline.checkpoint import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

WORDS = ["low", "lower", "newest", "widest", "a", "the", "thé", "x" * 20]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve files of some hundred bytes; three or four of them make a checkpoint."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # what the system was given outlives a killed process
    monkeypatch.setattr(count, "SEGMENT_BYTES", 1000)
    monkeypatch.setattr(count, "MOST_BYTES", 1000)
    monkeypatch.setattr(Corpus, "segments", functools.partialmethod(Corpus.segments, block_bytes=500))
    monkeypatch.setattr(count, "BoundedCounter", functools.partial(BoundedCounter, cache_bits=2, partition_bits=1))
    monkeypatch.setattr(checkpoint, "LATE", 0)
    monkeypatch.setattr(merging, "_WORK", 5)
    folder = tmp_path / "corpus"
    folder.mkdir()
    chance = random.Random(1)
    for i in range(12):
        text = " ".join(chance.choice(WORDS) + str(chance.randrange(i + 2)) for _ in range(50))
        (folder / f"{i:02}.txt").write_text(text + "\n" + text[:40])
    (folder / ".hidden").touch()
    return folder


@pytest.fixture(params=["files", "file", "document"])
def any_corpus(corpus: Path, request: pytest.FixtureRequest) -> Path:
    """The same text, and a byte that is no UTF-8, in twelve files, in one, or in one that is a document."""
    with open(corpus / "05.txt", "ab") as file:
        file.write(b"lo\xffw")
    if request.param == "files":
        return corpus
    one = corpus.parent / request.param
    one.write_bytes(b"".join(path.read_bytes() for path in sorted(corpus.iterdir())))
    return one


def run(corpus: Path, work: Path | None, out: Path, **options: object) -> dict[str, int]:
    """Trains, and says how much each phase had to do."""
    done: dict[str, int] = {}

    def tell(event) -> None:
        done[event.phase] = event.done

    given = {"vocab_size": 330, "pattern": "gpt2", "threads": 1, "resume": work is not None, **options}
    source = fastbpe.files(corpus, lines=corpus.name != "document")
    tok = fastbpe.train(source, checkpoint=work, progress=tell, **given)
    tok.save(out)
    return done


def killed_in(function: str, nth: int, work) -> None:
    """Runs `work` in a child that is killed when it has called Checkpoint.`function` for the nth time."""
    child = fork()
    if not child:
        try:
            calls = itertools.count(1)
            whole = getattr(Checkpoint, function)

            def deadly(self, *arguments):
                whole(self, *arguments)
                if next(calls) == nth:
                    os.kill(os.getpid(), signal.SIGKILL)

            setattr(Checkpoint, function, deadly)
            work()
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), f"{function} was not called {nth} times"


VARIANTS = [
    {},
    {"weights": {"0?.txt": "2.5", "1?.txt": "1/3"}},
    {"max_bytes": 2500, "sample_seed": 5},
    {"errors": "replace", "tie_break": "first", "min_chunk_count": 2},
    {"tie_break": "huggingface", "special_tokens": ["low"], "special_placement": "first", "max_token_length": 5},
]


@pytest.mark.parametrize("options", VARIANTS)
@pytest.mark.parametrize("how", ["before", "half", "after"])
def test_killed_at_every_point(corpus: Path, tmp_path: Path, how: str, options: dict) -> None:
    run(corpus, None, tmp_path / "whole", **options)
    whole = (tmp_path / "whole").read_bytes()
    step = 3 if how == "before" and not options else 17
    out, work = tmp_path / "out", tmp_path / "work"
    for point in itertools.count(0, step):
        killed = killed_at(point, how, lambda: run(corpus, work, out, **options))
        out.unlink(missing_ok=True)
        run(corpus, work, out, **options)
        assert out.read_bytes() == whole
        assert not work.exists()
        if not killed and point > 100:  # a call that fails is not killed after it
            break


@pytest.mark.parametrize("options", VARIANTS)
def test_killed_again_and_again(any_corpus: Path, tmp_path: Path, options: dict) -> None:
    if any_corpus.name != "corpus" and "weights" in options:
        options = {"weights": {any_corpus.name: "2.5"}}
    if any_corpus.name == "document" and "max_bytes" in options:
        options = {"normalizer": "NFC"}
    run(any_corpus, None, tmp_path / "whole", **options)
    out, work = tmp_path / "out", tmp_path / "work"
    chance = random.Random(1)
    while killed_at(
        chance.randrange(10, 400),
        chance.choice(["before", "half", "after"]),
        lambda: run(any_corpus, work, out, **{**options, "threads": 2}),
    ):
        pass
    assert out.read_bytes() == (tmp_path / "whole").read_bytes()


def test_what_was_counted_is_not_counted_again(any_corpus: Path, tmp_path: Path) -> None:
    out, work = tmp_path / "out", tmp_path / "work"
    everything = run(any_corpus, None, tmp_path / "whole")
    left = []
    for nth in (1, 2, 3):
        killed_in("counted", nth, lambda: run(any_corpus, work, out))
        done = run(any_corpus, work, out)
        assert out.read_bytes() == (tmp_path / "whole").read_bytes()
        assert done["count"] + done.get("skip", 0) <= everything["count"]
        left.append(done["count"])
    assert everything["count"] > left[0] > left[1] > left[2] > 0
    killed_in("save_counts", 1, lambda: run(any_corpus, work, out))
    assert run(any_corpus, work, out) == {"count": 0, "merge": everything["merge"]}
    assert out.read_bytes() == (tmp_path / "whole").read_bytes()


def test_the_more_is_counted_the_rarer_is_it_noted(corpus: Path, tmp_path: Path, monkeypatch) -> None:
    def noted() -> list[int]:
        totals: list[int] = []

        class Noting(Checkpoint):
            def counted(self, progress: dict) -> None:
                super().counted(progress)
                totals.append(progress["totals"]["n_bytes"] + progress["skip"] if "totals" in progress else -1)

        with Noting(tmp_path / "work") as kept:
            fastbpe.count_chunks(fastbpe.files(corpus), "gpt2", checkpoint=kept)
            kept.remove()
        return totals

    monkeypatch.setattr(count, "SEGMENT_BYTES", 500)
    monkeypatch.setattr(count, "MOST_BYTES", 500)
    often = noted()
    monkeypatch.setattr(count, "MOST_BYTES", 10**9)
    seldom = noted()
    assert often[-1] == seldom[-1] == -1, "the last is that of all counts"
    assert seldom[0] == often[0] >= 500
    assert all(500 <= later - sooner < 1500 for sooner, later in itertools.pairwise(often[:-1]))
    assert all(2 * sooner <= later < 3 * sooner + 1500 for sooner, later in itertools.pairwise(seldom[:-1]))
    assert len(seldom) < len(often)


def test_a_counting(any_corpus: Path, tmp_path: Path) -> None:
    work, source = tmp_path / "work", fastbpe.files(any_corpus)
    whole = fastbpe.count_chunks(source, "gpt2")
    assert whole.corpus.first_invalid
    for function in ("counted", "save_counts"):
        killed_in(function, 1, lambda: fastbpe.count_chunks(source, "gpt2", checkpoint=work))
        with pytest.raises(ParameterError, match="--resume"):
            fastbpe.count_chunks(source, "gpt2", checkpoint=work)
        with pytest.raises(ParameterError, match="pattern was"):
            fastbpe.count_chunks(source, "cl100k", checkpoint=work, resume=True)
        counts = fastbpe.count_chunks(source, "gpt2", checkpoint=work, resume=True)
        assert (counts, counts.corpus, counts.sources) == (whole, whole.corpus, whole.sources)
        assert not work.exists()


def test_the_size_of_a_sampled_text_is_found_once(corpus: Path, tmp_path: Path) -> None:
    lines = [f'{{"text": "{path.read_text()[:100]}"}}\n' for path in sorted(corpus.iterdir())] * 5
    source = tmp_path / "records.jsonl"
    source.write_text("".join(lines))
    phases: list[str] = []

    def counted(**more: object) -> fastbpe.ChunkCounts:
        return fastbpe.count_chunks(
            fastbpe.files(source), "gpt2", max_bytes=4000, progress=lambda event: phases.append(event.phase), **more
        )

    whole = counted()
    assert "measure" in phases and whole.corpus.documents < len(lines)
    killed_in("counted", 1, lambda: counted(checkpoint=tmp_path / "work"))
    phases.clear()
    assert counted(checkpoint=tmp_path / "work", resume=True) == whole
    assert list(dict.fromkeys(phases)) == ["skip", "count"]


def test_blocks_that_are_others_are_noticed(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, work = tmp_path / "one", tmp_path / "work"
    one.write_bytes(b"".join(path.read_bytes() for path in sorted(corpus.iterdir())))
    killed_in("counted", 1, lambda: fastbpe.count_chunks(fastbpe.files(one), "gpt2", checkpoint=work))
    monkeypatch.setattr(Corpus, "segments", functools.partialmethod(Corpus.segments, block_bytes=611))
    with pytest.raises(ParameterError, match="the text lies in other blocks"):
        fastbpe.count_chunks(fastbpe.files(one), "gpt2", checkpoint=work, resume=True)


def test_what_was_learned_is_not_learned_again(corpus: Path, tmp_path: Path) -> None:
    out, work = tmp_path / "out", tmp_path / "work"
    everything = run(corpus, None, tmp_path / "whole")
    for nth in (1, 5, 9):
        killed_in("learned", nth, lambda: run(corpus, work, out))
        learned = len((work / "merges").read_bytes().splitlines()) - 1
        parts: list[merging.Merges] = []
        done = run(corpus, work, out, on_merges=parts.append)
        assert learned >= nth
        assert done == {"count": 0, "merge": everything["merge"] - learned}
        assert len(parts[0]) == learned, "what is known is told first"
        assert sum(map(len, parts)) == everything["merge"]
        assert out.read_bytes() == (tmp_path / "whole").read_bytes()


def test_another_size_takes_what_was_learned(corpus: Path, tmp_path: Path) -> None:
    out, work = tmp_path / "out", tmp_path / "work"
    for size in (259, 300, 9999):
        run(corpus, None, tmp_path / "whole", vocab_size=size)
        killed_in("learned", 9, lambda: run(corpus, work, out))
        run(corpus, work, out, vocab_size=size)
        assert out.read_bytes() == (tmp_path / "whole").read_bytes()


def test_counts_as_a_source(corpus: Path, tmp_path: Path) -> None:
    counts = fastbpe.count_chunks(fastbpe.files(corpus), "gpt2")
    whole = fastbpe.train(counts, 330)
    killed_in("learned", 9, lambda: fastbpe.train(counts, 330, checkpoint=tmp_path / "work"))
    assert fastbpe.train(counts, 330, checkpoint=tmp_path / "work", resume=True) == whole
    killed_in("learned", 9, lambda: fastbpe.train(counts, 330, checkpoint=tmp_path / "work"))
    with pytest.raises(ParameterError, match="the text has changed"):
        fastbpe.train(counts + counts, 330, checkpoint=tmp_path / "work", resume=True)


def test_a_source_that_changed_is_refused(corpus: Path, tmp_path: Path) -> None:
    out, work = tmp_path / "out", tmp_path / "work"
    killed_in("counted", 1, lambda: run(corpus, work, out))
    path = corpus / "05.txt"
    state, text = path.stat(), path.read_text()
    path.write_text(text + "more")
    with pytest.raises(ParameterError, match=r"05\.txt has changed \(\d+ bytes, now \d+\); remove the directory"):
        run(corpus, work, out)
    path.write_text(text)
    with pytest.raises(ParameterError, match=r"05\.txt has changed \(written anew since\)"):
        run(corpus, work, out)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    for name, there in (("055.txt", "06.txt was there, .*055.txt"), ("99.txt", "none was there, .*99.txt")):
        (corpus / name).touch()
        with pytest.raises(ParameterError, match=there):
            run(corpus, work, out)
        (corpus / name).unlink()
    run(corpus, work, out)
    assert out.exists()


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("counted", {"pattern": "cl100k"}, "pattern was"),
        ("counted", {"special_tokens": ["low"]}, r"special_tokens was \[\] and is \['low'\]"),
        ("counted", {"weights": {"*": 2}}, "weights was"),
        ("counted", {"max_bytes": 1000}, "max_bytes was None and is 1000"),
        ("counted", {"errors": "replace"}, "errors was 'keep' and is 'replace'"),
        ("learned", {"tie_break": "first"}, "tie_break was 'lowest' and is 'first'"),
        ("learned", {"min_frequency": 3}, "min_frequency was 2 and is 3"),
        ("learned", {"min_chunk_count": 3}, "min_chunk_count was 1 and is 3"),
    ],
)
def test_other_parameters_are_refused(corpus, tmp_path, function, options, message) -> None:
    killed_in(function, 1, lambda: run(corpus, tmp_path / "work", tmp_path / "out"))
    with pytest.raises(ParameterError, match=message):
        run(corpus, tmp_path / "work", tmp_path / "out", **options)
    assert (tmp_path / "work").exists()


def test_the_directory_of_a_run(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, out = tmp_path / "work", tmp_path / "out"
    killed_in("counted", 1, lambda: run(corpus, work, out))
    with pytest.raises(ParameterError, match="--resume"):
        run(corpus, work, out, resume=False)
    with Checkpoint(work, True) as kept:
        assert kept.counting and kept.of_use
        with pytest.raises(FastbpeError, match="another run"):
            run(corpus, work, out)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").touch()
    with pytest.raises(ParameterError, match="not what a run leaves"):
        run(corpus, foreign, out)
    monkeypatch.setattr(checkpoint, "LATE", 10**9)
    monkeypatch.setattr(count, "SEGMENT_BYTES", 10**9)
    fresh = tmp_path / "fresh"
    killed_in("learned", 3, lambda: run(corpus, fresh, out))
    assert not fresh.exists(), "little work leaves nothing"


def test_an_error_before_any_progress_leaves_nothing(corpus: Path, tmp_path: Path) -> None:
    (corpus / "00.txt").write_bytes(b"\xff")
    with pytest.raises(fastbpe.DataError):
        run(corpus, tmp_path / "work", tmp_path / "out", errors="strict")
    assert not (tmp_path / "work").exists()
    (corpus / "00.txt").write_bytes(b"x")
    (corpus / "11.txt").write_bytes(b"\xff")
    with pytest.raises(fastbpe.DataError):
        run(corpus, tmp_path / "work", tmp_path / "out", errors="strict")
    assert (tmp_path / "work").exists()


def test_a_line_that_is_cut_short_counts_as_not_written(corpus: Path, tmp_path: Path) -> None:
    out, work = tmp_path / "out", tmp_path / "work"
    run(corpus, None, tmp_path / "whole")
    for damage in (b"1\t2\t3", b"1\t2\n", b"\0\0\0\n1\t2\t3\t4\n", b"\0" * 100):
        killed_in("learned", 9, lambda: run(corpus, work, out))
        with open(work / "merges", "ab") as file:
            file.write(damage)
        run(corpus, work, out)
        assert out.read_bytes() == (tmp_path / "whole").read_bytes()
    killed_in("learned", 9, lambda: run(corpus, work, out))
    lines = (work / "merges").read_bytes().splitlines(keepends=True)
    (work / "merges").write_bytes(b"".join([*lines[:3], *lines[4:]]))
    with pytest.raises(FastbpeError):
        run(corpus, work, out)
