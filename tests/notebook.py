"""Looks at examples/colab.ipynb without running it on a GPU.

usage: notebook.py check            a notebook of format 4.5 without outputs
       notebook.py commands         its shell commands, one a line
       notebook.py show FOLDER      runs the Python of its last cell in FOLDER,
                                    what it displays goes to stdout
"""

import ast
import json
import os
import re
import sys
import types

NOTEBOOK = "examples/colab.ipynb"
KEYS = {
    "markdown": {"cell_type", "id", "metadata", "source"},
    "code": {
        "cell_type",
        "id",
        "metadata",
        "source",
        "outputs",
        "execution_count",
    },
}


def source(cell):
    return "".join(cell["source"])


def python_of(cell):
    """Without the lines that are IPython's."""
    lines = source(cell).splitlines()
    return "\n".join(line for line in lines if line[:1] not in "!%")


def check(notebook):
    """The rules of nbformat 4.5's schema that a hand-written file can break."""
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    kinds = [cell["cell_type"] for cell in notebook["cells"]]
    assert kinds == ["markdown", "code"] * 3, kinds
    for cell in notebook["cells"]:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell["id"]), cell["id"]
        assert set(cell) == KEYS[cell["cell_type"]], cell["id"]
        assert isinstance(cell["metadata"], dict)
        assert all(isinstance(line, str) for line in cell["source"])
        assert all(line.endswith("\n") for line in cell["source"][:-1])
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            ast.parse(python_of(cell))


def commands(notebook):
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            for line in source(cell).splitlines():
                if line.startswith("!"):
                    print(line[1:])


def show(notebook, folder):
    def svg(name):
        with open(name) as f:
            return f.read()[:100]

    display = types.ModuleType("IPython.display")
    display.SVG, display.Markdown, display.display = svg, str, print
    sys.modules["IPython"] = types.ModuleType("IPython")
    sys.modules["IPython.display"] = display
    code = python_of(notebook["cells"][-1])
    os.chdir(folder)
    exec(code, {})


def main():
    with open(NOTEBOOK) as f:
        notebook = json.load(f)
    what = {"check": check, "commands": commands, "show": show}
    what[sys.argv[1]](notebook, *sys.argv[2:])


main()
