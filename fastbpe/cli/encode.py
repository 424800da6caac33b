"""fastbpe encode: text to token shards."""

import json as json_module
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from fastbpe.cli import options
from fastbpe.cli.source import text_source, told
from fastbpe.errors import DataWarning
from fastbpe.text import counted

if TYPE_CHECKING:
    from fastbpe.shards.manifest import Manifest


def encode(
    tokenizer: options.TokenizerFile,
    /,
    *inputs: options.Inputs,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The directory for the shards; new or empty.")],
    eos: Annotated[options.Role, Parameter(help="The special token to end every document with.")] = None,
    bos: Annotated[options.Role, Parameter(help="The special token to begin every document with.")] = None,
    eos_place: Annotated[
        Literal["append", "prepend"], Parameter(help="Where the eos stands; build-nanogpt's loaders prepend it.")
    ] = "append",
    allowed_special: options.AllowedSpecial = "none",
    prefix: Annotated[str | None, Parameter(help="What the shards' names begin with; tokens if not given.")] = None,
    shard_tokens: Annotated[
        int | None, Parameter(help="Tokens in each shard but the last; 100 million if not given.")
    ] = None,
    val_shards: Annotated[int, Parameter(help="How many of the first shards are for validation.")] = 0,
    val_fraction: Annotated[
        float, Parameter(help="Which part of the documents is for validation, chosen by a hash of each.")
    ] = 0.0,
    format: Annotated[
        Literal["npy", "nanogpt", "llmc", "megatron", "dolma"], Parameter(help="Whose loaders are to read the shards.")
    ] = "npy",
    pack: Annotated[
        int | None,
        Parameter(help="Lay documents into rows of so many tokens; those that do not fit begin the next row."),
    ] = None,
    pad: Annotated[
        str | None, Parameter(help="The special token to fill rows up with; the tokenizer's pad role if not given.")
    ] = None,
    shuffle: Annotated[
        int | None, Parameter(help="Take documents in a random order, of this seed, within a buffer.")
    ] = None,
    resume: Annotated[bool, Parameter(help="Go on where an interrupted run ended.", show_default=False)] = False,
    reading: options.Reading = options.READING,
    errors: options.Errors = "keep",
    threads: options.Threads = None,
    dry_run: options.DryRun = False,
    progress: options.ProgressStyle = "auto",
    json: options.Json = False,
) -> int:
    """Encode text to .npy token shards with a manifest; each document's end is kept in index/."""
    from fastbpe.formats import load
    from fastbpe.pipeline.encode import encode_dataset
    from fastbpe.pipeline.estimate_encode import estimate_encoding
    from fastbpe.pipeline.progress import progress_on
    from fastbpe.shards.naming import JOURNAL, MANIFEST

    source = text_source(inputs, reading)
    loaded = load(tokenizer)
    parameters: dict[str, Any] = {
        "eos_token": eos,
        "eos_place": eos_place,
        "bos_token": bos,
        "allowed_special": options.special_names(allowed_special),
        "prefix": prefix,
        "shard_tokens": shard_tokens,
        "val_shards": val_shards,
        "val_fraction": val_fraction,
        "format": format,
        "pack": pack,
        "pad_token": pad,
        "shuffle": shuffle,
        "errors": errors,
    }
    if dry_run:
        expected = estimate_encoding(loaded, source, output, threads, **parameters)
        print(json_module.dumps(expected.as_json()) if json else expected.told())
        return 0
    with progress_on(style=progress) as display, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # told below
        try:
            manifest = encode_dataset(
                loaded, source, output, resume=resume, threads=threads, progress=display, **parameters
            )
        except KeyboardInterrupt:
            if (output / JOURNAL).exists():
                print(f"fastbpe: --resume goes on with the shards in {output}", file=sys.stderr)
            elif not (output / MANIFEST).exists():
                print(f"fastbpe: no shard was complete, nothing is kept in {output}", file=sys.stderr)
            raise
    if manifest.longer_than_row:
        longer = counted(manifest.longer_than_row, "document")
        go = "goes" if manifest.longer_than_row == 1 else "go"
        print(f"fastbpe: {longer} longer than a row of {pack:,} tokens {go} on in the next rows", file=sys.stderr)
    if eos is None:
        own = loaded.model.roles.get("eos")
        name = f" ({own} would be the tokenizer's)" if own else ""
        print(f"fastbpe: no --eos{name}: only the index tells where documents end, the tokens do not", file=sys.stderr)
    code = told(manifest.sources)
    if not manifest.documents:
        print(f"fastbpe: no document was left to encode: {output} holds no tokens", file=sys.stderr)
    for name, n in manifest.special_left_as_text.items():
        print(f"fastbpe: {name} occurs {counted(n, 'time')} in the text and was left as text", file=sys.stderr)
    options.tell_invalid(manifest.invalid_bytes, manifest.first_invalid)
    facts = result(manifest, output)
    if json:
        print(json_module.dumps(facts))
    else:
        rows = f" in rows of {pack:,}, {manifest.padding:,} of them padding," if pack else ""
        print(
            f"{output}: {counted(manifest.tokens, 'token')}{rows} of {counted(manifest.documents, 'document')} "
            f"({counted(manifest.bytes, 'byte')}) in {counted(len(manifest.shards), 'shard')} of {manifest.dtype}"
        )
    return code


def result(manifest: "Manifest", output: Path) -> dict[str, Any]:
    return {
        "shards_directory": str(output),
        "tokens": manifest.tokens,
        "documents": manifest.documents,
        "bytes": manifest.bytes,
        "shards": len(manifest.shards),
        "dtype": manifest.dtype,
        "padding": manifest.padding,
        "longer_than_row": manifest.longer_than_row,
        "invalid_bytes": manifest.invalid_bytes,
        "special_left_as_text": manifest.special_left_as_text,
        "sources": manifest.sources,
    }
