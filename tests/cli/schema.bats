load helper

# A Python that has yaml and jsonschema: $PYTHON, python3 or Debian's own.
schema_python() {
    for p in "${PYTHON-}" python3 /usr/bin/python3; do
        [ -n "$p" ] && "$p" -c 'import yaml, jsonschema' 2>/dev/null &&
            echo "$p" && return
    done
    return 1
}

@test "the schema that editors take is the one that is printed" {
    pipeline schema >"$T/schema.json"
    cmp "$T/schema.json" configs/pipeline.schema.json || {
        echo "to take the new one: pipeline schema >configs/pipeline.schema.json"
        return 1
    }
}

@test "every shipped config names the schema in its first line" {
    for f in configs/*.yaml configs/common/*.yaml; do
        line=$(head -n 1 "$f")
        [[ $line == "# yaml-language-server: \$schema="* ]] || {
            echo "$f: $line"
            return 1
        }
        [ -f "$(dirname "$f")/${line#*=}" ]
    done
}

@test "the schema and check agree about every good and bad config" {
    py=$(schema_python) || skip "no Python with yaml and jsonschema"
    for f in configs/*.yaml tests/good/*.yaml; do
        pipeline check -q "$f"
    done
    run "$py" tests/schema_agree.py configs/pipeline.schema.json \
        configs configs/common tests/good tests/good/base -- tests/bad/config
    [ "$status" -eq 0 ] || {
        grep -A1 '^not ok' <<<"$output"
        return 1
    }
}
