"""The commands and their help. A command's module is loaded when it is called, so that the others cost nothing."""

from keyword import iskeyword

from cyclopts import App, Group, Parameter

from fastbpe import __version__

HELP = """Trains byte-level BPE tokenizers and encodes corpora to token shards.

Messages go to standard error, results to standard output.
Exit codes: 0 done, 1 failed, 2 usage, 3 bad data, 130 interrupted. FASTBPE_DEBUG=1 shows where an error came from."""

COMMANDS = {
    "train": ("INPUT... -o tok.json --vocab-size N", "Learn a tokenizer from text, or from chunk counts."),
    "count": (
        "INPUT... -o counts.npz",
        "Count the distinct chunks of text, to train from later.",
    ),
    "characters": ("INPUT... -o tok.json", "Make a tokenizer of the characters of text, to measure against."),
    "encode": ("tok.json INPUT... -o shards/", "Encode text to .npy token shards."),
    "decode": ("tok.json shards/", "Write the text of token shards to standard output."),
    "verify": (
        "shards/ [--source INPUT...]",
        "Check shards against their manifest, or the text they came from.",
    ),
    "show": ("tok.json TEXT", "Show how a text is cut into tokens."),
    "inspect": ("tok.json", "Describe a tokenizer: size, special tokens, pattern, how it was trained, its tokens."),
    "report": (
        "tok.json INPUT... -o report.html [--against OTHER]",
        "Measure a tokenizer on texts, beside others: a page with figures, charts and samples.",
    ),
    "export": (
        "tok.json -o PATH --to FORMAT",
        "Write a tokenizer for another program, and check that ids are the same.",
    ),
    "import": ("FILE -o tok.json", "Read a tokenizer of another program into a file of ours."),
    "demo": ("[DIRECTORY]", "Train, encode and verify on Python's own standard library."),
}


def build() -> App:
    """The application; usage and help texts stand here, parameters in the commands' modules."""
    app = App(
        name="fastbpe",
        help=HELP,
        usage="Usage: fastbpe COMMAND ...",
        version=__version__,
        help_format="plaintext",
        result_action="return_value",
        suppress_keyboard_interrupt=False,
        exit_on_error=False,
        print_error=False,
        default_parameter=Parameter(negative=()),
        group_parameters=Group("Options"),
    )
    for name, (arguments, text) in COMMANDS.items():
        usage = f"Usage: fastbpe {name} {arguments} [OPTIONS]"
        own = f"{name}_" if iskeyword(name) else name
        app.command(f"fastbpe.cli.{own}:{own}", name=name, help=text, usage=usage)
    return app
