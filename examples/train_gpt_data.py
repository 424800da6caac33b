"""From text to the batches that train a GPT: tokenizer, token shards, shuffled (x, y) windows.

    python examples/train_gpt_data.py DIRECTORY [INPUT...]

INPUT are files, directories or globs, each file a document; without any, the running Python's standard library.
Batches are PyTorch's, int64 tensors of (batch, length), where torch is installed (pip install
'fastbpe-engine[torch]'), else NumPy arrays of the same shape. y is x moved on by one token: y[i, j] is what the model
should say after x[i, : j + 1].
"""

import argparse
import importlib.util
import sysconfig
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import fastbpe
from fastbpe.shards.windows import Plan, Windows

END = "<|endoftext|>"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="where tok.json and shards/ go")
    parser.add_argument("inputs", nargs="*", default=[f"{sysconfig.get_paths()['stdlib']}/*.py"])
    parser.add_argument("--vocab-size", type=int, default=8192)
    parser.add_argument("--length", type=int, default=256, help="tokens in a window")
    parser.add_argument("--batch", type=int, default=8, help="windows in a batch")
    parser.add_argument("--steps", type=int, default=3, help="batches to show")
    options = parser.parse_args(arguments)

    options.directory.mkdir(parents=True, exist_ok=True)
    tokenizer, shards = make_shards(options.inputs, options.directory, options.vocab_size)
    print(f"{tokenizer}\n{len(fastbpe.TokenShards(shards)):,} tokens in {shards}")
    for step, (x, y) in enumerate(islice(batches(shards, options.length, options.batch), options.steps)):
        print(f"step {step}: x {type(x).__name__} {tuple(x.shape)} {x.dtype}, y the same moved on by one")
        print(f"    x[0] begins {tokenizer.decode(x[0, :16].tolist())!r}")
        print(f"    y[0] begins {tokenizer.decode(y[0, :16].tolist())!r}")


def make_shards(inputs: list[str], directory: Path, vocab_size: int) -> tuple[fastbpe.Tokenizer, Path]:
    """Trains on the inputs and encodes them: every document ends with END, one in a hundred is for validation."""
    source = fastbpe.files(*inputs)
    tokenizer = fastbpe.train(source, vocab_size, special_tokens=[END], eos_token=END)
    tokenizer.save(directory / "tok.json")
    shards = directory / "shards"
    fastbpe.encode_dataset(tokenizer, source, shards, eos_token=END, val_fraction=0.01)
    return tokenizer, shards


def batches(shards: Path, length: int, size: int, seed: int = 0) -> Iterator[tuple[Any, Any]]:
    """One epoch of (x, y), the windows in the seed's order: torch tensors, or arrays where there is no torch."""
    if importlib.util.find_spec("torch") is None:
        yield from numpy_batches(shards, length, size, seed)
        return
    from torch.utils.data import DataLoader

    from fastbpe.data import TokenStream

    yield from DataLoader(TokenStream(shards, length, seed=seed, rank=0, world_size=1), batch_size=size, drop_last=True)


def numpy_batches(shards: Path, length: int, size: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The same windows in the same order, without torch."""
    plan = Plan(Windows(fastbpe.TokenShards(shards), length, "train"), seed)
    windows = (window for _, window in plan.take())
    while len(batch := list(islice(windows, size))) == size:
        yield np.stack([window.x for window in batch]), np.stack([window.y for window in batch])


if __name__ == "__main__":
    main()
