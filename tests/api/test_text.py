"""What objects say of themselves, and the names that are public."""

from __future__ import annotations

import html.parser
import inspect

import cugraphmodel
from cugraphmodel import errors
from tests.api.builders import build, relu


class Checker(html.parser.HTMLParser):
    """Collects text; fails on a tag that is closed without having been opened last."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def text_of(source: str) -> str:
    checker = Checker()
    checker.feed(source)
    checker.close()
    assert checker.open == []
    return checker.text


def test_repr_of_a_model_and_a_graph(device: str) -> None:
    model = cugraphmodel.load(relu(), device=device)
    assert "LoadedModel" in repr(model)
    assert "x: float32[N, 4]" in repr(model)
    with model.capture_graph(2) as graph:
        text = repr(graph)
        for part in ("CudaGraphModel", graph.device, "fp32", "x: float32[2,4]", "y: float32[2,4]"):
            assert part in text
        assert "1 kernels" in text


def test_html_shows_the_same_and_escapes_names(device: str) -> None:
    proto = build("(float[N,4] x) => (float[N,4] y)", "y = Relu(x)")
    proto.graph.node[0].input[0] = proto.graph.input[0].name = "<img>&"
    model = cugraphmodel.load(proto, device=device)
    assert "<img>&: float32[N, 4]" in text_of(model._repr_html_())
    with model.capture_graph(2) as graph:
        shown = text_of(graph._repr_html_())
    for part in ("<img>&", "float32", "[2, 4]", "fp32", "arena_bytes"):
        assert part in shown


def test_memory_is_told_before_and_after(device: str) -> None:
    with cugraphmodel.load(relu(), device=device).capture_graph(2) as graph:
        assert graph.memory["staging_bytes"] >= 2 * 2 * 4 * 4
        assert set(graph.memory) == {"weight_bytes", "arena_bytes", "staging_bytes"}
        assert graph.num_kernels == 1


def test_public_names_exist_and_are_documented() -> None:
    for name in cugraphmodel.__all__:
        public = getattr(cugraphmodel, name)
        assert name in dir(cugraphmodel)
        if name != "__version__":
            assert inspect.getdoc(public)
    assert cugraphmodel.errors is errors


def test_every_error_is_ours_and_a_builtin() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        if name in ("CuGraphModelError", "NodeProblem"):
            continue
        assert issubclass(kind, errors.CuGraphModelError)
        builtins = (ValueError, TypeError, IndexError, RuntimeError, MemoryError)
        assert issubclass(kind, builtins), name
        assert inspect.getdoc(kind)


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    assert not hasattr(cugraphmodel, "nothing")
