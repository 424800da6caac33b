import numpy as np
import pytest

from fastbpe.errors import ParameterError, check_choice, whole_number


def test_a_choice_is_checked_and_the_others_are_named():
    check_choice("form", None, (None, "NFC"))
    for choices, listed in (
        (("raw",), "raw"),
        (("raw", "jsonl"), "raw or jsonl"),
        ({None: 1, "a": 2, "b": 3}, "None, a or b"),
    ):
        with pytest.raises(ParameterError, match=f"^form='x': choose {listed}$"):
            check_choice("form", "x", choices)
    with pytest.raises(ParameterError, match=r"form=\['a'\]"):
        check_choice("form", ["a"], {"a": 1})


def test_a_whole_number():
    assert whole_number("size", 300) == 300
    assert type(whole_number("size", np.int64(300))) is int
    for value in ("300", 300.0, None, True, np.float32(1)):
        with pytest.raises(ParameterError, match=f"^size must be a whole number, not .*{type(value).__name__}"):
            whole_number("size", value)
