"""fastbpe/__init__.py: the public names, and where they live."""

import importlib
import re
import sys
from pathlib import Path

import pytest

import fastbpe


@pytest.mark.parametrize("name", fastbpe.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(fastbpe, name) is not None
    assert name in dir(fastbpe)


def test_the_stub_has_the_same_names() -> None:
    stub = (Path(fastbpe.__file__).with_suffix(".pyi")).read_text()
    assert {*re.findall(r"import \w+ as (\w+)", stub), "__version__"} == set(fastbpe.__all__)


def test_other_names_are_no_attributes() -> None:
    with pytest.raises(AttributeError, match="no attribute 'bogus'"):
        fastbpe.bogus  # type: ignore[attr-defined]  # noqa: B018


def test_what_fastbpe_data_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "fastbpe.data", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs pip install 'fastbpe-engine\[torch\]'") as caught:
        importlib.import_module("fastbpe.data")
    assert caught.value.name == "torch"
