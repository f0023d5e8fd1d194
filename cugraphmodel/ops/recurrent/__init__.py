"""Recurrent layers: LSTM, GRU, RNN."""

from cugraphmodel.ops.recurrent import recurrent as recurrent
