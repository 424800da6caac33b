import pytest

from fastbpe.errors import ParameterError, check_choice


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
