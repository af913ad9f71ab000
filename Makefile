#: make            build build/release/bin/pipeline
#: make run        install what is missing, build, run configs/q2.yaml
#: make test       install what is missing, build, run the tests (2 minutes)
#: make check      sanitizers, a second compiler, corpora, layers, format, tidy
#: make test-gpu   the tests that work on a GPU, on this machine's
#: make soak       what takes long: kills, seeds, all optimisations, valgrind
#: make bench      time a training run here (BENCHMARKS.md)
#: make asan       the tests under the address and undefined sanitizers
#: make fuzz       libFuzzer, FUZZ_TIME=60 seconds a target
#: make format     clang-format in place
#: make install    program, configs, data below PREFIX (uninstall takes back)
#: make clean      remove build/, never out/
#:
#: Variables: CC CFLAGS LDFLAGS PREFIX DESTDIR, B=build/NAME (where to build),
#: CONFIG (for run), TESTS (for test), JOBS, V=1 (show commands), CUDA=0.

CC      ?= cc
CFLAGS  ?= -O2 -g
LDFLAGS ?=
PREFIX  ?= /usr/local
DESTDIR ?=
CUDA    ?= auto
B       ?= build/release
V       ?=
CONFIG  ?= configs/q2.yaml
JOBS    ?= $(shell nproc 2>/dev/null || echo 1)
FUZZ_TIME ?= 60

# Parallel unless -j is given. A make below another one shares its slots.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS)
endif
ifeq ($(V),)
Q = @
say = @printf '  %-5s %s\n'
else
say = @:
endif

# MATH_FLAGS stand behind the user's CFLAGS: no -Ofast there changes a result.
MATH_FLAGS = -fno-fast-math -fno-unsafe-math-optimizations \
    -fno-finite-math-only -fno-associative-math -fno-reciprocal-math \
    -fsigned-zeros -fno-math-errno -ffp-contract=off
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -I. -pthread -Wall -Wextra -Wpedantic \
    -Wshadow -Wconversion -Wvla -Wmissing-prototypes -Wstrict-prototypes \
    -MMD -MP $(CFLAGS) $(MATH_FLAGS)
LIBS = -lyaml -lcurl -lz -lcrypto -ljansson -lmicrohttpd -lm -ldl

NN_SRC   = $(wildcard nn/*.c nn/base/*.c nn/cpu/cpu_*.c)
ISA_SRC  = $(wildcard nn/cpu/isa_*.c)
PIPE_SRC = $(wildcard pipeline/*.c)
CMD_SRC  = $(wildcard cmd/*.c)
TEST_SRC = $(wildcard tests/unit/test_*.c)
SERVER_SRC = $(wildcard tests/server/*.c)
FUZZ_SRC = $(filter-out %/fuzz_driver.c %/fuzz_file.c, \
    $(wildcard tests/fuzz/fuzz_*.c))
FORMAT_SRC = $(wildcard $(foreach d,cmd pipeline nn nn/base nn/cpu cuda \
    examples tests/unit tests/server tests/fuzz tests/bench tests/cuda,\
    $d/*.[ch]) cuda/*.cu cuda/*.cuh tests/cuda/*.cu)

# Each isa_*.c is built once for every instruction set, with ISA_x defined.
ARCH := $(shell $(CC) -dumpmachine 2>/dev/null | cut -d- -f1)
ifeq ($(ARCH),x86_64)
ISAS = scalar avx2 avx512
else
ISAS = scalar
endif
ISA_FLAGS_scalar = -DISA_SCALAR
ISA_FLAGS_avx2   = -DISA_AVX2 -mavx2 -mfma
ISA_FLAGS_avx512 = -DISA_AVX512 -mavx2 -mfma -mavx512f -mavx512vl -mavx512bw \
    -mavx512dq -mprefer-vector-width=512

NN_OBJ   = $(NN_SRC:%.c=$(B)/obj/%.o) \
    $(foreach i,$(ISAS),$(ISA_SRC:%.c=$(B)/obj/%.$(i).o))
PIPE_OBJ = $(PIPE_SRC:%.c=$(B)/obj/%.o)
CMD_OBJ  = $(CMD_SRC:%.c=$(B)/obj/%.o)
LIBRARIES = $(B)/libpipeline.a $(B)/libnn.a
TEST_BIN = $(TEST_SRC:tests/unit/%.c=$(B)/bin/%)
FUZZ_OBJ = $(B)/obj/tests/fuzz/fuzz_file.o
FUZZ_BIN = $(FUZZ_SRC:tests/fuzz/%.c=$(B)/bin/%)
REPLAY_BIN = $(FUZZ_SRC:tests/fuzz/fuzz_%.c=$(B)/bin/replay_%)

CLI_TESTS = $(wildcard tests/cli/*.bats)
# The long ones first, so that the cores end together.
TESTS ?= $(CLI_TESTS) $(TEST_BIN)
PROVE = prove -j$(JOBS) -e tests/run.sh
SOAK_TESTS = $(wildcard tests/soak/*.bats)
SUBMAKE = +@$(MAKE) --no-print-directory

# Whole training runs, and tests that mostly wait for other programs, take
# minutes under a sanitizer; shorter ones remain.
LONG_TESTS = %/test_golden_training %/test_golden_order %/mnist.bats \
    %/torch_programs.bats %/claims.bats %/notebook.bats %/memory_page.bats \
    %/deps.bats %/install.bats
SANITIZE = -fsanitize=address,undefined
ASAN_BUILD = B=build/asan LDFLAGS='$(SANITIZE)' CFLAGS='-O1 -g1 -Werror \
    -fno-omit-frame-pointer -fno-sanitize-recover=all $(SANITIZE)'
CLANG_BUILD = B=build/clang CC=clang CFLAGS='-O2 -std=c11 -Werror'
FUZZ_BUILD = B=build/fuzz CC=clang LDFLAGS='$(SANITIZE)' \
    CFLAGS='-O1 -g -fsanitize=fuzzer-no-link $(SANITIZE)'

SHARE = $(DESTDIR)$(PREFIX)/share/pipeline

define COMPILE
@mkdir -p $(@D)
$(say) CC $@
$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<
endef
define ARCHIVE
@mkdir -p $(@D)
@rm -f $@
$(say) AR $@
$(Q)$(AR) rcs $@ $^
endef
# All of libnn.a: a plug-in may want what the program itself does not.
define LINK
@mkdir -p $(@D)
$(say) LINK $@
$(Q)$(CC) -pthread -rdynamic $(LDFLAGS) -Wl,-rpath,'$$ORIGIN' -o $@ \
    $(filter %.o,$^) $(filter-out %/libnn.a,$(filter %.a,$^)) \
    -Wl,--whole-archive $(filter %/libnn.a,$^) -Wl,--no-whole-archive $(LIBS)
endef

include cuda/build.mk
include tests/cuda/build.mk
include tests/cuda/test.mk

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all run test check soak bench asan fuzz format install uninstall \
    clean help programs fuzz-programs FORCE

all: $(B)/bin/pipeline $(PLUGIN)
	$(if $(PLUGIN),,@echo 'CUDA: left out ($(CUDA_LEFT_OUT))')

run:
	@tests/deps.sh build
	$(SUBMAKE) all
	@$(B)/bin/pipeline run $(CONFIG)

# What the test targets need, in one B.
programs: $(B)/bin/pipeline $(TEST_BIN) $(REPLAY_BIN)

test:
	@tests/deps.sh test
	$(SUBMAKE) programs
	@PIPELINE=$(B)/bin/pipeline $(PROVE) $(TESTS)
	$(if $(filter file,$(origin TESTS)),$(SUBMAKE) test-double)

asan:
	$(SUBMAKE) $(ASAN_BUILD) TEST_TIMEOUT=1200 test

check:
	@tests/deps.sh check
	$(SUBMAKE) $(ASAN_BUILD) programs
	$(SUBMAKE) $(CLANG_BUILD) programs
	@PIPELINE=build/asan/bin/pipeline OBJECTS=build/clang B=build/clang \
	    TEST_TIMEOUT=1200 $(PROVE) tests/tidy.sh \
	    tests/mutation.sh $(patsubst $(B)/%,build/asan/%, \
	    $(filter-out $(LONG_TESTS),$(CLI_TESTS) $(REPLAY_BIN) $(TEST_BIN))) \
	    $(TEST_BIN:$(B)/%=build/clang/%) tests/layers.sh tests/format.sh
	$(SUBMAKE) $(CLANG_BUILD) check-double

soak:
	@tests/deps.sh check
	$(SUBMAKE) programs $(B)/bin/bench_profile
	@PIPELINE=$(B)/bin/pipeline SOAK=1 TEST_TIMEOUT=7200 \
	    $(PROVE) tests/tidy.sh $(TEST_BIN) \
	    $(filter-out %/cuda_faults.bats,$(SOAK_TESTS))
	$(SUBMAKE) soak-double check-nvcc

bench: all $(B)/bin/bench_command
	@tests/bench/bench.sh $(B)/bin/pipeline

fuzz:
	@tests/deps.sh check
	$(SUBMAKE) $(FUZZ_BUILD) fuzz-programs
	@tests/fuzz/fuzz.sh build/fuzz/bin $(FUZZ_TIME)
fuzz-programs: $(FUZZ_BIN)

format:
	clang-format -i $(FORMAT_SRC)

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)
	install $(B)/bin/pipeline $(PLUGIN) $(DESTDIR)$(PREFIX)/bin
	find configs examples/data tests/golden -type f \
	    -exec install -D -m 644 {} $(SHARE)/{} \;

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/pipeline \
	    $(DESTDIR)$(PREFIX)/bin/libpipeline_cuda.so
	rm -rf $(SHARE)

clean:
	rm -rf build

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

$(B)/bin/pipeline: $(CMD_OBJ) $(LIBRARIES)
	$(LINK)

$(B)/bin/test_%: $(B)/obj/tests/unit/test_%.o $(LIBRARIES)
	$(LINK) -lcmocka

# The server that misbehaves lies beside the tests that start it.
$(B)/bin/test_fetch_http $(B)/bin/test_fetch_resume \
    $(B)/bin/test_fetch_proxy $(B)/bin/test_fetch_stage: \
    $(B)/obj/tests/unit/fetch_case.o | $(B)/bin/faultd
$(B)/bin/test_fetch $(B)/bin/test_fetch_cache $(B)/bin/test_fetch_source: \
    $(B)/obj/tests/unit/fetch_folder.o
$(B)/bin/faultd: $(SERVER_SRC:%.c=$(B)/obj/%.o)
	$(LINK) -lssl

$(B)/bin/bench_%: $(B)/obj/tests/bench/bench_%.o $(LIBRARIES)
	$(LINK)

$(B)/bin/replay_%: $(B)/obj/tests/fuzz/fuzz_%.o $(FUZZ_OBJ) \
    $(B)/obj/tests/fuzz/fuzz_driver.o $(LIBRARIES)
	$(LINK)

$(B)/bin/fuzz_%: $(B)/obj/tests/fuzz/fuzz_%.o $(FUZZ_OBJ) $(LIBRARIES)
	$(LINK) -fsanitize=fuzzer

$(B)/libnn.a: $(NN_OBJ)
	$(ARCHIVE)
$(B)/libpipeline.a: $(PIPE_OBJ)
	$(ARCHIVE)

$(B)/obj/%.o: %.c $(B)/flags
	$(COMPILE)
define ISA_RULE
$(B)/obj/%.$(1).o: %.c $(B)/flags
	$$(COMPILE) $(ISA_FLAGS_$(1)) -O3
endef
$(foreach i,$(ISAS),$(eval $(call ISA_RULE,$(i))))

# Other flags than last time: everything is built anew.
FLAGS = $(CC) $(ALL_CFLAGS) $(foreach i,$(ISAS),$(ISA_FLAGS_$i))
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' >$@

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
