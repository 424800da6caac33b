"""cli/app.py: commands are listed without being loaded, and each is where it is said to be."""

import subprocess
import sys
from importlib import import_module
from keyword import iskeyword

import pytest

from fastbpe.cli.app import COMMANDS, build


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_its_own_file(name: str) -> None:
    own = f"{name}_" if iskeyword(name) else name
    function = getattr(import_module(f"fastbpe.cli.{own}"), own)
    assert function.__doc__
    assert build()[name].help


def test_what_is_not_needed_is_not_loaded() -> None:
    code = (
        "import sys, fastbpe; assert 'numpy' not in sys.modules\n"
        "from fastbpe.cli.app import build; build()\n"
        "loaded = {name.split('.')[0] for name in sys.modules} | set(sys.modules)\n"
        "print(*loaded & {'numpy', 'regex', 'rich', 'fastbpe.cli.train', 'fastbpe.tokenizer', 'multiprocessing'})"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""
