import os

import pytest

from fastbpe.corpus.walk import expand, printable
from fastbpe.errors import DataError


@pytest.fixture
def tree(tmp_path):
    def make(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        return tmp_path

    return make


def walked(pattern, root, exclude=None):
    skipped = []
    found = [os.path.relpath(p, root) for p in expand(str(pattern), lambda p, why: skipped.append((p, why)), exclude)]
    return found, [(os.path.relpath(path, root), why) for path, why in skipped]


def test_directory_sorted_with_hidden_passed_over(tree):
    root = tree("b.txt", "a/z.txt", "a.txt", "a/.hidden", ".git/x", "c/d/e.txt", "B.txt")
    found, skipped = walked(root, root)
    assert found == ["B.txt", "a/z.txt", "a.txt", "b.txt", "c/d/e.txt"]
    assert skipped == [(".git", "hidden"), ("a/.hidden", "hidden")]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.txt", ["a.txt", "b.txt"]),
        ("**/*.txt", ["a.txt", "b.txt", "x/c.txt", "x/y/d.txt"]),
        ("x/**", ["x/c.py", "x/c.txt", "x/y/d.txt"]),
        ("*/c.*", ["x/c.py", "x/c.txt"]),
        ("x/*", ["x/c.py", "x/c.txt", "x/y/d.txt"]),
        ("[!b].txt", ["a.txt"]),
        ("?.txt", ["a.txt", "b.txt"]),
        ("x/**/d.txt", ["x/y/d.txt"]),
        ("x/y*/d.txt", ["x/y/d.txt"]),
        (".h*", [".hid.txt"]),
    ],
)
def test_globs(tree, glob, expected):
    root = tree("a.txt", "b.txt", "x/c.txt", "x/c.py", "x/y/d.txt", ".hid.txt", "x/.hid.txt")
    assert walked(root / glob, root)[0] == expected


def test_relative_glob(tree, monkeypatch):
    monkeypatch.chdir(tree("a.txt", "x/b.txt"))
    assert list(expand("**/*.txt", lambda path, why: None)) == ["a.txt", "x/b.txt"]
    assert list(expand("x/*", lambda path, why: None)) == ["x/b.txt"]


def test_names_with_glob_characters_and_odd_bytes(tree):
    root = tree("a*b[1]?.txt", "axb1y.txt", "-rf.txt", "文件 😀.txt")
    odd = os.path.join(os.fsencode(root), b"bad_\xff.txt")
    with open(odd, "wb"):
        pass
    assert walked(root / "a*b[1]?.txt", root)[0] == ["a*b[1]?.txt"]
    found, _ = walked(root, root)
    assert len(found) == 5
    assert printable(os.fsdecode(odd)).endswith("bad_\\xff.txt")


def test_links_are_read_once(tree, tmp_path_factory):
    root = tree("py/ok.py")
    outside = tmp_path_factory.mktemp("outside")
    (outside / "blob").write_text("x")
    (root / "py/link.py").symlink_to("ok.py")
    (root / "py/loop").symlink_to("..")
    (root / "py/ring").symlink_to("ring")
    (root / "py/dangling.txt").symlink_to("missing")
    (root / "out1").symlink_to(outside)
    (root / "out2").symlink_to(outside)
    (root / "out3").symlink_to(outside / "blob")
    found, skipped = walked(root, root)
    assert found == ["out1/blob", "out3", "py/ok.py"]
    assert [name for name, _ in skipped] == ["out2", "py/dangling.txt", "py/link.py", "py/loop", "py/ring"]


def test_special_files_and_output_are_passed_over(tree):
    root = tree("a.txt", "out/shard.npy")
    os.mkfifo(root / "pipe")
    found, skipped = walked(root, root, exclude=str(root / "out"))
    assert found == ["a.txt"]
    assert skipped == [("out", "the output directory"), ("pipe", "not a regular file")]


@pytest.mark.parametrize("name", ["missing.txt", "*.nothing", "missing/*.txt"])
def test_nothing_there(tree, name):
    root = tree("a.txt")
    with pytest.raises(DataError, match=r"no (such )?file"):
        walked(root / name, root)


def test_broken_link_by_name(tree):
    root = tree("a.txt")
    (root / "broken").symlink_to("missing")
    with pytest.raises(DataError, match="cannot be read"):
        walked(root / "broken", root)


def test_unreadable_directory(tree, unlisted_a):
    root = tree("a/b.txt", "c.txt")
    with pytest.raises(DataError, match=r"/a: cannot be read \(permission denied\); give yourself"):
        walked(root, root)
