"""A classifier of handwritten digits, trained by ``train.py``, with images it has not seen.

``digits.onnx`` maps ``image`` float32 (batch, 1, 8, 8), ink from 0 to 16, to ``probabilities``
float32 (batch, 10). ``digits.npz`` holds ``images`` uint8 (360, 8, 8) and ``labels`` uint8 (360,).
The images are a selection, in another file format, from E. Alpaydin and C. Kaynak, "Optical
Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998, CC BY 4.0.
"""
