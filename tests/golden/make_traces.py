#!/usr/bin/env python3
"""Writes trace-gpu.json and trace-cpu.json: small traces with made-up times, in
the form of torch.profiler (Kineto), that break none of the rules of
pipeline/trace_rule.h. Run in tests/golden."""
import json

PID, TID, MAIN, COPIES = 4242, 4242, 7, 13


class Trace:
    def __init__(self):
        self.line, self.corr, self.ext = [], 1000, 0

    def add(self, **event):
        times = {k: "%.3f" % event[k] for k in ("ts", "dur") if k in event}
        text = json.dumps(event, ensure_ascii=False)
        for key, value in times.items():
            text = text.replace('"%s": %s' % (key, json.dumps(event[key])),
                                '"%s": %s' % (key, value), 1)
        self.line.append(text)

    def row(self, name, pid, tid, key, value):
        self.add(ph="M", name=name, ts=0.0, pid=pid, tid=tid,
                 args={key: value})

    def cpu(self, cat, name, ts, dur, **args):
        self.ext += 1
        self.add(ph="X", cat=cat, name=name, pid=PID, tid=TID, ts=ts, dur=dur,
                 args={"External id": self.ext, **args})

    def call(self, name, ts, dur):
        self.corr += 1
        self.add(ph="X", cat="cuda_runtime", name=name, pid=PID, tid=TID,
                 ts=ts, dur=dur, args={"cbid": 0, "correlation": self.corr})
        return self.corr

    def gpu(self, cat, name, stream, ts, dur, corr, **args):
        self.add(ph="X", cat=cat, name=name, pid=0, tid=stream, ts=ts, dur=dur,
                 args={"device": 0, "context": 1, "stream": stream,
                       "correlation": corr, **args})

    def launch(self, call, at, dur, cat, name, stream, ts, gpu_dur, **args):
        corr = self.call(call, at, dur)
        self.add(ph="s", id=corr, pid=PID, tid=TID, ts=at, cat="ac2g",
                 name="ac2g")
        self.gpu(cat, name, stream, ts, gpu_dur, corr, **args)
        self.add(ph="f", id=corr, pid=0, tid=stream, ts=ts, cat="ac2g",
                 name="ac2g", bp="e")
        return corr

    def gpu_phase(self, name, stream, ts, end):
        self.add(ph="X", cat="gpu_user_annotation", name=name, pid=0,
                 tid=stream, ts=ts - 0.001, dur=end - ts + 0.002, args={})

    def memory(self, ts, allocated, type):
        self.add(ph="i", cat="cpu_instant_event", s="t", name="[memory]",
                 pid=PID, tid=TID, ts=ts,
                 args={"Total Reserved": 23068672,
                       "Total Allocated": allocated, "Bytes": 32768,
                       "Addr": 140234567890944, "Device Id": 0,
                       "Device Type": type, "Ev Idx": 3})

    def write(self, path, end, devices):
        self.add(ph="i", s="g", name="Record Window End", pid="", tid="",
                 ts=end)
        with open(path, "w", encoding="utf-8") as f:
            f.write('{\n"schemaVersion": 1,\n"deviceProperties": %s,\n'
                    '"record_shapes": 1,\n"profile_memory": 1,\n'
                    '"distributedInfo": {"backend": "none", "rank": 0, '
                    '"world_size": 1},\n"displayTimeUnit": "ms",\n'
                    '"baseTimeNanoseconds": 1759300074000000000,\n'
                    '"traceEvents": [\n%s\n],\n"traceName": "%s"\n}\n'
                    % (json.dumps(devices), ",\n".join(self.line), path))


def rows(t):
    t.row("process_name", PID, 0, "name", "pipeline")
    t.row("process_labels", PID, 0, "labels", "CPU")
    t.row("thread_name", PID, TID, "name", "thread 4242 (pipeline)")


def note(t, name, ts, dur):
    t.cpu("user_annotation", name, ts, dur)


def gpu_step(t, n):
    b = 200.0 * n
    note(t, "ProfilerStep#%d" % n, b, 150.0)
    note(t, "h2d", b + 1, 9.0)
    t.cpu("cpu_op", "pipeline::copy_", b + 2, 7.0)
    t.launch("cudaMemcpyAsync", b + 3, 3.0, "gpu_memcpy",
             "Memcpy HtoD (Pinned -> Device)", COPIES, b + 7, 4.0,
             bytes=100352)
    t.gpu_phase("h2d", COPIES, b + 7, b + 11)
    record = t.call("cudaEventRecord", b + 6.5, 1.0)
    note(t, "forward", b + 12, 20.0)
    t.call("cudaStreamWaitEvent", b + 13, 1.0)
    t.add(ph="X", cat="cuda_sync", name="Stream Wait Event", pid=0, tid=MAIN,
          ts=b + 13.5, dur=0.5,
          args={"cuda_sync_kind": "Stream Wait Event", "stream": MAIN,
                "device": 0, "wait_on_stream": COPIES,
                "wait_on_cuda_event_record_corr_id": record})
    t.cpu("cpu_op", "pipeline::linear", b + 15, 8.0)
    t.launch("cudaLaunchKernel", b + 16, 3.0, "kernel",
             'linear_fwd<"ü">(float const*,\nint)', MAIN, b + 20, 6.0)
    t.gpu_phase("forward", MAIN, b + 20, b + 26)
    t.memory(b + 17, 3391008 + n, 1)
    note(t, "clear grad", b + 33, 5.0)
    t.launch("cudaMemsetAsync", b + 34, 2.0, "gpu_memset", "Memset (Device)",
             MAIN, b + 37, 1.0, bytes=814120)
    note(t, "backward", b + 40, 20.0)
    t.cpu("cpu_op", "pipeline::linear_backward", b + 41, 10.0)
    t.launch("cudaLaunchKernel", b + 42, 3.0, "kernel", "linear_bwd(float*)",
             MAIN, b + 46, 5.0)
    note(t, "optimizer", b + 62, 10.0)
    graph = t.launch("cudaGraphLaunch", b + 63, 4.0, "kernel", "adam_1(float*)",
                     MAIN, b + 68, 2.0)
    t.gpu("kernel", "adam_2(float*)", MAIN, b + 71, 3.0, graph)
    t.call("cudaStreamSynchronize", b + 80, 20.0)
    t.add(ph="X", cat="cuda_sync", name="Stream Sync", pid=0, tid=MAIN,
          ts=b + 81, dur=15.0,
          args={"cuda_sync_kind": "Stream Sync", "stream": MAIN, "device": 0})


def cpu_step(t, n):
    b = 200.0 * n
    note(t, "ProfilerStep#%d" % n, b, 150.0)
    note(t, "forward", b + 1, 40.0)
    t.cpu("cpu_op", "pipeline::linear", b + 2, 30.0)
    t.cpu("cpu_op", "pipeline::matmul", b + 4, 20.0)
    t.memory(b + 3, 65536 * n, 0)
    note(t, "backward", b + 50, 60.0)
    t.cpu("cpu_op", "pipeline::linear_backward", b + 55, 50.0)
    note(t, "optimizer", b + 120, 12.5)
    t.cpu("cpu_op", "pipeline::adam", b + 121, 11.125)


def main():
    t = Trace()
    rows(t)
    t.row("process_labels", 0, 0, "labels", "GPU 0")
    for n in (2, 3, 4):
        gpu_step(t, n)
    t.write("trace-gpu.json", 1000.0, [{"id": 0, "name": "NVIDIA H200"}])
    t = Trace()
    rows(t)
    for n in (0, 1, 2):
        cpu_step(t, n)
    t.write("trace-cpu.json", 600.0, [])


main()
