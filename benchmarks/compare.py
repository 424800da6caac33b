"""Compares libraries: one fresh process a run (measure.py), the libraries taking turns run by run.

    python benchmarks/compare.py make-env DIRECTORY
    python benchmarks/compare.py train --python DIRECTORY/bin/python --corpus code_100m.txt en_100m.txt
    python benchmarks/compare.py encode --python DIRECTORY/bin/python --corpus en_100m.txt --vocabs vocabs

make-env makes a virtual environment with the pinned libraries and with fastbpe, compiled from this tree.

Prints for each corpus and number of threads a Markdown table: the least and the median of the runs, and how many times
as long as fastbpe each library takes: of the least runs, and, paired, the median over the rounds, each of which ran
all libraries one after the other. Before that it checks the results. train: fastbpe trains once more with the rule for
ties and the documents of each library, and the learned tokens must be the same. encode: every document must have
tiktoken's ids. --json FILE keeps every single run.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from tables import first_seconds, machine, markdown, row

HERE = Path(__file__).parent
LIBRARIES = {
    "train": ["fastbpe", "gigabpe", "gigatoken", "ffbpe", "rustbpe", "bpeasy", "tokenizers", "sentencepiece"],
    "encode": ["fastbpe", "gigatoken", "fastokens", "toktok-rs", "snaptokens", "quicktok-v1", "tiktoken", "tokenizers"],
}
Run = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(dest="task", required=True)
    tasks.add_parser("make-env").add_argument("directory", type=Path)
    for name, libraries in LIBRARIES.items():
        task = tasks.add_parser(name)
        task.add_argument("--corpus", type=Path, nargs="+", required=True)
        task.add_argument("--peers", nargs="+", default=libraries, choices=libraries, help="which libraries")
        task.add_argument("--threads", type=int, nargs="+", default=[1, 2] if name == "encode" else [2])
        task.add_argument("--runs", type=int, default=5)
        task.add_argument("--budget", type=float, default=120, help="seconds after which a library gets no more runs")
        task.add_argument("--timeout", type=float, default=1800, help="seconds for one run")
        task.add_argument("--python", default=sys.executable, help="the interpreter that has the libraries")
        task.add_argument("--no-check", dest="check", action="store_false")
        task.add_argument("--json", type=Path, help="write the machine, the tables and all runs there")
    tasks.choices["train"].add_argument("--vocab-size", default="32768")
    tasks.choices["train"].add_argument("--pattern", default="gpt2")
    tasks.choices["encode"].add_argument("--vocab", default="cl100k_base")
    tasks.choices["encode"].add_argument("--vocabs", type=Path)
    tasks.choices["encode"].add_argument("--documents", default="10000")
    tasks.choices["encode"].add_argument("--passes", default="3")
    arguments = parser.parse_args()
    if arguments.task == "make-env":
        make_environment(arguments.directory)
        return
    print(machine())
    tables = []
    for corpus in arguments.corpus:
        for threads in arguments.threads:
            tables.append(compare(arguments, corpus, threads))
            if arguments.json:
                kept = {"machine": machine(), "tables": tables}
                arguments.json.write_text(json.dumps(kept, indent=1, ensure_ascii=False), encoding="utf-8")


def make_environment(directory: Path) -> None:
    venv.create(directory, with_pip=True)
    pip = [str(directory / "bin" / "python"), "-m", "pip", "install"]
    subprocess.run([*pip, "-r", str(HERE / "requirements-peers.txt"), str(HERE.parent)], check=True)


def compare(arguments: argparse.Namespace, corpus: Path, threads: int) -> dict[str, Any]:
    names = ("vocab_size", "pattern") if arguments.task == "train" else ("vocab", "vocabs", "documents", "passes")
    options = [f"--{name.replace('_', '-')}={getattr(arguments, name)}" for name in names if getattr(arguments, name)]

    def measure(library: str, *more: str) -> Run:
        command = [arguments.python, str(HERE / "measure.py"), arguments.task, library, str(corpus)]
        return one_run([*command, *options, f"--threads={threads}", *more], library, arguments.timeout)

    agreements: dict[str, str] = {}
    if arguments.check:
        check = check_training if arguments.task == "train" else check_encoding
        agreements = check(measure, arguments.peers)
    runs: dict[str, list[Run]] = {library: [] for library in arguments.peers}
    for number in range(arguments.runs):
        order = arguments.peers if number % 2 == 0 else arguments.peers[::-1]
        for library in order:
            if spent(runs[library]) < arguments.budget and not any("error" in run for run in runs[library]):
                runs[library].append(measure(library) | {"round": number})
                say(f"  round {number + 1}, {library}: {shown_seconds(runs[library][-1])}")
    title = f"{arguments.task}, {corpus.name}, {threads} thread{'s' * (threads > 1)}"
    rows = [row(library, runs[library], runs.get("fastbpe", [])) for library in arguments.peers]
    for found in rows:
        found["agrees"] = agreements.get(found["library"], "")
    table = {"title": title, "options": options_shown(arguments), "rows": rows, "runs": runs}
    print(f"\n{markdown(table, arguments.task)}\n", flush=True)
    return table


def one_run(command: list[str], library: str, timeout: float) -> Run:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"library": library, "error": f"more than {timeout:.0f} s"}
    lines = done.stdout.splitlines()
    if not lines:
        last = done.stderr.strip().splitlines()[-1:] or ["nothing printed"]
        return {"library": library, "error": f"exit code {done.returncode}: {last[0]}"}
    run: Run = json.loads(lines[-1])
    return run


def check_training(measure: Any, libraries: list[str]) -> dict[str, str]:
    """How far each library's tokens are fastbpe's, trained by the same rule on the same documents."""
    expected: dict[tuple[str, str], Run] = {}
    found = {}
    for library in libraries:
        if library == "fastbpe":
            continue
        theirs = measure(library)
        if "error" in theirs or not theirs["digests"]:
            found[library] = theirs.get("error", "another algorithm")
            continue
        rule = (theirs["ties"], theirs["documents"])
        if rule not in expected:
            expected[rule] = measure("fastbpe", f"--ties={rule[0]}", f"--documents={rule[1]}")
        found[library] = expected[rule].get("error") or agreement(expected[rule]["digests"], theirs["digests"])
        say(f"  check, {library} (ties {rule[0]}, documents {rule[1]}): {found[library]}")
    return found


def agreement(ours: dict[str, str], theirs: dict[str, str]) -> str:
    common = sorted(int(n) for n in ours if n in theirs)
    same = [n for n in common if ours[str(n)] == theirs[str(n)]]
    if ours == theirs:
        return f"all {common[-1]:,} merges"
    return f"{same[-1]:,} merges or a little more" if same else f"fewer than {common[0]:,} merges"


def check_encoding(measure: Any, libraries: list[str]) -> dict[str, str]:
    """How many documents of each library have other ids than tiktoken gives."""
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        reference = Path(directory) / "reference.npz"
        expected = measure("tiktoken", "--passes=1", f"--save={reference}")
        if "error" in expected:
            return dict.fromkeys(libraries, f"no reference: {expected['error']}")
        for library in libraries:
            theirs = measure(library, "--passes=1", f"--reference={reference}")
            differing = theirs.get("differing_documents")
            found[library] = theirs.get("error") or ("all documents" if differing == 0 else f"all but {differing:,}")
            say(f"  check, {library}: {found[library]}")
    return found


def spent(runs: list[Run]) -> float:
    """Seconds that the library's runs took so far."""
    totals = [run["seconds"] for run in runs if "error" not in run]
    return sum(sum(total) if isinstance(total, list) else total for total in totals)


def shown_seconds(run: Run) -> str:
    return run.get("error") or f"{first_seconds(run):.2f} s (load {run['load']:.1f})"


def options_shown(arguments: argparse.Namespace) -> str:
    if arguments.task == "train":
        return f"{int(arguments.vocab_size):,} ids, pattern {arguments.pattern}"
    documents = int(arguments.documents)
    return f"{arguments.vocab}, {'one string' if documents == 1 else f'about {documents:,} documents'}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
