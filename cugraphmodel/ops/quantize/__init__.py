"""Between real numbers and quantised ones, and arithmetic on the latter."""

from cugraphmodel.ops.quantize import dynamic as dynamic
from cugraphmodel.ops.quantize import linear as linear
from cugraphmodel.ops.quantize import pointwise as pointwise
