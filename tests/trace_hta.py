"""HolisticTraceAnalysis over a folder with one trace of a profile stage.

    tests/trace_hta.py FOLDER [gpu]

Its own check of the format, and with `gpu` all that it works out of a GPU's
records. Exit status 77: it is not installed (PyPI: HolisticTraceAnalysis).
"""
import glob
import os
import sys
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # steps are short
warnings.filterwarnings("ignore")
try:
    from hta.trace_analysis import TraceAnalysis
    from hta.utils.validate_trace import validate_trace_format
except ImportError:
    print("SKIPPED: no HolisticTraceAnalysis", file=sys.stderr)
    sys.exit(77)


def check_gpu(analysis, frame):
    """Sums that must come out of the trace as they stand in it."""
    kernels = frame[frame.stream > 0]
    assert len(kernels) > 0, "no row of a GPU"
    assert (kernels.index_correlation > 0).all(), "work without its launch"
    times = analysis.get_temporal_breakdown(visualize=False)
    assert (times["idle_time(us)"] >= 0).all(), times.to_string()
    assert (times["compute_time(us)"] > 0).all(), times.to_string()
    print("kernel types", len(analysis.get_gpu_kernel_breakdown(
        visualize=False)[0]))
    print("launches", len(analysis.get_cuda_kernel_launch_stats(
        visualize=False)[0]))
    idle = analysis.get_idle_time_breakdown(visualize=False)[0]
    assert (idle["idle_time"] >= 0).all(), idle.to_string()
    print("queue", len(analysis.get_queue_length_summary()))
    print("bandwidth", len(analysis.get_memory_bw_summary()))


def main(folder, gpu):
    """Raises what HTA raises."""
    good, why = validate_trace_format(glob.glob(folder + "/*")[0], "standard")
    assert good, why
    analysis = TraceAnalysis(trace_dir=folder)
    frame = analysis.t.get_trace(0)
    assert (frame.dur >= 0).all() and len(frame) > 50
    print("iterations", [int(i) for i in analysis.t.get_iterations()])
    if gpu:
        check_gpu(analysis, frame)


main(sys.argv[1], sys.argv[2:] == ["gpu"])
