# Thin verbs; the work is in tools/ and CMake. `make help` lists them.
# SPDX-License-Identifier: Apache-2.0
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
export JOBS
CTEST = ctest --output-on-failure -j $(JOBS)
.DEFAULT_GOAL := help
.PHONY: help setup build portable debug tsan test test-unit test-all demo bench bench-peers fuzz tidy fmt docs \
        new-op new-kernel new-pattern clean

help:         ## this list
	@sed -n 's/^\([a-z-]*\): *[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14
setup:        ## install what is missing (Debian packages, .venv)
	@tools/setup
build:        ## optimized build in build/
	@tools/build build
portable:     ## build-portable/stoker: stripped, needs nothing but the C library
	@STOKER_BUILD_TARGET=stoker tools/build build-portable -DSTOKER_PORTABLE=ON
debug:        ## build-debug/: address and undefined behaviour sanitizers, and the tests on it
	@tools/build build-debug -DCMAKE_BUILD_TYPE=Debug -DSTOKER_SANITIZE=ON
	@$(CTEST) --test-dir build-debug -LE "tidy|slow"
tsan:         ## build-tsan/: thread sanitizer, and the tests on it
	@tools/build build-tsan -DCMAKE_BUILD_TYPE=Debug -DSTOKER_TSAN=ON
	@$(CTEST) --test-dir build-tsan -LE "tidy|slow"
test: build   ## build and run the tests
	@$(CTEST) --test-dir build -LE "slow"
test-unit: build  ## the tests that together take under a minute
	@$(CTEST) --test-dir build -LE "slow|system"
test-all: build   ## every test, also the long ones and those against other runtimes
	@tools/setup --peers
	@$(CTEST) --test-dir build
demo: build   ## real trained models on real input; your own: PICTURE=photo.jpg, SOUND=talk.wav
	@tools/setup --peers
	@.venv/bin/python tools/demo $(if $(PICTURE),--picture "$(PICTURE)") \
	  $(if $(SOUND),--sound "$(SOUND)") $(ARGS)
bench: build  ## latency of the zoo models (ARGS=--help)
	@.venv/bin/python bench/peers.py --peers none $(ARGS)
bench-peers: build  ## side by side with ONNX Runtime and OpenVINO
	@tools/setup --peers
	@.venv/bin/python bench/peers.py $(ARGS)
fuzz:         ## mutated files against the sanitizer build (SECONDS_PER_TARGET=60)
	@tools/build build-debug -DCMAKE_BUILD_TYPE=Debug -DSTOKER_SANITIZE=ON
	@.venv/bin/python tools/fuzz.py --stoker build-debug/stoker --seconds $(or $(SECONDS_PER_TARGET),60)
	@tools/fuzz_targets.sh $(or $(SECONDS_PER_TARGET),60)
tidy:         ## house rules: layers, sizes, banned calls, dead files
	@python3 tools/tidy.py
fmt:          ## clang-format on the C++ files that differ from the last commit
	@tools/fmt
docs: build   ## regenerate docs/generated/
	@.venv/bin/python tools/docs.py
new-op:       ## NAME=x: skeleton of an operator (4 files)
	@python3 tools/new.py op "$(NAME)" $(if $(GROUP),--group $(GROUP))
new-kernel:   ## FAMILY=gemm NAME=x: skeleton of a CPU kernel (2 files)
	@python3 tools/new.py kernel "$(NAME)" --family "$(FAMILY)"
new-pattern:  ## NAME=x: skeleton of a fusion pattern (3 files)
	@python3 tools/new.py pattern "$(NAME)"
clean:        ## remove the build folders (the environment .venv stays)
	@rm -rf build build-portable build-debug build-tsan build-fuzz
