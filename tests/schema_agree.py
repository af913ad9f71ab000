"""Whether `pipeline check` and the printed JSON Schema agree about configs.

    schema_agree.py SCHEMA GOOD_FOLDER... -- BAD_FOLDER

Every good config must be valid. Every bad one must be refused by YAML or by the
schema, but for those below, which a schema has no words for: they must be
valid, so that this list stays true. TAP; exit status 77 where python3-yaml or
python3-jsonschema is not installed.
"""

import glob
import json
import os
import re
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"1..0 # SKIP {missing}")
    sys.exit(77)

NAMES = "a name that must stand elsewhere in the file"
OTHER = "what another file says"
VALUES = "it depends on what a reference stands for"
RELATED = "one value depends on another"
TEXT = "a matter of how the text is written, gone once it is parsed"
INHERITED = "a missing key may come from extends or defaults"
PROGRAM = "what a program says"

CANNOT = {
    "alias_as_key": TEXT,
    "alias_bomb": "how large aliases make it",
    "compare_kind": NAMES,
    "compare_many": "how many stages a comparison takes",
    "compare_no_trace": NAMES,
    "compare_one": NAMES,
    "compare_twice": NAMES,
    "compare_unknown": NAMES,
    "compare_x": NAMES,
    "dataset_lacks": INHERITED,
    "expect_metric": "which metrics a kind writes",
    "dataset_moons": RELATED,
    "dataset_path": "a path that leaves its folder, in parts",
    "dataset_unknown": NAMES,
    "env_missing": VALUES,
    "extends_broken": OTHER,
    "extends_circle": OTHER,
    "extends_folder": OTHER,
    "extends_itself": OTHER,
    "extends_missing": OTHER,
    "extends_reference": "a reference is taken for a path",
    "extends_version": OTHER,
    "fetch_name_taken": NAMES,
    "from_wrong_kind": NAMES,
    "imports_broken": OTHER,
    "imports_circle": OTHER,
    "imports_itself": OTHER,
    "imports_missing": OTHER,
    "imports_same_name": OTHER,
    "imports_unknown_stage": OTHER,
    "int_fraction": "5.0 is an integer to it",
    "matrix_circle": NAMES,
    "matrix_comma": NAMES,
    "matrix_does_not_apply": RELATED,
    "matrix_exclude_all": RELATED,
    "matrix_exclude_key": RELATED,
    "matrix_exclude_nothing": RELATED,
    "matrix_from_group": NAMES,
    "matrix_from_kind": NAMES,
    "matrix_include_key": RELATED,
    "matrix_include_lacks": RELATED,
    "matrix_include_twice": RELATED,
    "matrix_long_name": VALUES,
    "matrix_name_reference": VALUES,
    "matrix_reference_outside": VALUES,
    "matrix_reference_type": VALUES,
    "matrix_reference_unknown": VALUES,
    "matrix_same_name": VALUES,
    "matrix_too_many": "how many combinations lists have",
    "name_reference": VALUES,
    "needs_circle": NAMES,
    "needs_itself": NAMES,
    "needs_unknown": NAMES,
    "no_name": INHERITED,
    "no_stages": INHERITED,
    "no_version": INHERITED,
    "nul_escape": TEXT,
    "number_huge": "a number of any size is one",
    "operator_forward": PROGRAM,
    "operator_layers": PROGRAM,
    "operator_loss": PROGRAM,
    "operator_no_loss": PROGRAM,
    "operator_none": RELATED,
    "operator_parameters": PROGRAM,
    "operator_dropout": PROGRAM,
    "operator_statements": PROGRAM,
    "operator_syntax": PROGRAM,
    "operator_unknown": NAMES,
    "optimizer_missing": INHERITED,
    "optimizer_no_type": INHERITED,
    "own_folder": "where results go",
    "profile_nesterov": RELATED,
    "required": INHERITED,
    "resume_from_circle": NAMES,
    "resume_from_epochs": RELATED,
    "resume_from_name": NAMES,
    "resume_from_recipe": RELATED,
    "resume_from_unbroken": RELATED,
    "stages_itself": NAMES,
    "stages_matrix": NAMES,
    "stages_name": VALUES,
    "stages_no_dir": VALUES,
    "stages_no_path": VALUES,
    "stages_two": VALUES,
    "stages_unknown": NAMES,
    "step_order_backward_first": RELATED,
    "step_order_lacks": RELATED,
    "step_order_loss": RELATED,
    "step_order_microbatches": RELATED,
    "step_order_twice": RELATED,
    "uses_missing": INHERITED,
    "utf16": TEXT,
    "var_bomb": VALUES,
    "var_circle": VALUES,
    "var_deep": VALUES,
    "var_itself": VALUES,
    "var_map_in_text": VALUES,
    "var_open": VALUES,
    "var_unknown": VALUES,
    "var_without_space": VALUES,
    "yaml_13": TEXT,
}

# Good configs that python3-yaml cannot read.
UNREADABLE = {"tabs": "a tab before a comment"}


class Loader(yaml.SafeLoader):
    """YAML 1.2's core types, as editors read it, and no key twice."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|false)$", list("tf")),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", list("-+0123456789")),
    (
        "float",
        r"^[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$",
        list("-+.0123456789"),
    ),
    ("merge", r"^<<$", ["<"]),
):
    Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{tag}", re.compile(pattern), first
    )


def construct_map(loader, node):
    keys = [k.value for k, _ in node.value]
    for key in keys:
        if not isinstance(key, str):
            raise yaml.YAMLError("a key that is no word")
        if keys.count(key) > 1:
            raise yaml.YAMLError(f"{key} twice")
    loader.flatten_mapping(node)
    return {
        k.value: loader.construct_object(v, deep=True) for k, v in node.value
    }


Loader.add_constructor("tag:yaml.org,2002:map", construct_map)
Loader.add_constructor(
    "tag:yaml.org,2002:float", lambda l, n: float(l.construct_scalar(n))
)
Loader.add_constructor(
    "tag:yaml.org,2002:int", lambda l, n: int(l.construct_scalar(n))
)


def fault(validator, path):
    """What is wrong with a file, or None."""
    try:
        with open(path, "rb") as f:
            text = f.read()
        if len(text) > 1 << 20:
            return "too large"
        root = yaml.load(text, Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        return str(e).split("\n")[0]
    if root is None:
        return "empty"
    try:
        errors = list(validator.iter_errors(root))
    except RecursionError as e:
        return str(e)
    return errors[0].message[:100] if errors else None


def files(folders):
    for folder in folders:
        yield from sorted(glob.glob(os.path.join(folder, "*.yaml")))


def overridden(path):
    with open(path, "rb") as f:
        return f.readline().startswith(b"# with: ")


def main():
    at = sys.argv.index("--")
    with open(sys.argv[1]) as f:
        schema = json.load(f)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    n = wrong = 0
    cases = [(p, True) for p in files(sys.argv[2:at])]
    cases += [(p, False) for p in files(sys.argv[at + 1 :])]
    for path, good in cases:
        if overridden(path):
            continue  # the mistake is on the command line
        if good and os.path.basename(path)[: -len(".yaml")] in UNREADABLE:
            continue
        name = os.path.basename(path)[: -len(".yaml")]
        said = fault(validator, path)
        want = good or name in CANNOT
        n += 1
        if (said is None) == want:
            print(f"ok {n} - {path}")
            continue
        wrong += 1
        print(f"not ok {n} - {path}")
        print(f"# {said or 'the schema takes it; pipeline check does not'}")
    print(f"1..{n}")
    sys.exit(1 if wrong or n < 80 else 0)


main()
