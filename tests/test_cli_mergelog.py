"""The log of merges, as it is written."""

from pathlib import Path

import numpy as np
import pytest

from fastbpe.cli.mergelog import MergeLog
from fastbpe.merging import Merges


def part(pairs: list[tuple[int, int]], counts: list[int], left: list[int], denominator: int = 1) -> Merges:
    return Merges(np.array(pairs), np.array(counts), np.array(left), "", denominator)


def test_merges_are_there_as_soon_as_they_are_told(tmp_path: Path) -> None:
    path = tmp_path / "merges.tsv"
    with MergeLog(path, 2) as log:
        assert not path.exists()
        log(part([(97, 98), (256, 32)], [7, 5], [100, 95]))
        told = path.read_text().splitlines()
        assert told[0].split("\t") == ["id", "left", "right", "token", "count", "tokens_left"]
        assert told[1:] == ["258\t99\t100\tab\t7\t100", "259\t258\t34\tabĠ\t5\t95"]
        log(part([(257, 0)], [3], [92]))
        assert path.read_text().splitlines()[3] == "260\t259\t2\tabĠĀ\t3\t92"


def test_counts_are_weighted(tmp_path: Path) -> None:
    with MergeLog(tmp_path / "merges.tsv", 0) as log:
        log(part([(97, 98)], [7], [10], 4))
    assert (tmp_path / "merges.tsv").read_text().splitlines()[1] == "256\t97\t98\tab\t1.75\t2.5"


def test_nothing_learned_leaves_a_head_alone(tmp_path: Path) -> None:
    with MergeLog(tmp_path / "merges.tsv", 0) as log:
        log(Merges(np.empty((0, 2), np.int64), np.empty(0, np.int64), np.empty(0, np.int64), "min_frequency"))
    assert len((tmp_path / "merges.tsv").read_text().splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_told_with_the_name_of_the_log() -> None:
    log = MergeLog(Path("/dev/full"), 0)
    for write in (lambda: log(part([(97, 98)], [7], [10])), lambda: log.__exit__()):
        with pytest.raises(OSError, match="No space") as caught:
            write()
        assert caught.value.filename == "/dev/full"
