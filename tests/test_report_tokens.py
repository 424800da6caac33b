from report_maker import SOURCES, measurement, tokenizers

from fastbpe.report.tokens import samples, table
from fastbpe.report.vocabulary import KINDS


def test_the_table_has_every_token() -> None:
    columns = table(measurement().main)
    tokenizer = tokenizers()[0]
    assert {len(column) for column in columns.values()} == {tokenizer.vocab_size}
    for row, id in enumerate(columns["id"]):
        token = tokenizer.token_bytes(id)
        shown = columns["bytes"][row]
        assert (bytes.fromhex(shown["hex"]) if isinstance(shown, dict) else shown.encode()) == token
        assert columns["length"][row] == len(token)
        if columns["left"][row] is not None:
            assert tokenizer.decode_bytes([columns["left"][row], columns["right"][row]]) == token
        else:
            assert columns["rank"][row] is None
    assert columns["kind"][columns["id"].index(tokenizer.eos_id)] == KINDS.index("special tokens")


def test_samples_are_encodings_of_their_excerpts() -> None:
    excerpts = [[SOURCES[0][0].encode(), b"x <|e|>"], [], [SOURCES[2][0].encode()]]
    found = samples(measurement().tokenizers, excerpts, ["all", ()])
    for tokenizer, sample, specials in zip(tokenizers(), found, ("all", ()), strict=True):
        for texts, encodings in zip(excerpts, sample["sources"], strict=True):
            assert encodings == [tokenizer.encode(text, allowed_special=specials) for text in texts]
        ids = {id for source in sample["sources"] for excerpt in source for id in excerpt}
        assert set(sample["tokens"]) == set(map(str, ids))
        for id, details in sample["tokens"].items():
            token = tokenizer.token_bytes(int(id))
            assert bytes.fromhex(details["hex"]) == token
            if details["parts"] is not None:
                assert tokenizer.decode_bytes(details["parts"]) == token
                assert "".join(details["part_bytes"]) == details["hex"]
    assert found[0]["tokens"][str(tokenizers()[0].eos_id)]["kind"] == "special tokens"
