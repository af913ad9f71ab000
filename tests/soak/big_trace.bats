load ../cli/helper

@test "a trace of 1 GB is read, and checked, in 700 MB" {
    python3 - tests/golden/trace-gpu.json "$T/big.json" <<'PYTHON'
import json
import re
import sys

# The second step of the sample, again and again, 200 us apart.
lines = []
for line in open(sys.argv[1], encoding="utf-8"):
    line = line.rstrip(",\n")
    at = re.search(r'"ts": (6\d\d|7\d\d)\.(\d+)', line)
    if at and line.startswith('{"ph"'):
        lines.append((line, float(at[1] + "." + at[2])))
numbers = re.compile(r'("ts": |"id": |"correlation": |corr_id": |Step#)([\d.]+)')


def later(line, k):
    def more(m):
        if m[1] == '"ts": ':
            return "%s%.3f" % (m[1], float(m[2]) + 200 * k)
        return m[1] + str(int(m[2]) + (1 if m[1] == "Step#" else 20) * k)

    return numbers.sub(more, line)


with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.write('{"traceEvents": [{"ph": "M", "name": "process_name", '
              '"pid": 4242, "args": {"name": "pipeline"}}')
    size = k = 0
    while size < 10**9:
        text = ",\n" + ",\n".join(later(line, k) for line, _ in lines)
        size += out.write(text)
        k += 1
    out.write("]}\n")
PYTHON
    for how in "" --validate; do
        run bash -c "ulimit -v 700000; '$PIPELINE' trace $how '$T/big.json'"
        is_status 0
    done
    says "no rule is broken"
}
