"""Matrix products: MatMul, Gemm."""

from cugraphmodel.ops.matmul import block_quantized as block_quantized
from cugraphmodel.ops.matmul import matmul as matmul
from cugraphmodel.ops.matmul import quantized as quantized
