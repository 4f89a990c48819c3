"""PATE-GAN, Table 4: how many teachers, from N/10 to N/10000, on credit."""

from __future__ import annotations

from understudy.benchmarks.declare import Benchmark, Part, Size
from understudy.benchmarks.quoting import HOW, quote
from understudy.benchmarks.synthetic import part

SHARES = (10, 50, 100, 500, 1000, 5000, 10_000)
_QUICK = (100, 1000)


def _name(share: int) -> str:
    return f"credit: pategan, N/{share} teachers"


def parts(size: Size, repeats: int) -> list[Part]:
    shares = _QUICK if size == "quick" else SHARES
    return [part("credit", "pategan", size, repeats, name=_name(share), teachers_share=share) for share in shares]


BENCHMARK = Benchmark(
    id="pategan-4",
    title="PATE-GAN, Table 4: the number of teachers",
    paper="PATE-GAN (ICLR 2019), Table 4",
    datasets=("credit",),
    repeats={"quick": 1, "full": 1},
    parts=parts,
    quotes=tuple(
        quote(
            "Table 4: mean over the classifiers by number of teachers", "credit", "pategan", metric,
            row=f"N/{share} teachers", part=_name(share),
        )
        for share in SHARES
        for metric in ("auroc", "auprc")
    ),
    notes=(*HOW, "The cells of the paper's Table 4 did not survive in the copy at hand: there is no figure to compare with."),
)  # fmt: skip
