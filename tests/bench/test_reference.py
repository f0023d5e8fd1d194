"""The right answer in float64, and the distance from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper, parser

from cugraphmodel.bench.reference import OnnxReference, OrtReference, error_of, widened
from cugraphmodel.bench.task import Maker, Task
from tests.api.builders import add_weights, affine, affine_steps, normal

X = normal(5, 2, 4)


@pytest.mark.parametrize("maker", [OnnxReference, OrtReference])
def test_it_is_that_of_float64(maker: Maker, tmp_path: Path) -> None:
    path = tmp_path / "affine.onnx"
    path.write_bytes(affine().SerializeToString())
    [got] = maker(Task(str(path), "cpu", {"x": X})).run()
    right = affine_steps(X)[2]
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, right, rtol=1e-14, atol=1e-15)
    assert np.abs(got - right.astype(np.float32)).max() > 1e-10, "not rounded to float32 anywhere"


def test_every_float_is_widened_and_nothing_else() -> None:
    model = parser.parse_model(
        """
        <ir_version: 8, opset_import: ["": 17]>
        g (float16[2] x, int64[2] n, bool p) => (float16[2] y)
        {
            c = Constant<value_float = 0.1>()
            d = Constant<value_floats = [0.5, 0.25]>()
            e = Cast<to = 1>(x)
            k = Cast<to = 1>(n)
            s = Add(e, k)
            t = If(p) <
                then_branch = a () => (float[2] u) { w = Constant<value = float[2] {1, 2}>() u = Mul(s, w) },
                else_branch = b () => (float[2] u) { u = Identity(s) }
            >
            v = Mul(t, d)
            z = Add(v, h)
            q = Mul(z, c)
            y = Cast<to = 10>(q)
        }
        """  # noqa: E501
    )
    add_weights(model, h=normal(1, 2, dtype="float16"), unused=np.arange(3))
    wide = widened(model)
    onnx.checker.check_model(wide, full_check=True)
    kinds = [info.type.tensor_type.elem_type for info in (*wide.graph.input, *wide.graph.output)]
    double, int64 = TensorProto.DOUBLE, TensorProto.INT64
    assert kinds == [double, int64, TensorProto.BOOL, double]
    assert [tensor.data_type for tensor in wide.graph.initializer] == [double, int64]
    np.testing.assert_array_equal(
        numpy_helper.to_array(wide.graph.initializer[0]), normal(1, 2, dtype="float16")
    )
    branch = next(node for node in wide.graph.node if node.op_type == "If").attribute[0].g
    assert branch.node[0].attribute[0].t.data_type == double


def test_error_is_that_of_all_floats_together() -> None:
    right = [np.array([3.0, 0.0]), np.array([1, 2]), np.array([[4.0]])]
    got = [np.array([3.0, 0.3], np.float32), np.array([9, 9]), np.array([[4.4]], np.float16)]
    difference = np.hypot(float(got[0][1]), float(got[2][0, 0]) - 4)
    assert error_of(got, right) == pytest.approx(difference / 5, rel=1e-12)
    assert error_of(right, right) == 0
    assert error_of([np.array([1])], [np.array([1])]) is None
    assert np.isnan(error_of([np.array([np.nan])], [np.array([1.0])]) or 0)
    with pytest.raises(ValueError, match="shape"):
        error_of([np.zeros(3)], [np.zeros((3, 1))])
    with pytest.raises(ValueError, match="argument"):
        error_of([np.zeros(3)] * 2, [np.zeros(3)])
