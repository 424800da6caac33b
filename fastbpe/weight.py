"""Weights: rational numbers as people write them, and weighted counts as people read them."""

from decimal import Decimal
from fractions import Fraction

from fastbpe.errors import ParameterError

Weight = str | int | float | Decimal | Fraction

LARGEST = 2**31
"""No numerator and no denominator reaches it: counts times that would soon reach 2**63."""


_EXPONENT = 9999


def as_weight(weight: Weight, of: str = "") -> Fraction:
    """The number that a weight stands for, from its decimal text: 0.1 is a tenth. ParameterError for none."""
    try:
        if isinstance(weight, bool):
            raise ValueError
        value = Fraction(_decimal_text(weight) if isinstance(weight, str | float | Decimal) else weight)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        raise ParameterError(f"the weight{of} is a positive number as 2.5 or 1/3, not {weight!r}") from None
    if value <= 0:
        raise ParameterError(f"the weight{of} must be above 0, not {weight!r}: leave the source out instead")
    if max(value.numerator, value.denominator) >= LARGEST:
        raise ParameterError(f"the weight{of}, {weight!r}, has too many digits: round it")
    return value


def _decimal_text(weight: str | float | Decimal) -> str:
    """The text of a weight, its exponent cut to what is refused as well: whole numbers of gigabytes are not made."""
    number, e, exponent = str(weight).strip().lower().partition("e")
    return f"{number}e{max(-_EXPONENT, min(int(exponent), _EXPONENT))}" if e else number


def weighted(count: int, denominator: int) -> str:
    """A count that is kept times `denominator`, exactly: "12", "12.5", or "37/3" where no decimal is exact."""
    value = Fraction(count, denominator)
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return str(value)
    places = max(twos, fives)
    if not places:
        return str(value.numerator)
    digits = f"{value.numerator * 10**places // value.denominator:0{places + 1}d}"
    return f"{digits[:-places]}.{digits[-places:]}"
