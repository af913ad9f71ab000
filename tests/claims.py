"""The claims of configs/claims.yaml, checked a second time by algebra.

    claims.py CONFIG RESULT

RESULT is what `pipeline run CONFIG --json` printed. Each expectation that
begins with "claim N" is decided here too, with SymPy: exactly, from the claim's
numbers alone. What the program measured is not looked at, only its verdict,
which must be the same. Exits 1 where one is not, or where a claim is missing."""
import json
import re
import sys

import sympy as sp


def network():
    """Claims 1 and 2: the network of the exam, in symbols and then numbers."""
    w = sp.symbols("w1 w2", real=True)
    x = sp.Matrix([1, -1])
    W = sp.Matrix([[sp.Rational(1, 2), sp.Rational(-1, 2)], [1, 0]])
    h = (W * x).applyfunc(sp.tanh) # b = 0
    yhat = w[0] * h[0] + w[1] * h[1]
    L = yhat**2 / 2                # y = 0
    at = {w[0]: 1, w[1]: 2}
    return {"yhat": [yhat.subs(at)], "L": [L.subs(at)],
            "w.grad": [sp.diff(L, v).subs(at) for v in w],
            "three_tanh": [3 * sp.tanh(1)]}


def formula(config, name):
    """How the program of the config computes name."""
    return re.search(rf"^ *{name} = ([^#\n]*)", config, re.M).group(1)


def coefficients(config):
    """Claim 3: the gradients of the averaged loss to any four losses."""
    l = sp.symbols("l0:4")
    of = {"first": (l[0] + l[1]) / 2, "second": (l[2] + l[3]) / 2}
    text = re.search(r"backward\((.*first.*)\) *$", config, re.M).group(1)
    loss = sp.sympify(text, locals=of)
    return {"averaged": [sp.diff(loss, v) for v in l],
            "l.grad": [sp.diff(sum(l) / 4, v) for v in l]}


def workers(config, weight):
    """Claim 3: any differentiable loss of a parameter and a sample."""
    p, x = sp.symbols("p x0:4")[0], sp.symbols("x0:4")
    loss = sp.Function("loss")
    mean = [(loss(p, x[i]) + loss(p, x[i + 1])) / 2 for i in (0, 2)]
    first, second = (sp.diff(m, p) for m in mean)
    text = formula(config, f"averaged_{weight}")
    text = text.replace(f"{weight}.grad", f"{weight}2")
    averaged = sp.sympify(text, locals={f"{weight}1": first,
                                        f"{weight}2": second})
    whole = sp.diff(sum(loss(p, v) for v in x) / 4, p)
    return {f"averaged_{weight}": [averaged], f"{weight}.grad": [whole]}


def threshold():
    """Claim 4."""
    S, g = sp.symbols("S g", positive=True)
    return {"smallest": [sp.Rational("6.10e-5") / 1024],
            "g.grad": [sp.diff(S * g, g).subs(S, 1024)]}


def numbers(text):
    return [sp.Rational(t) for t in text.strip("[]").split(", ")]


def close(a, b, atol):
    """Whether |a - b| <= atol: where atol is tiny, only as an identity."""
    d = sp.simplify(a - b)
    if d == 0:
        return True
    return not d.free_symbols and bool(sp.Abs(d.evalf(60)) <= atol)


def verdict(expectation, values):
    m = re.fullmatch(r"(\S+) (?:close to|=) ([^(]+?)(?: \(atol (\S+), rtol 0\))?",
                     expectation)
    subject, other, atol = m.groups()
    a = values[subject]
    b = values[other] if other in values else numbers(other)
    return len(a) == len(b) and all(
        close(x, y, sp.Rational(atol or 0)) for x, y in zip(a, b))


def main():
    with open(sys.argv[1]) as f:
        config = f.read()
    with open(sys.argv[2]) as f:
        result = json.load(f)
    values = {"network": network(), "coefficients": coefficients(config),
              "workers": {**workers(config, "V"), **workers(config, "U")},
              "threshold": threshold()}
    words, agree, seen = {True: "holds", False: "fails"}, True, set()
    for e in result["expectations"]:
        claim = re.match(r"claim (\d)", e["why"])
        if not claim:
            continue
        ours = e["outcome"] == "passed"
        theirs = verdict(e["expectation"], values[e["stage"]])
        print(f"claim {claim[1]}: {e['expectation']}: {words[ours]}, "
              f"by algebra it {words[theirs]}")
        agree = agree and ours == theirs
        seen.add(claim[1])
    return 0 if agree and seen == set("1234") else 1


sys.exit(main())
