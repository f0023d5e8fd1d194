"""Classical machine learning: the operators of ``ai.onnx.ml``, and TfIdfVectorizer."""

from cugraphmodel.ops.ml import features as features
from cugraphmodel.ops.ml import label_encoder as label_encoder
from cugraphmodel.ops.ml import linear as linear
from cugraphmodel.ops.ml import svm as svm
from cugraphmodel.ops.ml import tfidf as tfidf
from cugraphmodel.ops.ml import trees as trees
