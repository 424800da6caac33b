"""Builds the kernels. FASTBPE_BUILD picks the mode: release (default), debug, asan or coverage.

Directives stand here and nowhere else. Changing the mode rewrites all the C, or the old code would stay.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

MODE = os.environ.get("FASTBPE_BUILD", "release")
if MODE not in ("release", "debug", "asan", "coverage"):
    sys.exit(f"FASTBPE_BUILD={MODE!r}: choose release, debug, asan or coverage")

checks = MODE in ("debug", "asan")
directives = {
    "language_level": 3,
    "boundscheck": checks,
    "wraparound": False,
    "initializedcheck": checks,
    "cdivision": True,
    "freethreading_compatible": True,
    "linetrace": MODE == "coverage",
}
compile_args = {
    "release": ["-O3"],
    "debug": ["-O1", "-g"],
    "asan": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "coverage": ["-O1"],
}[MODE]
link_args = ["-fsanitize=address,undefined"] if MODE == "asan" else []
macros = {
    "coverage": [("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")],
}.get(MODE, [])

root = Path(__file__).parent
extensions = [
    Extension(
        ".".join(source.relative_to(root).with_suffix("").parts),
        [str(source.relative_to(root))],
        extra_compile_args=compile_args + ["-Wall", "-Wextra", "-Wno-unused-function", "-Wno-unused-parameter"],
        extra_link_args=link_args,
        define_macros=macros,
    )
    for source in sorted(root.glob("fastbpe/kernels/*.pyx"))
]

stamp = root / "build" / "mode"
force = not stamp.exists() or stamp.read_text() != MODE
setup(
    ext_modules=cythonize(
        extensions, compiler_directives=directives, force=force, nthreads=0, build_dir="build/c"
    )
)
stamp.parent.mkdir(exist_ok=True)
stamp.write_text(MODE)
