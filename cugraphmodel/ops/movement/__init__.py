"""Operators that move elements without computing with them, and those that make index patterns."""

from cugraphmodel.ops.movement import bit_cast as bit_cast
from cugraphmodel.ops.movement import carry as carry
from cugraphmodel.ops.movement import compress as compress
from cugraphmodel.ops.movement import concat as concat
from cugraphmodel.ops.movement import copies as copies
from cugraphmodel.ops.movement import cumulative as cumulative
from cugraphmodel.ops.movement import fill as fill
from cugraphmodel.ops.movement import gather as gather
from cugraphmodel.ops.movement import pad as pad
from cugraphmodel.ops.movement import patterns as patterns
from cugraphmodel.ops.movement import reverse_sequence as reverse_sequence
from cugraphmodel.ops.movement import scatter as scatter
from cugraphmodel.ops.movement import tensor_scatter as tensor_scatter
