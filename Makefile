# Each target sets up .venv by itself: Python 3.10 to 3.13 and make are all that a machine needs.
#   make demo      grade the example class, write build/demo/       make slides    build every deck into build/slides/
#   make test      all that CI runs at a push, in under 8 minutes   make bench     the kit's own benchmarks, as ratios
#   make test-all  and every known answer, attack and remedy        make quick     lint, types and the quick tests, in a minute
#   make lab       JupyterLab with the first lesson                 make doctor    what this machine has and lacks
#   make clean     remove build/, .venv and caches                  PYTHON=...     which Python .venv is made from
#   JUPYTER_FLAGS="--no-browser --port 9000"                         what `make lab` hands on to JupyterLab

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
HAS_GPU := import sys; from autograder.cudagpu.availability import find_gpu; sys.exit(not find_gpu().usable)
# Files and notebooks whole, in the order of autograder/tests/conftest.py and of their names.
PARALLEL := --numprocesses auto --dist loadfile --no-loadscope-reorder
# A process for each core already: threads of OpenBLAS beside them only wait for each other, and take processor time for it.
ONE_THREAD := OPENBLAS_NUM_THREADS=1
COMPILE := from autograder.simulated_device import SimulatedDevice; SimulatedDevice().prepare()
# What lets AUTOGRADER_SIMULATE=1 take effect in every Python of .venv; a wheel brings it along.
AT_EVERY_START := import pathlib, shutil, sysconfig, autograder; shutil.copy(pathlib.Path(autograder.__file__).parent / \
	'simgpu' / 'children' / 'autograder_simulate.pth', sysconfig.get_path('purelib'))
# Tests start Python some hundred times, and pytest rewrites each of their modules: what is compiled is kept, also where an
# image (as those of Docker often do) asks that nothing be.
unexport PYTHONDONTWRITEBYTECODE
SUPPORTED := import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))

.PHONY: demo test test-all quick lab slides bench doctor clean lint types unit starters notebooks

demo: $(READY)
	@$(RUN) -m autograder demo

# Types are checked by one of the tests: it takes a core, and the others go on beside it.
test: lint unit starters notebooks
	@echo "All tests passed.$(if $(EVERYTHING),, What was left to make test-all is counted above, as skipped.)"

# Every week and before a release: test is the same without it.
test-all: EVERYTHING := --everything
test-all: test

quick: lint types
	$(ONE_THREAD) $(RUN) -m pytest $(PARALLEL) -m "quick and not gpu"
	@echo "The quick tests passed. make test runs all."

lint: $(READY)
	$(RUN) -m ruff check .

types: $(READY)
	@if $(RUN) -c "import sys; sys.exit(sys.version_info < (3, 11))"; then \
		echo "$(RUN) -m mypy"; $(RUN) -m mypy; \
	else echo "Types are not checked on Python 3.10, whose NumPy has too few of its own."; fi

# Tests that need a GPU run one at a time, since they share it and its clock; where there is none, they are skipped with the rest.
unit: $(READY)
	@if $(RUN) -c "$(HAS_GPU)"; then set -x; \
		$(ONE_THREAD) $(RUN) -m pytest $(PARALLEL) $(EVERYTHING) -m "not gpu" && \
		$(RUN) -m pytest $(EVERYTHING) -m gpu; \
	else set -x; $(ONE_THREAD) $(RUN) -m pytest $(PARALLEL) $(EVERYTHING); fi

starters: $(READY)
	$(RUN) -m autograder starters --check

# Like them, notebooks that measure on a GPU are run one at a time.
notebooks: $(READY)
	@if $(RUN) -c "$(HAS_GPU)"; then shared=""; else shared="$(PARALLEL)"; fi; set -x; \
	$(RUN) -m pytest $$shared -p nbval --nbval --nbval-current-env --nbval-cell-timeout 120 \
		--nbval-sanitize-with notebooks/sanitize.cfg notebooks && \
	$(RUN) -m pytest $$shared -p nbval --nbval-lax --nbval-current-env --nbval-cell-timeout 120 labs/*/lab.ipynb solutions/*/lab.ipynb

lab: $(READY)
	@$(RUN) -m autograder lab -- $(JUPYTER_FLAGS)

slides: $(READY)
	@$(RUN) -m autograder.decks

bench: $(READY)
	@$(RUN) -m autograder bench

doctor: $(READY)
	@$(RUN) -m autograder doctor

clean:
	rm -rf build $(VENV) .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first Python that fits, PYTHON before all others. The stamp is written last, so that a broken install is begun again.
$(READY): requirements.txt pyproject.toml
	@for python in "$(PYTHON)" python3.13 python3.12 python3.11 python3.10; do \
		if "$$python" -c "$(SUPPORTED)" 2>/dev/null; then chosen="$$python"; break; fi; \
	done; \
	if [ -z "$$chosen" ]; then \
		echo "Python 3.10, 3.11, 3.12 or 3.13 is needed, and $(PYTHON) is not one:"; "$(PYTHON)" --version; \
		echo "Install one (python.org, your package manager) or name it: make demo PYTHON=/path/to/python3.12"; exit 2; \
	fi; \
	echo "Setting up $(VENV) with $$("$$chosen" --version) ..."; \
	rm -rf $(VENV); \
	if ! "$$chosen" -m venv $(VENV); then \
		rm -rf $(VENV); \
		echo "$$chosen cannot make virtual environments. On Debian and Ubuntu: sudo apt install python3-venv"; exit 2; \
	fi
	@$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@$(RUN) -m pip install --quiet --disable-pip-version-check -e .
	@$(RUN) -c "$(AT_EVERY_START)"
	@$(RUN) -c "$(COMPILE)"  # now, and cached, so that the first check need not wait
	@touch $(READY)
