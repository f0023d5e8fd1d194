"""Steps of training: Adagrad, Adam and Momentum."""

from cugraphmodel.ops.training import optimizers as optimizers
