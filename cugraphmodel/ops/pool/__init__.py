"""Pools: MaxPool, AveragePool, LpPool and the global ones."""

from cugraphmodel.ops.pool import channels_last as channels_last
from cugraphmodel.ops.pool import global_pool as global_pool
from cugraphmodel.ops.pool import max_unpool as max_unpool
from cugraphmodel.ops.pool import pool as pool
from cugraphmodel.ops.pool import quantized_pool as quantized_pool
