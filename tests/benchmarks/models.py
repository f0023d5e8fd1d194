"""Networks with random weights as ONNX files and as programs of ``torch.export``.

    python -m tests.benchmarks.models FOLDER NAME:BATCH ...

writes ``NAME-BATCH.onnx`` and ``.pt2``, and ``NAME-BATCH-fp16`` of the same network with float16
weights and inputs. Needs torch, torchvision, transformers and onnxscript.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["export"]

VISION = ("resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "vit_b_16")
VOCABULARY, SEQUENCE = 30522, 128


def network(name: str) -> tuple[Any, Callable[[int], tuple[Any, ...]]]:
    """A network, the same each time, and what makes inputs of a batch size for it."""
    import torch

    torch.manual_seed(0)
    if name == "mlp":
        layers = (
            *(torch.nn.Linear(784, 512), torch.nn.ReLU()),
            *(torch.nn.Linear(512, 512), torch.nn.ReLU()),
            torch.nn.Linear(512, 10),
        )
        return torch.nn.Sequential(*layers).eval(), lambda n: (torch.randn(n, 784),)
    if name in VISION:
        return _vision(name), lambda n: (torch.randn(n, 3, 224, 224),)
    if name == "minilm":
        return _sentence_encoder(), lambda n: (
            torch.randint(0, VOCABULARY, (n, SEQUENCE)),
            torch.ones(n, SEQUENCE, dtype=torch.int64),
        )
    raise ValueError(f"there is no network {name!r}")


def _vision(name: str) -> Any:
    """One of torchvision's, with statistics and a head that are not all ones or zeros."""
    import torch
    import torchvision

    made = getattr(torchvision.models, name)(weights=None).eval()
    generator = torch.Generator().manual_seed(1)
    for module in made.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1, generator=generator)
            module.running_var.uniform_(0.5, 1.5, generator=generator)
    if name == "vit_b_16":
        torch.nn.init.normal_(made.heads.head.weight, std=0.02, generator=generator)
    return made


def _sentence_encoder() -> Any:
    """BERT of MiniLM's size: 6 layers of 384, without a pooling layer."""
    import torch
    from transformers import BertConfig, BertModel

    class Encoder(torch.nn.Module):  # type: ignore[misc]  # it ships no types
        def __init__(self) -> None:
            super().__init__()
            config = BertConfig(
                vocab_size=VOCABULARY,
                hidden_size=384,
                num_hidden_layers=6,
                num_attention_heads=12,
                intermediate_size=1536,
            )
            self.bert = BertModel(config, add_pooling_layer=False)

        def forward(self, ids: Any, mask: Any) -> Any:
            return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state

    return Encoder().eval()


def export(name: str, batch_size: int, folder: Path, *, half: bool) -> Path:
    """Write a network of a batch size both ways.

    Returns:
        Path of the ONNX file; the program has the suffix ``.pt2``.
    """
    import torch

    module, make_inputs = network(name)
    inputs = make_inputs(batch_size)
    if half:
        module = module.half()
        inputs = tuple(x.half() if x.is_floating_point() else x for x in inputs)
    path = folder / f"{name}-{batch_size}{'-fp16' if half else ''}.onnx"
    with torch.inference_mode():
        program = torch.export.export(module, inputs)
        torch.export.save(program, path.with_suffix(".pt2"))
        torch.onnx.export(
            program, inputs, path, dynamo=True, verbose=False, external_data=False, opset_version=18
        )
    return path


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for row in sys.argv[2:]:
        model, _, size = row.partition(":")
        for is_half in (False, True):
            sys.stdout.write(f"{export(model, int(size or 1), target, half=is_half)}\n")
            sys.stdout.flush()
