"""No clamp changes a user's number unsaid: each is harmless, for the reason named, or warns."""

import re
from pathlib import Path

import workbench

ROOT = Path(workbench.__file__).parent
CLAMP = re.compile(r"clamp(?:_min|_max)?_?\(|\.clip\(|nan_to_num\(|"
                   r"(?:np|torch)\.(?:maximum|minimum)\((?!\.)")
#: Where nothing is computed for a user: drawings, made data, and what repeats a paper.
ELSEWHERE = {"ui", "plots", "datasets", "papers"}

ZERO = "a variance, eigenvalue or distance that only rounding takes below zero"
LOGS = "keeps a logarithm, division or gradient finite; what it stands for is as good as zero"
ENDS = "positions or probabilities that rounding puts past the end"
BOUNDS = "ends of intervals, or bounds, that cannot lie beyond"
SEARCH = "a step or start of a search, not its result"
SIZE = "the larger or smaller of two sizes is what is meant"
#: How many lines of each module clamp, and why that is harmless, or where it is said.
WHY = {
    "bagging/blocks.py": (1, "what lies beyond is counted, and an error unless asked for"),
    "bagging/contiguous.py": (1, "at least one bag a part, as documented"),
    "bagging/individuals.py": (2, ENDS),
    "bagging/merging.py": (1, "trials of zero are looked at beside it"),
    "comparison/rehearsal/summary.py": (3, BOUNDS),
    "comparison/rehearsal/truths.py": (1, ZERO),
    "evaluation/accuracy.py": (1, "Stirling's formula is not used at zero and one"),
    "evaluation/area_scores.py": (2, "p and its spread, as far as so many draws can tell"),
    "evaluation/baselines/given_totals.py": (1, ENDS),
    "evaluation/baselines/glm.py": (1, LOGS),
    "evaluation/baselines/kriging.py": (2, "negative rates: an ApproximationWarning"),
    "evaluation/baselines/shares.py": (4, LOGS),
    "evaluation/calibration.py": (3, BOUNDS),
    "evaluation/conditioning.py": (1, SIZE),
    "evaluation/evidence.py": (1, "no error known is an infinite one"),
    "evaluation/explaining.py": (1, "a mark that sorts first"),
    "evaluation/folding.py": (1, "trials of zero have no positives either"),
    "evaluation/residuals.py": (1, ENDS),
    "evaluation/stacking.py": (1, "the prior's mean, as documented"),
    "geo/nesting.py": (1, "of how many neighbours four can be of one's own area"),
    "geo/coverage.py": (5, "a pixel without weight has none; overlaps and gaps are told; a "
                           "billionth of a pixel is rounding"),
    "geo/cut_areas.py": (1, "ground of an area, which is divided by"),
    "geo/derived.py": (1, ENDS),
    "geo/globe.py": (1, SIZE),
    "geo/grid_areas.py": (1, "edges of cells at a pole"),
    "geo/grids.py": (1, "edges of pixels at a pole"),
    "geo/overlay.py": (2, "coverage in single precision; of two lower bounds the greater"),
    "geo/parent_values.py": (1, SIZE),
    "geo/points.py": (2, ENDS),
    "geo/resampling.py": (1, "the part of a raster that lies on another one"),
    "geo/weighting.py": (1, "pixels without a weight: a DataWarning"),
    "gp/data/compression.py": (1, ENDS),
    "gp/fields/averages.py": (1, "parts of an area are at most its individuals"),
    "gp/data/inputs.py": (3, "extrapolation='clamp', which the user asks for"),
    "gp/expectations/exponentials.py": (2, ZERO),
    "gp/expectations/probabilities.py": (1, LOGS),
    "gp/expectations/samples.py": (2, LOGS),
    "gp/expectations/squares.py": (2, LOGS),
    "gp/fields/collapsed.py": (2, ZERO),
    "gp/fields/residual.py": (8, "correlations estimated beyond -1 to 1, and " + ZERO),
    "gp/inference/coarse.py": (1, "clusters of an area are at most so many"),
    "gp/kernels/bag_gram.py": (1, ZERO),
    "gp/kernels/persistent.py": (1, "a row that is there; what is of another's is zero"),
    "gp/likelihoods/binomial.py": (1, ENDS),
    "gp/likelihoods/continuous.py": (1, LOGS),
    "gp/likelihoods/counts.py": (1, LOGS),
    "gp/likelihoods/effect_quadrature.py": (5, LOGS),
    "gp/likelihoods/links.py": (2, f"{ZERO}; a mean of f as near to a rate as there is"),
    "gp/likelihoods/moments.py": (4, LOGS),
    "gp/likelihoods/odds_quadrature.py": (4, f"{LOGS}; a search between two bounds"),
    "gp/likelihoods/sharing.py": (1, LOGS),
    "gp/likelihoods/variance_functions.py": (1, "a proportion of a part of a trial is none"),
    "gp/models/baselines/scores.py": (1, "Stirling's formula is not used at zero and one"),
    "gp/models/conditional_mean/mediators.py": (3, SIZE),
    "gp/models/conditional_mean/minibatch_bound.py": (1, ENDS),
    "gp/models/exact/closed_form.py": (3, "a mode beyond is a ConvergenceWarning; variances warn"),
    "gp/models/exact/tempered.py": (2, ZERO + ", of which `at` warns"),
    "gp/models/several_sources/base.py": (1, ZERO),
    "gp/models/several_sources/coefficient.py": (1, "a value that the fit goes through"),
    "gp/models/several_sources/gprn.py": (1, ZERO),
    "gp/models/several_sources/magnitude.py": (1, "away from a maximum, which is noted"),
    "gp/models/several_sources/meeting.py": (2, "at least one dimension, and one step"),
    "gp/models/several_sources/mr_gp.py": (2, ZERO),
    "gp/models/several_sources/overlap.py": (1, ENDS),
    "gp/models/several_sources/sandwich.py": (2, "the cap on a source's weight, as documented"),
    "gp/models/several_sources/tree/mixture.py": (2, LOGS),
    "gp/models/several_sources/tree/places.py": (3, ZERO),
    "gp/models/summaries/fit.py": (2, ENDS + "; " + ZERO),
    "gp/models/vbagg/components.py": (1, ZERO),
    "gp/models/vbagg/design.py": (1, "at most so many clusters of an area, as documented"),
    "gp/models/vbagg/diagnosis.py": (1, LOGS),
    "gp/models/vbagg/draws.py": (2, "as of ZERO; steps of a search, not its result"),
    "gp/models/vbagg/effects.py": (4, LOGS),
    "gp/models/vbagg/exploring.py": (2, SEARCH),
    "gp/models/vbagg/fit.py": (1, ZERO),
    "gp/models/vbagg/influence.py": (3, LOGS),
    "gp/models/vbagg/proposal.py": (3, ENDS),
    "gp/models/vbagg/summed_out.py": (3, LOGS),
    "gp/numerics/linalg.py": (4, "is the one place that reports"),
    "gp/numerics/special.py": (7, "arguments of the branch that is not taken, and " + ZERO),
    "gp/optimisation/acceleration.py": (1, SEARCH),
    "gp/optimisation/natural_gradient.py": (1, SEARCH),
    "gp/optimisation/pilot.py": (1, SEARCH),
    "gp/predictive/base.py": (1, LOGS),
    "gp/predictive/distributions.py": (3, LOGS),
    "gp/predictive/mixtures.py": (1, SEARCH),
    "gp/predictive/multiplied.py": (3, LOGS),
    "gp/predictive/probabilities.py": (2, ENDS),
    "granularity/adviser.py": (2, SIZE),
    "granularity/bounds.py": (2, BOUNDS),
    "granularity/cells.py": (1, ZERO),
    "granularity/chi_square.py": (1, "nothing is exceeded below zero"),
    "granularity/points.py": (1, ENDS),
    "labelled/caveats.py": (1, LOGS),
    "labelled/in_parts.py": (1, "a variance of zero, by rounding"),
    "labelled/condensing.py": (1, "squares of shares that add up to one, by rounding"),
    "labelled/noise_of_areas.py": (1, ZERO),
    "labelled/recurring.py": (1, ENDS),
    "labelled/timing.py": (1, "clusters of an area are at most so many"),
    "pipeline/transfer.py": (1, SIZE),
    "preflight/areas.py": (1, SIZE),
    "preflight/covariates.py": (1, LOGS),
    "preflight/totals.py": (1, "no area is counted twice where nobody counted"),
}


def test_every_clamp_is_harmless_or_said():
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        name = file.relative_to(ROOT)
        lines = file.read_text(encoding="utf-8").splitlines()
        count = sum(bool(CLAMP.search(line)) for line in lines)
        if count and name.parts[0] not in ELSEWHERE:
            found[name.as_posix()] = count
    assert found == {name: count for name, (count, _) in WHY.items()}
