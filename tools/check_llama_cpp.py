"""Whether llama.cpp gives our ids with the GGUF files that fastbpe exports.

    pip install llama-cpp-python               which compiles llama.cpp; or
    npm install node-llama-cpp@3.21.1          in a directory, which is then given as --node: it comes compiled
    python tools/check_llama_cpp.py [tok.json ...] [--text FILE ...] [--node DIRECTORY]

Without a tokenizer it trains some on Python's standard library, one for each pattern that llama.cpp knows. Texts are
those that every export is checked with, as far as they are UTF-8, and the first MiB of each FILE, line by line. It
prints how many were encoded to identical ids and each text that was not, and exits with 1 if there was one.
"""

import argparse
import json
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

import fastbpe
from fastbpe.formats import export
from fastbpe.formats.checking import AWKWARD
from fastbpe.formats.gguf import DEEPSEEK_V3
from fastbpe.text import to_bytes

Encode = Callable[[bytes], list[int]]
NODE = """
import {getLlama} from "node-llama-cpp"; import fs from "fs";
const [path, texts, ids] = process.argv.slice(2);
const llama = await getLlama({gpu: false, build: "never"});
const model = await llama.loadModel({modelPath: path, vocabOnly: true});
const encode = (text) => text === "" ? [] : model.tokenize(text, true).map(Number);
fs.writeFileSync(ids, JSON.stringify(JSON.parse(fs.readFileSync(texts)).map(encode)));
process.exit(0);
"""
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<s>"]


def with_llama_cpp_python(path: Path) -> Encode:
    import llama_cpp

    model = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    return lambda text: model.tokenize(text, add_bos=False, special=True)


def with_node(path: Path, texts: list[bytes], directory: Path) -> Encode:
    """All texts are encoded by one process; what comes back looks them up."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "texts.json").write_text(json.dumps([text.decode() for text in texts]))
        script = directory / ".check_llama_cpp.mjs"
        script.write_text(NODE)
        try:
            command = ["node", script.name, str(path), f"{folder}/texts.json", f"{folder}/ids.json"]
            subprocess.run(command, cwd=directory, check=True, stderr=subprocess.DEVNULL)
        finally:
            script.unlink()
        found = dict(zip(texts, json.loads((Path(folder) / "ids.json").read_text()), strict=True))
    return found.__getitem__


def trained() -> dict[str, fastbpe.Tokenizer]:
    source = fastbpe.files(f"{sysconfig.get_paths()['stdlib']}/*.py")
    found = {}
    for name, pattern in (("gpt2", "gpt2"), ("llama3", "llama3"), ("qwen2", "qwen2")):
        found[name] = fastbpe.train(source, 4096, pattern=pattern, special_tokens=SPECIALS, eos_token=SPECIALS[0])
    found["deepseek-v3"] = fastbpe.Tokenizer.from_merges(
        found["gpt2"].merges, pattern=DEEPSEEK_V3, special_tokens=SPECIALS
    )
    return found


def texts_of(files: list[Path]) -> list[bytes]:
    texts = [*map(to_bytes, AWKWARD), "".join(text for text in AWKWARD if isinstance(text, str)).encode()]
    texts += [b"a" + name.encode() + b" b" + name.encode() for name in SPECIALS]
    for path in files:
        content = path.read_bytes()[: 1 << 20]
        texts += content.splitlines(keepends=True) + [content]
    return [text for text in texts if text.decode("utf-8", "ignore").encode() == text]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("tokenizers", nargs="*", type=Path)
    parser.add_argument("--text", nargs="*", type=Path, default=[])
    parser.add_argument("--node", type=Path)
    arguments = parser.parse_args()
    tokenizers = {str(path): fastbpe.load(path) for path in arguments.tokenizers} or trained()
    texts = texts_of(arguments.text)
    wrong = 0
    for name, tokenizer in tokenizers.items():
        with tempfile.TemporaryDirectory() as folder:
            export(tokenizer, Path(folder) / "vocab.gguf", "gguf")
            path = Path(folder) / "vocab.gguf"
            encode = with_node(path, texts, arguments.node) if arguments.node else with_llama_cpp_python(path)
            same = 0
            for text in texts:
                ours, theirs = tokenizer.encode(text, allowed_special="all"), encode(text)
                same += ours == theirs
                if ours != theirs:
                    at = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), len(ours))
                    place = len(tokenizer.decode_bytes(ours[:at]))
                    print(f"{name}: other ids for {text[max(0, place - 20) : place + 40]!r}")
            print(f"{name}: identical ids for {same} of {len(texts)} texts")
            wrong += len(texts) - same
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
