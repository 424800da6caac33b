from fastbpe.report.cost import COMMON, Model, costs


def test_parameters_and_shares() -> None:
    (found,) = costs([50_257, 100], [Model(768, 124_000_000)])
    assert (found["width"], found["parameters"]) == (768, 124_000_000)
    assert found["tokenizers"][0] == {
        "tied": 38_597_376,
        "untied": 77_194_752,
        "tied_share": 0.311269,
        "untied_share": 0.622538,
    }
    assert found["tokenizers"][1]["tied"] == 76_800
    assert len(costs([256], COMMON)) == len(COMMON)
    assert costs([256], []) == []
