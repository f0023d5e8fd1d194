"""Operators: one folder a family, each registered by the import below."""

from cugraphmodel.ops import attention as attention
from cugraphmodel.ops import conv as conv
from cugraphmodel.ops import elementwise as elementwise
from cugraphmodel.ops import linalg as linalg
from cugraphmodel.ops import matmul as matmul
from cugraphmodel.ops import ml as ml
from cugraphmodel.ops import movement as movement
from cugraphmodel.ops import norm as norm
from cugraphmodel.ops import pool as pool
from cugraphmodel.ops import quantize as quantize
from cugraphmodel.ops import recurrent as recurrent
from cugraphmodel.ops import reduce as reduce
from cugraphmodel.ops import resize as resize
from cugraphmodel.ops import sampling as sampling
from cugraphmodel.ops import select as select
from cugraphmodel.ops import signal as signal
from cugraphmodel.ops import softmax as softmax
from cugraphmodel.ops import squeeze as squeeze
from cugraphmodel.ops import topk as topk
from cugraphmodel.ops import training as training
from cugraphmodel.ops import views as views
