# The CUDA plug-in, libpipeline_cuda.so: host code by $(CC), kernels by nvcc.
# The program opens it when a GPU is asked for; its own symbols (nn/) come from
# the program.
#
#   CUDA=auto  built where there are nvcc and a driver (the default)
#   CUDA=1     built where there is nvcc     CUDA=0  never
#   ARCHS      native (the GPU here), all, or numbers: ARCHS="75 90"

NVCC ?= $(shell command -v nvcc 2>/dev/null || \
    { test -x /usr/local/cuda/bin/nvcc && echo /usr/local/cuda/bin/nvcc; })
CUDA_HOME ?= $(if $(NVCC),$(patsubst %/bin/,%,$(dir \
    $(realpath $(NVCC)))),/usr/local/cuda)
CUDA_INCLUDE ?= $(CUDA_HOME)/include
CUDA_LIB ?= $(firstword $(wildcard $(CUDA_HOME)/lib64 $(CUDA_HOME)/lib) \
    $(CUDA_HOME)/lib64)
# CUPTI is opened when a run is profiled; a stock toolkit keeps it apart.
CUPTI_HOME = $(CUDA_HOME)/extras/CUPTI
DRIVER := $(wildcard /dev/nvidiactl /usr/lib/wsl/lib/libcuda.so.1)

ifeq ($(NVCC),)
CUDA_LEFT_OUT = no nvcc was found
else ifeq ($(CUDA),0)
CUDA_LEFT_OUT = CUDA=0
else ifeq ($(CUDA)$(DRIVER),auto)
CUDA_LEFT_OUT = there is no NVIDIA driver; CUDA=1 builds it all the same
else
PLUGIN = $(B)/bin/libpipeline_cuda.so
endif

CUPTI_H = $(wildcard $(CUDA_INCLUDE)/cupti.h $(CUPTI_HOME)/include/cupti.h)
WITH_CUPTI = cuda/cuda_cupti.c $(filter-out %_none.c,$(wildcard \
    cuda/cuda_trace*.c))
CUDA_SRC = $(filter-out $(if $(CUPTI_H),%/cuda_trace_none.c,$(WITH_CUPTI)),\
    $(wildcard cuda/*.c))
CUDA_OBJ = $(CUDA_SRC:%.c=$(B)/obj/%.o)
KERNEL_SRC = $(wildcard cuda/*.cu)
KERNEL_OBJ = $(KERNEL_SRC:%.cu=$(B)/obj/%.cu.o)

# Machine code for every GPU of the list that this nvcc knows, and PTX of the
# last one for GPUs to come.
ARCHS ?= $(if $(DRIVER),native,75)
ARCHS_ALL = 75 80 86 89 90 100 120
ARCHS_KNOWN = $(shell $(NVCC) --list-gpu-arch 2>/dev/null | \
    sed 's/compute_//')
ARCHS_LIST = $(filter $(ARCHS_KNOWN),$(if $(filter all,$(ARCHS)),\
    $(ARCHS_ALL),$(ARCHS)))
ifeq ($(ARCHS),native)
ARCH_FLAGS = -arch=native
else
ARCH_FLAGS = $(foreach a,$(ARCHS_LIST),-gencode arch=compute_$(a),code=sm_$(a)) \
    -gencode arch=compute_$(lastword $(ARCHS_LIST)),code=compute_$(lastword \
    $(ARCHS_LIST))
endif

# No product is fused with a sum unless the source says so: the arithmetic is
# the CPU's. The three options after it keep libstdc++ out.
NVCC_FLAGS = -std=c++17 -O2 $(NVCC_OPT) -fmad=false -I. $(ARCH_FLAGS) \
    -Xcompiler -fPIC,-fno-exceptions,-fno-threadsafe-statics,-fno-rtti

$(CUDA_OBJ): ALL_CFLAGS += -fPIC -isystem $(CUDA_INCLUDE) \
    -isystem $(CUPTI_HOME)/include

$(B)/obj/%.cu.o: %.cu $(B)/flags
	@mkdir -p $(@D)
	$(say) NVCC $@
	$(Q)$(NVCC) $(NVCC_FLAGS) -MMD -MF $(@:.o=.d) -c -o $@ $<

.PHONY: plugin
plugin: $(PLUGIN)

$(B)/bin/libpipeline_cuda.so: $(CUDA_OBJ) $(KERNEL_OBJ)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -shared $(LDFLAGS) -o $@ $^ -L$(CUDA_LIB) -lcudart -lcublas -lcublasLt \
	    -Wl,--enable-new-dtags \
	    -Wl,-rpath,$(CUDA_LIB):$(CUPTI_HOME)/lib64 -ldl -lm
