from pathlib import Path

import pytest

from fastbpe.cgroup import group_folders


@pytest.mark.parametrize(
    ("membership", "folders"),
    [
        ("0::/a.slice/b.scope\n", ["a.slice/b.scope", "a.slice"]),
        ("0::/\n", []),
        ("5:cpu,memory:/job/step\n2:pids:/job\n", ["memory/job/step", "memory/job"]),
        ("3:memory:/docker/x\n0::/init\n", ["memory/docker/x", "memory/docker", "init"]),
        ("0::/a:b\n", ["a:b"]),
        ("0::/../../seen-from-a-container\n", []),
        ("no line of this kind\n\n", []),
        (None, []),
    ],
)
def test_the_folders_of_a_process(tmp_path: Path, membership: str | None, folders: list[str]) -> None:
    if membership is not None:
        (tmp_path / "self").write_text(membership)
    found = list(group_folders("memory", tmp_path, tmp_path / "self"))
    assert found == [tmp_path / name for name in folders] + [tmp_path, tmp_path / "memory"]


def test_this_process_has_some() -> None:
    assert list(group_folders("memory"))
