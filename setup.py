"""Builds the kernels. FASTBPE_BUILD picks the mode: release (default), debug, asan or coverage.

Compiler directives stand here and nowhere else. A change of mode rewrites all the C, or the old code would stay.
The mode none compiles nothing: for an editable install over kernels that are built in place.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

MODES = {
    "release": {"flags": ["-O3"]},
    "debug": {"flags": ["-O1", "-g"]},
    "asan": {"flags": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]},
    "none": {"flags": []},
    "coverage": {"flags": ["-O1"], "macros": [("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]},
}
MODE = os.environ.get("FASTBPE_BUILD", "release")
if MODE not in MODES:
    sys.exit(f"FASTBPE_BUILD={MODE!r}: choose one of {', '.join(MODES)}")

CHECKED = MODE in ("debug", "asan")
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": CHECKED,
    "wraparound": False,
    "initializedcheck": CHECKED,
    "cdivision": True,
    "freethreading_compatible": True,
    "linetrace": MODE == "coverage",
}

ROOT = Path(__file__).parent
sources = sorted(ROOT.glob("fastbpe/kernels/*.pyx")) if MODE != "none" else []
if MODE == "asan":  # an overrun on purpose: tests/test_sanitizers.py wants it reported
    sources.append(ROOT / "tests" / "planted_overrun.pyx")
extensions = [
    Extension(
        ".".join(source.relative_to(ROOT).with_suffix("").parts),
        [str(source.relative_to(ROOT))],
        extra_compile_args=[
            *MODES[MODE]["flags"],
            "-Wall",
            "-Wextra",
            "-Wno-unused-function",
            "-Wno-unused-parameter",
        ],
        extra_link_args=[flag for flag in MODES[MODE]["flags"] if flag.startswith("-fsanitize")],
        define_macros=MODES[MODE].get("macros", []),
    )
    for source in sources
]

stamp = ROOT / "build" / "mode"
force = not stamp.exists() or stamp.read_text() != MODE
# The coverage plugin finds a kernel's lines only through C that lies beside it.
build_dir = None if MODE == "coverage" else "build/c"
ext_modules = cythonize(extensions, compiler_directives=DIRECTIVES, force=force, build_dir=build_dir)
setup(ext_modules=ext_modules, options={"build_ext": {"parallel": True}})
if sources:
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(MODE)
