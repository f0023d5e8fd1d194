"""Recurrent layers: LSTM, GRU, RNN."""

from cugraphmodel.ops.recurrent import quantized_lstm as quantized_lstm
from cugraphmodel.ops.recurrent import recurrent as recurrent
