from pathlib import Path

import pytest

from fastbpe.errors import ParameterError
from fastbpe.pipeline.memory import available_memory, memory_bound, resident_memory


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (1000, 1000),
        ("1000", 1000),
        ("1000B", 1000),
        ("4GB", 4 * 10**9),
        ("4 gb", 4 * 10**9),
        ("4G", 4 * 10**9),
        ("1.5MB", 1_500_000),
        ("500MiB", 500 * 2**20),
        ("2kib", 2048),
        ("1TB", 10**12),
    ],
)
def test_sizes_are_read(text: str | int, size: int) -> None:
    assert memory_bound(text) == size


@pytest.mark.parametrize("text", ["", "GB", "4XB", "-1GB", "0", 0, -1, True, 1.5, "4 G B", "1e9"])
def test_other_sizes_are_refused(text: object) -> None:
    with pytest.raises(ParameterError, match="memory="):
        memory_bound(text)  # type: ignore[arg-type]


def test_none_is_three_quarters_of_what_there_is() -> None:
    assert memory_bound(None) == available_memory() * 3 // 4 > 0


def test_a_control_group_may_have_less(tmp_path: Path) -> None:
    machine = available_memory(tmp_path)
    for content, size in (("1000000\n", 1_000_000), ("max\n", machine), (str(2**63), machine), ("garbage", machine)):
        (tmp_path / "memory.max").write_text(content)
        assert available_memory(tmp_path) == size
    (tmp_path / "memory.max").unlink()
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("2000000\n")
    assert available_memory(tmp_path) == 2_000_000


def test_the_least_of_all_groups_around_the_process_counts(tmp_path: Path) -> None:
    job = tmp_path / "memory" / "slurm" / "job_7"
    job.mkdir(parents=True)
    membership = tmp_path / "self"
    membership.write_text("4:memory:/slurm/job_7/step\n1:name=systemd:/x\n")
    for folder, limit in ((job.parent, 9_000_000), (job, 5_000_000), (job.parents[1], 7_000_000)):
        (folder / "memory.limit_in_bytes").write_text(f"{limit}\n")
    assert available_memory(tmp_path, membership) == 5_000_000


def test_what_is_taken_now_is_less_than_there_is() -> None:
    assert 10**6 < resident_memory() < available_memory()
