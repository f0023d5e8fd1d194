"""Index data out of range is an error for whatever kernel takes it for a place.

Gather, Scatter and their kin are tested in ``test_movement.py``.
"""

from __future__ import annotations

import numpy as np
import pytest

from cugraphmodel.errors import DataIndexError
from cugraphmodel.executors.base import Device
from cugraphmodel.ops.case import OpCase
from tests.ops import harness


def _roi_align(image: int) -> OpCase:
    inputs = [OpCase.random(1, 2, 1, 4, 4), np.ones((1, 4), np.float32), np.array([image])]
    return OpCase(f"image_{image}", "RoiAlign", inputs, opset=16)


def _max_roi_pool(image: int) -> OpCase:
    region = np.array([[image, 0, 0, 2, 2]], np.float32)
    attributes = {"pooled_shape": [1, 1]}
    return OpCase(
        f"image_{image}", "MaxRoiPool", [OpCase.random(1, 2, 1, 4, 4), region], attributes
    )


def _max_unpool(place: int) -> OpCase:
    inputs = [OpCase.random(1, 1, 1, 1, 2), np.array([[[[0, place]]]])]
    attributes = {"kernel_shape": [1, 2], "strides": [1, 2]}
    return OpCase(f"place_{place}", "MaxUnpool", inputs, attributes)


def _tensor_scatter(start: int) -> OpCase:
    inputs = [OpCase.random(1, 1, 4, 2), OpCase.random(2, 1, 2, 2), np.array([start])]
    return OpCase(f"start_{start}", "TensorScatter", inputs, opset=24)


@pytest.mark.parametrize(
    "case",
    [
        *(make(bad) for make in (_roi_align, _max_roi_pool) for bad in (-1, 2)),
        *(_max_unpool(bad) for bad in (-1, 4)),
        *(_tensor_scatter(bad) for bad in (-1, 3)),
    ],
    ids=str,
)
def test_an_index_out_of_range_is_an_error(case: OpCase, opened_device: Device) -> None:
    with harness.prepared(case, opened_device) as executable:
        harness.write_inputs(case, executable, case.inputs)
        with pytest.raises(DataIndexError, match=case.op_type):
            executable.replay()
