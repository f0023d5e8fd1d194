"""Random equations of Einsum against NumPy, and what it refuses."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from cugraphmodel.executors import open_device
from cugraphmodel.ir import Node, Value
from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.linalg.equation import read_equation
from cugraphmodel.ops.spec import Unsupported, find
from tests.ops import harness


@st.composite
def equations(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    """An equation of up to four operands over up to four labels, and shapes that fit it."""
    labels = draw(st.sampled_from(["ab", "abc", "bAdc"]))
    sizes = {label: draw(st.integers(1, 4)) for label in labels}
    terms = draw(st.lists(st.text(labels, max_size=3), min_size=1, max_size=4))
    present = sorted(set("".join(terms)))
    output = "".join(draw(st.lists(st.sampled_from(present), unique=True))) if present else ""
    shapes = [tuple(sizes[label] for label in term) for term in terms]
    arrow = draw(st.booleans())
    return ",".join(terms) + (f"->{output}" if arrow else ""), shapes


@given(equations(), st.sampled_from(["float32", "int32"]))
def test_random_equations_agree_with_numpy(
    equation: tuple[str, list[tuple[int, ...]]], dtype: str
) -> None:
    text, shapes = equation
    inputs = [OpCase.random(seed, *shape, dtype=dtype) for seed, shape in enumerate(shapes)]
    wide = [array.astype(np.float64 if dtype == "float32" else np.int64) for array in inputs]
    case = OpCase("random", "Einsum", inputs, {"equation": text})
    (got,) = harness.run(case, open_device("cpu"))
    right = np.asarray(np.einsum(text, *wide))
    of_magnitudes = np.asarray(np.einsum(text, *map(np.abs, wide)))
    assert got.shape == right.shape
    bound = 1e-6 * of_magnitudes if dtype == "float32" else 0
    assert (np.abs(got - right) <= bound).all()


@pytest.mark.parametrize(
    ("text", "shapes", "part"),
    [
        ("ij,jk", [(2, 3)], "2 operands; got 1"),
        ("ij->ik", [(2, 3)], "or a new one"),
        ("ij->ii", [(2, 3)], "a label twice"),
        ("ij,jk", [(2, 3), (4, 5)], "'j' stands for sizes 3 and 4"),
        ("ij", [(2, 3, 4)], "does not fit 3 dimensions"),
        ("ijk", [(2, 3)], "does not fit 2 dimensions"),
        ("i1->i", [(2, 3)], "more than letters"),
        ("...i...", [(2, 3)], "more than letters"),
    ],
)
def test_what_is_no_equation_is_refused(
    text: str, shapes: list[tuple[int, ...]], part: str
) -> None:
    with pytest.raises(Unsupported, match=part):
        read_equation(text, shapes)


def test_operands_are_contracted_in_the_order_that_multiplies_least() -> None:
    spec = find("", "Einsum", 12)
    assert spec is not None
    values = [
        Value(np.dtype("float32"), shape, name)
        for name, shape in (("a", (500, 2)), ("b", (2, 500)), ("c", (500, 2)))
    ]
    node = Node("Einsum", ("a", "b", "c"), ("y",), attributes={"equation": "ij,jk,kl->il"})
    (inferred,) = spec.infer(node, values)
    first, *_ = spec.lower(node, values, [Value(inferred.dtype, inferred.shape, "y")])
    assert values[1] in first.args
    assert values[2] in first.args
