"""The pages of the documentation as text, and what is written in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"


def pages() -> list[Path]:
    """Every page that is written by hand."""
    return sorted(path for path in DOCS.rglob("*.md") if "generated" not in path.parts)


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def said(*folders: str) -> str:
    """The text of pages, with single spaces, so that a sentence may be broken anywhere."""
    chosen = [p for p in pages() if not folders or p.relative_to(DOCS).parts[0] in folders]
    return " ".join(" ".join(p.read_text(encoding="utf-8").split()) for p in chosen)
