# Which tests run on a GPU or its double, and when:
#   make test      a sample on the double, in $(B)
#   make check     all on the double
#   make soak      every call failed in turn, planted bugs, the GPU script, the
#                  plug-in of nvcc without a driver
#   make test-gpu  the same tests on the GPU of this machine

# Unit tests that take their device from TEST_DEVICE (device_fixture.h).
DEVICE_TEST = $(patsubst %,$(B)/bin/test_%,cpu_conv cpu_gemm cpu_image \
    cpu_ops cpu_rules cpu_step custom custom_rules device device_loss \
    golden_order golden_training gradcheck layer_own layers model opcheck operator program \
    program_functions program_image program_report step_report summary tape \
    trace_device trace_refused train train_order)
DEVICE_CLI = tests/cuda/apart.bats tests/cuda/cuda.bats \
    tests/cuda/cuda_compare.bats tests/cuda/cuda_profile.bats \
    tests/cuda/cuda_times.bats tests/cuda/cuda_training.bats
DEVICE_SAMPLE = $(patsubst %,$(B)/bin/test_%,cpu_ops cpu_step device tape \
    trace_device) \
    tests/cuda/cuda.bats
# What runs under the checking double too, where every access is judged.
CHECKED_TEST = $(patsubst %,$(B)/bin/test_%,cpu_conv cpu_gemm cpu_image \
    cpu_ops cpu_rules cpu_step device_loss trace_device)

# And under the address and undefined sanitizers, in make soak.
SANITIZED_TEST = $(patsubst %,$(B)/bin/test_%,cpu_ops cpu_step device \
    device_loss)

DOUBLE = $(B)/fake/libpipeline_cuda.so $(B)/fake/libcuda.so.1 \
    $(B)/fake/libnvidia-ml.so.1 $(B)/fake/$(CUPTI_SO)
DOUBLE_ENV = TEST_DEVICE=cuda LD_LIBRARY_PATH=$(abspath $(B)/fake)
# Nothing of it runs, so it is compiled fast.
NVCC_BUILD = B=build/nvcc CUDA=1 ARCHS=75 NVCC_OPT='-Xcicc -O1 -Xptxas -O0'

# What the double is made from; with all of it there this is empty.
DOUBLE_LACKS = $(strip $(foreach h,cuda.h cuda_runtime_api.h cublasLt.h \
    cupti.h,$(if $(wildcard $(CUDA_INCLUDE)/$h \
    $(CUPTI_HOME)/include/$h),,$h)) \
    $(if $(shell command -v $(firstword $(CXX))),,$(CXX)))
skipped = @echo 'SKIPPED: $(1), as there is no $(2)' >&2

.PHONY: test-double check-double soak-double sanitized-double check-nvcc \
    test-gpu
ifeq ($(DOUBLE_LACKS),)
test-double: programs $(DOUBLE)
	@$(DOUBLE_ENV) PIPELINE=$(B)/bin/pipeline $(PROVE) $(DEVICE_SAMPLE)
check-double: programs fake
	@$(DOUBLE_ENV) B=$(B) ORDERS=20 PIPELINE=$(abspath $(B)/bin/pipeline) \
	    $(PROVE) $(DEVICE_CLI) tests/cuda/failing_calls.bats \
	    tests/cuda/nvtx.bats tests/cuda/headers.sh $(DOUBLE_TEST) $(DEVICE_TEST)
	@TEST_SMALL=1 TEST_DEVICE=cuda \
	    LD_LIBRARY_PATH=$(abspath $(B)/fake-check) $(PROVE) \
	    $(CHECKED_TEST)
soak-double: programs fake
	@$(DOUBLE_ENV) B=$(B) SOAK=1 TEST_TIMEOUT=7200 \
	    PIPELINE=$(abspath $(B)/bin/pipeline) $(PROVE) \
	    tests/cuda/planted_bugs.sh tests/cuda/gpu_script.bats \
	    tests/soak/cuda_faults.bats
	$(SUBMAKE) $(ASAN_BUILD) SIM_SANITIZE='$(SANITIZE)' sanitized-double
sanitized-double: $(DOUBLE) $(SANITIZED_TEST)
	@$(DOUBLE_ENV) TEST_TIMEOUT=1200 $(PROVE) $(SANITIZED_TEST)
else
test-double check-double soak-double sanitized-double:
	$(call skipped,all tests of CUDA,$(DOUBLE_LACKS))
endif

ifneq ($(NVCC),)
check-nvcc: $(B)/bin/pipeline
	$(SUBMAKE) $(NVCC_BUILD) plugin
	@cp $(B)/bin/pipeline build/nvcc/bin/pipeline
	@PLUGIN=$(CURDIR)/build/nvcc/bin PIPELINE=build/nvcc/bin/pipeline \
	    $(PROVE) tests/cuda/plugin.bats
else
check-nvcc:
	$(call skipped,the build of the CUDA plug-in,nvcc)
endif

test-gpu:
	@tests/deps.sh test
	$(SUBMAKE) CUDA=1 all programs
	@REQUIRE_CUDA=1 TEST_DEVICE=cuda ORDERS=20 PIPELINE=$(B)/bin/pipeline \
	    $(PROVE) $(DEVICE_CLI) $(DEVICE_TEST)
