from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.errors import ParameterError
from fastbpe.weight import LARGEST, as_weight, weighted


@pytest.mark.parametrize(
    ("weight", "value"),
    [
        ("2.5", Fraction(5, 2)),
        (" 1/3 ", Fraction(1, 3)),
        (0.1, Fraction(1, 10)),
        (Decimal("0.25"), Fraction(1, 4)),
        (3, Fraction(3)),
        ("1e2", Fraction(100)),
        (Fraction(2, 7), Fraction(2, 7)),
    ],
)
def test_a_weight_is_what_its_text_says(weight: object, value: Fraction) -> None:
    assert as_weight(weight) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "weight", ["", "much", "0", "-1", 0, -2.5, "nan", float("inf"), True, None, "1/0", 2**31, "1e", "1e1e1"]
)
def test_no_weight(weight: object) -> None:
    with pytest.raises(ParameterError, match="the weight of 'zh'"):
        as_weight(weight, " of 'zh'")  # type: ignore[arg-type]


@pytest.mark.parametrize("weight", ["1e999999999", "1e-999999999", Decimal("1e999999999"), "1/99999999999"])
def test_too_many_digits(weight: object) -> None:
    with pytest.raises(ParameterError, match="has too many digits"):
        as_weight(weight)  # type: ignore[arg-type]


@given(st.integers(0, 2**63), st.integers(1, LARGEST))
def test_weighted_counts_are_exact(count: int, denominator: int) -> None:
    text = weighted(count, denominator)
    assert Fraction(text) == Fraction(count, denominator)
    assert "e" not in text


def test_weighted_counts_are_short() -> None:
    assert [weighted(n, 4) for n in (0, 1, 2, 4, 1000)] == ["0", "0.25", "0.5", "1", "250"]
    assert weighted(37, 3) == "37/3"
    assert weighted(1, 1000) == "0.001"
