"""Writes the table of supported operators into README.md: ``python docs/operators.py``."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import cugraphmodel.ops  # noqa: F401  (registers every operator)
from cugraphmodel.front.fold import FOLDABLE
from cugraphmodel.front.microsoft import COMPOSED
from cugraphmodel.ops.spec import OpSpec, registered

README = Path(__file__).parent.parent / "README.md"
BEGIN = "<!-- operators: begin (python docs/operators.py) -->\n"
END = "<!-- operators: end -->\n"
OWN_DOMAIN = "cugraphmodel"  # what fusion passes make; never in a file
BOUNDED = "Bounded"
# Questions about shapes and stored values are answered by cugraphmodel/front/trace.py.
KNOWN_AT_CAPTURE = FOLDABLE | {"Constant", "Identity", "Shape", "Size"}


def table() -> str:
    """Markdown: one row a family, each operator with the opset it is taken from."""
    families: dict[str, dict[str, int]] = defaultdict(dict)
    for spec in registered():
        if spec.domain == OWN_DOMAIN:
            continue
        name = f"{spec.domain}.{spec.op_type}" if spec.domain else spec.op_type
        families[_family(spec)].setdefault(name, spec.since_version)
    rows = ["| family | operators, each from its opset on |", "|---|---|"]
    for family, operators in sorted(families.items()):
        listed = ", ".join(f"{name} {version}" for name, version in sorted(operators.items()))
        rows.append(f"| {family} | {listed} |")
    composed = sorted(".".join(filter(None, key)) for key in COMPOSED)
    rows.append(f"| written as other operators | {', '.join(composed)} |")
    bounded = ", ".join(
        f"{spec.op_type.removeprefix(BOUNDED)} {spec.since_version}"
        for spec in registered()
        if spec.domain == OWN_DOMAIN and spec.op_type.startswith(BOUNDED)
    )
    rows.append(f"| with `bounded_outputs`, on computed data | {bounded} |")
    run = {spec.op_type for spec in registered()}
    folded = ", ".join(sorted(KNOWN_AT_CAPTURE - run))
    rows.append(f"| only where the result is known at capture | {folded} |")
    return "\n".join(rows) + "\n"


def _family(spec: OpSpec) -> str:
    return spec.infer.__module__.removeprefix("cugraphmodel.ops.").split(".")[0]


def readme_with_table(text: str) -> str:
    """The README with today's table between the two markers."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    README.write_text(readme_with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
