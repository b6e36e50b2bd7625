"""What the app `compare` shows at once: `python benchmarks/compare_app.py [NAME ...]`.

NAME is the dataset of a stored board (such as country), `engines`, or `papers`; all by default.
Fits that are finished are kept in `build/compare`, so that what was stopped goes on.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from workbench.papers.status.published import published
from workbench.papers.status.results import Results
from workbench.ui.compare import comparing, pairs, stored

KEPT = Path("build", "compare")


def say(share: float, what: str, left: float) -> None:
    if not what.startswith("fitting"):
        print(f"  {100 * share:.0f} % {what}, about {left:.0f} s left",
              flush=True)


def main(names: list[str]) -> None:
    """Make the files again."""
    stored.folder().mkdir(exist_ok=True)
    for setting in stored.BOARDS:
        if not names or setting.dataset in names:
            began = time.perf_counter()
            made = comparing.compute(setting, say, KEPT)
            stored.write_board(made, stored.file_of(setting))
            print(f"{setting.dataset}: {time.perf_counter() - began:.0f} s\n"
                  f"{made.result.attrs['sentence']}")
    for pair in stored.PAIRS:
        if not names or "engines" in names:
            stored.write_pair(pairs.compute(pair), stored.file_of(pair))
    if not names or "papers" in names:
        made = published(Results(stored.folder().parent / "results"))
        made.to_csv(stored.folder() / stored.PAPERS, index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
