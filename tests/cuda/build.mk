# The test double of CUDA (README.md here). Needs NVIDIA's headers, no GPU and no
# nvcc. Two flavours of the CUDA backend without a GPU, for LD_LIBRARY_PATH:
#   $(B)/fake/        libpipeline_cuda.so libcuda.so.1 libnvidia-ml.so.1 and
#                     libcupti.so of the toolkit's version
#   $(B)/fake-check/  the same; every access of a kernel is checked
# The host objects (CUDA_OBJ) and CUDA_INCLUDE are cuda/build.mk's.
# And $(DOUBLE_TEST), the double's own tests.

# fmaf is a call without it, and kernels are full of it.
SIM_ARCH := $(shell grep -qw avx2 /proc/cpuinfo 2>/dev/null && \
    grep -qw fma /proc/cpuinfo && echo -march=x86-64-v3)
SIM_CXXFLAGS = -std=c++17 -g1 -fPIC -fno-exceptions -fno-rtti \
    -fno-threadsafe-statics -ffp-contract=off -Wall -Wextra \
    -Wno-unknown-pragmas -fdebug-prefix-map=$(CURDIR)=. -I. \
    -isystem $(CUDA_INCLUDE) -MMD -MP $(SIM_ARCH)
SIM = $(CXX) $(SIM_CXXFLAGS) -x c++ -include tests/cuda/cusim.h
SIM_CHECK = -O1 -fsanitize=thread -fsanitize=bounds -fno-inline-functions
# make soak: sanitizers, for which CFLAGS has the host's half.
SIM_SANITIZE =
FAKE_CFLAGS = -fPIC -fdebug-prefix-map=$(CURDIR)=. -isystem $(CUDA_INCLUDE) \
    -isystem $(CUPTI_HOME)/include

FAKE_ALL = $(wildcard tests/cuda/cusim_*.c tests/cuda/fake_*.c)
FAKE_SRC = $(filter-out %/fake_driver.c %/fake_nvml.c %/fake_nvtx.c,\
    $(FAKE_ALL))
FAKE_OBJ = $(FAKE_SRC:%.c=$(B)/fake/obj/%.o)
CHECKER = $(patsubst %,$(B)/fake/obj/tests/cuda/check_%.o,access hooks target)
CHECK_OBJ = $(FAKE_OBJ) $(CHECKER)
PLAIN_OBJ = $(FAKE_OBJ) $(B)/fake/obj/tests/cuda/check_none.o

CUPTI_SO := libcupti.so.$(shell sed -n \
    's/^.define CUDART_VERSION *\([0-9]*\)[0-9][0-9][0-9]$$/\1/p' \
    $(CUDA_INCLUDE)/cuda_runtime_api.h 2>/dev/null)

FAKE_LIBS = $(foreach d,fake fake-check,$(B)/$d/libpipeline_cuda.so \
    $(B)/$d/libcuda.so.1 $(B)/$d/libnvidia-ml.so.1 $(B)/$d/$(CUPTI_SO))
DOUBLE_TEST = $(patsubst tests/cuda/%.c,$(B)/bin/%, \
    $(wildcard tests/cuda/test_double*.c))

.PHONY: fake
fake: $(FAKE_LIBS) $(B)/fake/libfake_nvtx.so $(DOUBLE_TEST)

$(B)/fake/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(ALL_CFLAGS) $(FAKE_CFLAGS) -c -o $@ $<
$(B)/fake/obj/tests/cuda/fake_gemm.o: FAKE_CFLAGS += -O3 $(SIM_ARCH) \
    -ffp-contract=fast
# The judge of every load and store is never without optimisation.
$(CHECKER) $(B)/fake/obj/tests/cuda/fake_memory.o: FAKE_CFLAGS += -O2

$(B)/fake/obj/%.k.o: %.cu $(B)/flags
	@mkdir -p $(@D)
	$(say) SIM $@
	$(Q)$(SIM) -O2 $(SIM_SANITIZE) -c -o $@ $<
$(B)/fake-check/obj/%.k.o: %.cu $(B)/flags
	@mkdir -p $(@D)
	$(say) SIM $@
	$(Q)$(SIM) $(SIM_CHECK) -c -o $@ $<

# The backend's own symbols are bound within; those of nn/ are the program's.
define FAKE_LINK
@mkdir -p $(@D)
$(say) LINK $@
$(Q)$(CC) -shared -pthread $(LDFLAGS) -Wl,-Bsymbolic -Wl,-z,nodelete \
    -o $@ $(filter %.o,$^) -ldl -lm
endef
$(B)/fake/libpipeline_cuda.so: $(CUDA_OBJ) $(PLAIN_OBJ) \
    $(KERNEL_SRC:%.cu=$(B)/fake/obj/%.k.o)
	$(FAKE_LINK)
$(B)/fake-check/libpipeline_cuda.so: $(CUDA_OBJ) $(CHECK_OBJ) \
    $(KERNEL_SRC:%.cu=$(B)/fake-check/obj/%.k.o)
	$(FAKE_LINK)
$(B)/fake/libcuda.so.1 $(B)/fake-check/libcuda.so.1: \
    $(B)/fake/obj/tests/cuda/fake_driver.o \
    $(B)/fake/obj/tests/cuda/fake_inject.o
	$(FAKE_LINK) -Wl,-soname,libcuda.so.1
$(B)/fake/libnvidia-ml.so.1 $(B)/fake-check/libnvidia-ml.so.1: \
    $(B)/fake/obj/tests/cuda/fake_nvml.o \
    $(B)/fake/obj/tests/cuda/fake_inject.o
	$(FAKE_LINK) -Wl,-soname,libnvidia-ml.so.1

$(B)/fake/libfake_nvtx.so: $(B)/fake/obj/tests/cuda/fake_nvtx.o
	$(FAKE_LINK)
# The functions are the plug-in's: dlsym looks into what a library needs.
$(B)/%/$(CUPTI_SO): $(B)/%/libpipeline_cuda.so
	$(say) LINK $@
	$(Q)echo | $(CC) -x c -shared $(LDFLAGS) -Wl,-soname,$(CUPTI_SO) \
	    -o $@ - -L$(@D) -Wl,--no-as-needed -lpipeline_cuda

define FAKE_PROGRAM
@mkdir -p $(@D)
$(say) LINK $@
$(Q)$(CC) -pthread $(LDFLAGS) -o $@ $(filter %.o,$^) -ldl -lm
endef
$(B)/bin/planted: $(B)/fake/obj/tests/cuda/planted.k.o $(PLAIN_OBJ)
	$(FAKE_PROGRAM)
$(B)/bin/planted_check: $(B)/fake-check/obj/tests/cuda/planted.k.o $(CHECK_OBJ)
	$(FAKE_PROGRAM)
$(B)/bin/test_double: $(B)/fake/obj/tests/cuda/test_double.o \
    | $(B)/bin/planted $(B)/bin/planted_check $(B)/fake/libcuda.so.1 \
    $(B)/fake/libnvidia-ml.so.1
	$(FAKE_PROGRAM) -lcmocka
$(filter-out $(B)/bin/test_double,$(DOUBLE_TEST)): \
    $(B)/bin/%: $(B)/fake/obj/tests/cuda/%.o $(PLAIN_OBJ)
	$(FAKE_PROGRAM) -lcmocka

-include $(wildcard $(B)/fake/obj/cuda/*.d $(B)/fake/obj/tests/cuda/*.d \
    $(B)/fake-check/obj/cuda/*.d $(B)/fake-check/obj/tests/cuda/*.d)
