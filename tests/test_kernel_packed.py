import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.packed import hash_chunk, pack


@given(st.binary(max_size=40), st.data())
def test_a_key_is_the_bytes_zeros_and_the_length(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(data)))
    stop = draw.draw(st.integers(start, min(len(data), start + 15)))
    chunk = data[start:stop]
    assert pack(data, start, stop) == chunk + bytes(15 - len(chunk)) + bytes([len(chunk)])


@given(st.binary(min_size=1, max_size=80), st.binary(max_size=20), st.binary(max_size=20))
def test_a_hash_depends_on_the_bytes_alone(chunk: bytes, before: bytes, after: bytes) -> None:
    inside = hash_chunk(before + chunk + after, len(before), len(before) + len(chunk))
    assert inside == hash_chunk(chunk, 0, len(chunk))


@given(st.binary(min_size=1, max_size=60), st.data())
def test_one_changed_bit_changes_the_hash(chunk: bytes, draw: st.DataObject) -> None:
    bit = draw.draw(st.integers(0, 8 * len(chunk) - 1))
    changed = bytearray(chunk)
    changed[bit // 8] ^= 1 << bit % 8
    assert hash_chunk(chunk, 0, len(chunk)) != hash_chunk(changed, 0, len(chunk))


@pytest.mark.parametrize("width", [3, 8, 12, 15, 16, 40])
@pytest.mark.parametrize("shift", [0, 26, 52, 58])
def test_any_six_bits_of_the_hashes_of_similar_chunks_spread_evenly(width: int, shift: int) -> None:
    seen = [0] * 64
    for number in range(6400):
        chunk = str(number).rjust(width, "x").encode()[-max(width, 4) :]
        seen[hash_chunk(chunk, 0, len(chunk)) >> shift & 63] += 1
    assert max(seen) < 200
    assert min(seen) > 40


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 1), (0, 21), (0, 16)])
def test_a_key_out_of_range_is_refused(start: int, stop: int) -> None:
    with pytest.raises(ValueError, match="0 to 15 bytes inside"):
        pack(bytes(20), start, stop)


@pytest.mark.parametrize(("data", "start", "stop"), [(b"", 0, 0), (b"ab", 0, 3), (b"ab", -1, 1), (b"ab", 2, 1)])
def test_a_hash_out_of_range_is_refused(data: bytes, start: int, stop: int) -> None:
    with pytest.raises(ValueError, match="inside the data"):
        hash_chunk(data, start, stop)
