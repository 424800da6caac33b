"""java.util.Random, as its documentation defines it: the seeds' programs drew their texts from it."""

MASK = (1 << 48) - 1
MULTIPLIER = 0x5DEECE66D


class JavaRandom:
    def __init__(self, seed: int) -> None:
        self.state = (seed ^ MULTIPLIER) & MASK

    def bits(self, n: int) -> int:
        self.state = (self.state * MULTIPLIER + 0xB) & MASK
        return self.state >> (48 - n)

    def next_int(self, bound: int) -> int:
        if bound & (bound - 1) == 0:
            return (bound * self.bits(31)) >> 31
        while True:
            drawn = self.bits(31)
            if drawn - drawn % bound + bound - 1 < 1 << 31:
                return drawn % bound
