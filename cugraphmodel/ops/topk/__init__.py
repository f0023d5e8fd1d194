"""TopK."""

from cugraphmodel.ops.topk import topk as topk
