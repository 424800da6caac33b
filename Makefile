# make demo and make test need Python >= 3.11, make and a C compiler; all else goes into .venv.
# PYTHON=... picks the interpreter, JOBS=... the compilers at a time, TESTS=... the tests, CORPUS=... what to time.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
TESTS ?= tests

VENV := .venv
PY := $(VENV)/bin/python
SOURCES := setup.py pyproject.toml $(wildcard fastbpe/kernels/*.pyx fastbpe/kernels/*.pxd)

SANITIZED := LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1 FASTBPE_BUILD=asan

FORKING := $(shell grep -l "^from children import" tests/test_*.py)

.PHONY: build demo test debug asan coverage bench lint format clean
.DELETE_ON_ERROR:

build: build/built-release

demo: build/built-release
	$(VENV)/bin/fastbpe demo

test: build/built-release $(VENV)/test
	$(PY) -m pytest $(TESTS)

debug: build/built-debug $(VENV)/test
	FASTBPE_BUILD=debug $(PY) -m pytest $(TESTS)

# The planted overrun comes first: unless it is reported, a clean run would prove nothing. Tests that fork run in a
# process of their own, where no other library has threads (NumPy's OpenBLAS ends and starts its own around each fork):
# the sanitizer's allocator does not survive a fork while one of them is in it.
asan: build/built-asan $(VENV)/test
	$(SANITIZED) $(PY) -m pytest tests/test_sanitizers.py
	$(if $(filter tests,$(TESTS)),$(SANITIZED) $(PY) -m pytest $(FORKING))
	$(SANITIZED) $(PY) -m pytest $(TESTS) $(if $(filter tests,$(TESTS)),$(addprefix --ignore=,$(FORKING)))

coverage: build/built-coverage $(VENV)/test $(VENV)/coverage
	FASTBPE_BUILD=coverage $(PY) -m coverage run -m pytest $(TESTS)
	$(PY) -m coverage report

bench: build/built-release
	$(PY) benchmarks/bench_main_job.py $(CORPUS)

lint: build/built-release $(VENV)/test $(VENV)/lint
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	PATH="$(abspath $(VENV)/bin):$$PATH" cython-lint fastbpe tests
	$(VENV)/bin/mypy
	$(VENV)/bin/stubtest --concise --mypy-config-file pyproject.toml --allowlist tests/stubtest.allow \
		--ignore-unused-allowlist --ignore-disjoint-bases $(subst /,.,$(basename $(wildcard fastbpe/kernels/*.pyx)))

format: $(VENV)/lint
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:
	rm -rf build dist *.egg-info .coverage htmlcov
	find fastbpe tests -name '*.so' -delete -o -name '__pycache__' -prune -exec rm -rf {} +

# The modes share one tree of compiled files, so building one unmakes the others.
build/built-%: $(SOURCES) $(VENV)/tools
	@mkdir -p build && rm -f build/built-*
	FASTBPE_BUILD=$* $(PY) setup.py -q build_ext --inplace --parallel $(JOBS)
	@touch $@

# The groups stand in pyproject.toml.
$(VENV)/tools: pyproject.toml
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or later found; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --upgrade pip
	$(PY) -m pip install -q --group build
	FASTBPE_BUILD=none $(PY) -m pip install -q --no-build-isolation -e .
	@touch $@

$(VENV)/test $(VENV)/lint $(VENV)/coverage: $(VENV)/tools
	$(PY) -m pip install -q --group $(@F)
	@touch $@
