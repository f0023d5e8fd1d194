"""Operators that move elements, and those that look at shapes."""

from __future__ import annotations

import numpy as np

from tests.api.builders import add_weights, build, normal
from tests.cases.trap import Made, counting, floats, trap


@trap("iree-org/iree#24179")
def depth_to_space_crd_block3() -> Made:
    """Mode CRD was wrong for block sizes above 2."""
    model = build(
        "(float[1,18,2,1] x) => (float[a,b,c,d] y, float[e,f,g,h] z)",
        'y = DepthToSpace <blocksize = 3, mode = "CRD"> (x)'
        'z = DepthToSpace <blocksize = 3, mode = "DCR"> (x)',
    )
    x = counting(1, 18, 2, 1)
    crd, dcr = np.empty((2, 1, 2, 6, 3), np.float32)
    for channel, down, across, row in np.ndindex(2, 3, 3, 2):
        crd[0, channel, 3 * row + down, across] = x[0, channel * 9 + down * 3 + across, row, 0]
        dcr[0, channel, 3 * row + down, across] = x[0, (down * 3 + across) * 2 + channel, row, 0]
    return model, {"x": x}, [crd, dcr]


@trap("iree-org/iree#24584")
def slice_negative_step() -> Made:
    """A negative step was off by one."""
    bounds = [(9, 0, -1), (5, 0, -1), (9, 0, -3), (-1, -11, -4), (7, 2, -2)]
    names = [f"y{i}" for i in range(len(bounds))]
    weights = {
        f"{part}{i}": np.array([number])
        for i, bound in enumerate(bounds)
        for part, number in zip("bes", bound, strict=True)
    }
    model = build(
        f"(float[10] x) => ({', '.join(f'float[n{i}] y{i}' for i in range(len(names)))})",
        " ".join(f"y{i} = Slice (x, b{i}, e{i}, axes, s{i})" for i in range(len(names))),
        axes=np.array([0]),
    )
    add_weights(model, **weights)
    right = [[9, 8, 7, 6, 5, 4, 3, 2, 1], [5, 4, 3, 2, 1], [9, 6, 3], [9, 5, 1], [7, 5, 3]]
    return model, {"x": counting(10)}, [floats(*row) for row in right]


@trap("apache/tvm#19436")
def gather_negative_index() -> Made:
    """Negative indices were read out of bounds."""
    model = build(
        "(float[3,4] x, int64[3] i, int32[1,2] k) => (float[a,b] y, float[c,d,e] z)",
        "y = Gather <axis = 1> (x, i) z = Gather <axis = 0> (x, k)",
    )
    x = counting(3, 4) + 1
    inputs = {"x": x, "i": np.array([-1, 0, -4]), "k": np.array([[-2, 2]], np.int32)}
    return model, inputs, [x[:, [3, 0, 0]], x[[[1, 2]]]]


@trap("onnx/onnx-mlir#3611")
def scatter_nd_add_duplicates() -> Made:
    """Negative indices, and duplicates that add up."""
    model = build(
        "(float[2,3] x, int64[3,2] i, float[3] u) => (float[a,b] y)",
        'y = ScatterND <reduction = "add"> (x, i, u)',
        opset=18,
    )
    inputs = {
        "x": np.zeros((2, 3), np.float32),
        "i": np.array([[0, -1], [1, 0], [-2, 2]]),
        "u": floats(1, 2, 3),
    }
    return model, inputs, [floats([0, 0, 4], [2, 0, 0])]


@trap("tracel-ai/burn-onnx#487")
def scatter_elements_negative_axis() -> Made:
    """Negative indices and a negative axis, with duplicates that add up."""
    model = build(
        "(float[3,3] x, int64[3,2] i, float[3,2] u) => (float[a,b] y)",
        'y = ScatterElements <axis = -1, reduction = "add"> (x, i, u)',
        opset=18,
    )
    x, u = counting(3, 3) + 1, normal(1, 3, 2)
    i = np.array([[-1, 0], [1, 1], [-3, 2]])
    y = x.astype(np.float64)
    for row, column in np.ndindex(3, 2):
        y[row, i[row, column] % 3] += u[row, column]
    return model, {"x": x, "i": i, "u": u}, [y.astype(np.float32)]


@trap("onnx/onnx#3501", "NervanaSystems/ngraph#2710")
def topk_ties() -> Made:
    """Of equal values the lower index comes first, for the largest and the smallest alike."""
    model = build(
        "(float[1,6] x) => (float[a,b] v, int64[c,d] i, float[e,f] w, int64[g,h] j)",
        "v, i = TopK <largest = 1> (x, k) w, j = TopK <largest = 0> (x, k)",
        k=np.array([4]),
    )
    right = [floats([3, 3, 3, 2]), np.array([[0, 2, 4, 3]])]
    right += [floats([1, 1, 2, 3]), np.array([[1, 5, 3, 0]])]
    return model, {"x": floats([3, 1, 3, 2, 3, 1])}, right


@trap("microsoft/onnxruntime#32013", "PINTO0309/onnx2tf#538")
def trilu_far_diagonal() -> Made:
    """A diagonal beyond the matrix leaves nothing or everything, at the ends of int64 too."""
    far = (5, -5, 2**63 - 1, -(2**63))
    count = 2 * len(far)
    model = build(
        f"(int64[2,2,3] x) => ({', '.join(f'int64[2,2,3] y{i}' for i in range(count))},"
        " int64[2,2,3] z)",
        " ".join(f"y{i} = Trilu <upper = {i % 2}> (x, k{i // 2})" for i in range(count))
        + " z = Trilu <upper = 0> (x, near)",
        near=np.array(-1),
    )
    add_weights(model, **{f"k{i}": np.array(k) for i, k in enumerate(far)})
    x = np.arange(1, 13).reshape(2, 2, 3)
    nothing = np.zeros_like(x)
    right = [x, nothing, nothing, x] * 2  # lower, upper; far above, far below
    below = np.array([[[0, 0, 0], [4, 0, 0]], [[0, 0, 0], [10, 0, 0]]])
    return model, {"x": x}, [*right, below]


@trap("microsoft/onnxruntime#2433", "robertknight/rten#1406")
def pad_negative() -> Made:
    """Negative pads crop, beside positive ones in the same call."""
    model = build(
        "(float[2,5] x) => (float[a,b] y)",
        "y = Pad (x, p, c)",
        p=np.array([1, -2, 0, 3]),
        c=np.array(9, np.float32),
    )
    right = floats([9, 9, 9, 9, 9, 9], [3, 4, 5, 9, 9, 9], [8, 9, 10, 9, 9, 9])
    return model, {"x": counting(2, 5) + 1}, [right]


@trap("apache/tvm#18751", "onnx/onnx#5766")
def split_uneven() -> Made:
    """``num_outputs`` that does not divide: the last part is the smaller one."""
    model = build(
        "(float[10,2] x) => (float[a,b] p, float[c,d] q, float[e,f] r)",
        "p, q, r = Split <num_outputs = 3> (x)",
        opset=18,
    )
    x = counting(10, 2)
    return model, {"x": x}, [x[:4], x[4:8], x[8:]]


@trap("microsoft/onnxruntime#15203")
def reshape_zero_copies() -> Made:
    """A 0 copies the size at its own position, before -1 is worked out."""
    model = build(
        "(float[2,2,3,2] x) => (float[a,b,c] y, float[d,e] z)",
        "y = Reshape (x, s) z = Reshape (x, t)",
        s=np.array([-1, 0, 0]),
        t=np.array([0, -1]),
    )
    x = counting(2, 2, 3, 2)
    return model, {"x": x}, [x.reshape(4, 2, 3), x.reshape(2, 12)]
