"""Cases of Carry."""

from __future__ import annotations

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]


def _case(
    name: str, *shapes: tuple[int, ...], dtypes: str = "float32", **attributes: int
) -> OpCase:
    return OpCase(
        name,
        "Carry",
        [
            OpCase.random(seed, *shape, dtype=dtype)
            for seed, (shape, dtype) in enumerate(
                zip(shapes, dtypes.split() * len(shapes), strict=False)
            )
        ],
        attributes,
        1,
        num_outputs=len(shapes),
        domain="cugraphmodel",
        expected=lambda *arrays: arrays,
    )


CASES = [
    _case("one_byte", (1,), dtypes="uint8"),
    _case("tail", (3, 7), dtypes="int16"),
    _case("more_than_a_block", (2100,), (5,), unless_error=1),
    _case("five", (1,), (2, 3), (0,), (17,), (4, 4), (), dtypes="float32 float64 bool"),
]
