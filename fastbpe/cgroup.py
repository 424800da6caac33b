"""Where Linux says what the control groups of this process allow it: a container, a batch job, a service."""

from collections.abc import Iterator
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def group_folders(controller: str, root: Path = CGROUPS, membership: Path = MEMBERSHIP) -> Iterator[Path]:
    """Folders in which there may be limits that hold for this process, its own group's first; the limits of all count.

    Version 2 has one tree for all controllers, version 1 one for each. A container may see its own group as the root,
    whatever `membership` says.
    """
    for number, controllers, group in _memberships(membership):
        tree = root if number == "0" else root / controller
        if number == "0" or controller in controllers.split(","):
            path = Path(group.lstrip("/"))
            if ".." not in path.parts:  # a group that cannot be seen from here
                yield from (tree / part for part in (path, *path.parents) if part != Path())
    yield root
    yield root / controller


def _memberships(membership: Path) -> Iterator[tuple[str, str, str]]:
    try:
        lines = membership.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        number, *rest = line.split(":", 2)
        if len(rest) == 2:
            yield number, rest[0], rest[1]
