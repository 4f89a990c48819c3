"""docs/results.md: what a reader wants first. Each paper's printed figure, our run of its method, and the best of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks import moments
from benchmarks.methods import DISTILLERS, label
from benchmarks.pages.method_tables import SETS
from benchmarks.result import Results, Row, brief, select

HEAD = """# Results

Made by `python -m benchmarks document`, from the files in `benchmarks/results/`; do not edit. Every table with its command,
one click deeper: {pages}. Other people's programs beside ours: [comparison](comparison.md); how
useful and how like the real rows, on twelve further tables: [usefulness and likeness](results/likeness.md).

ε **unconditional** holds for every dataset, and is what a budget enforces. ε **data-dependent** is what the papers on PATE report; it is
itself private, and shown only because these datasets are public. Where one of the two stands alone it is the unconditional one.
"Without privacy" is the same task on the real records. A figure of ours that a paper's table lacks is from our own
([moments](methods/moments.md), [one look](methods/one-look.md)).

"""


@dataclass(frozen=True)
class Headline:
    """One line: a table of a result, the row that has the paper's figure, those that are ours, and the one without privacy.

    `again` names the row that is the paper's method run here, where it is not the printed one; `says` what the paper's method
    and ours are called, where the rows do not say it.
    """

    task: str
    page: str
    result: str
    table: str
    metric: str
    printed: str
    ours: tuple[str, ...]
    ceiling: str
    again: str | None = None
    says: tuple[str, str] | None = None


_TABLES = (label("moments"), label("dpkip, moments start"))
_IMAGES = tuple(f"{DISTILLERS[name]}, epsilon 1" for name in ("dpkip-warm", "one-look"))
HEADLINES = (
    Headline(
        "adult, a classifier by 250 teachers: accuracy", "pate", "pate-adult", "Accuracy on adult", "accuracy",
        "Confident-GNMax, 1000 labels", ("GNMax, 1000 labels", "Confident-GNMax, 1000 labels"),
        "the student on all real labels",
    ),
    Headline(
        "Pima diabetes, a classifier: accuracy", "pate", "pima", "Best PATE at epsilon 2.16, delta 1e-5", "accuracy",
        "honest PATE (thesis: 5 teachers, one run)", ("honest PATE (thesis: 5 teachers, one run)",),
        "the same setting without privacy", again="5 teachers, T 89, gamma 0.022",
        says=("PATE, 5 teachers, one run", "a teacher a row (ours)"),
    ),
    *(
        Headline(
            f"{name}, synthetic rows: AUROC of twelve classifiers", "pategan", "pategan-2", f"Table 2, {name}", "AUROC",
            label("pategan"), (label("moments"),), label("real"),
        )
        for name in ("credit", "cervical", "epileptic", "isolet")
    ),
    Headline(
        "credit, synthetic rows: AUROC of G-PATE's four classifiers", "gpate", "gpate-1", "Table 1, averages", "AUROC",
        label("gpate"), (label("moments"),), label("real"),
    ),
    *(
        Headline(
            f"{shown}, {n} distilled images a class: accuracy of kernel regression", "dpkip", "dpkip-images",
            f"Table 1, {name}, {n} a class", "accuracy", "DP-KIP, epsilon 1", _IMAGES, DISTILLERS["kip"],
        )
        for name, shown in SETS.items()
        for n in (10, 50)
    ),
    *(
        Headline(
            f"{shown}, 20 distilled images a class: accuracy of a ConvNet", "dpkip", "dpkip-2",
            f"Table 2, {name}, 20 a class", "accuracy", "DP-KIP, epsilon 1", _IMAGES, DISTILLERS["kip"],
        )
        for name, shown in SETS.items()
    ),
    *(
        Headline(
            f"{name}, DP-KIP's Table 3: {metric} of twelve classifiers", "dpkip", "dpkip-3", f"Table 3, {name}", metric,
            label("dpkip"), _TABLES, label("real"),
        )
        for name, metric in {
            "adult": "AUROC", "census": "AUROC", "cervical": "AUROC", "credit": "AUROC", "epileptic": "AUROC",
            "isolet": "AUROC", "covtype": "F1", "intrusion": "F1",
        }.items()
    ),
)  # fmt: skip


def summary_page(results: Mapping[str, Results], pages: Mapping[str, str]) -> str:
    """`results` are the full ones by id; `pages` the links to what is one click deeper."""
    heads = ["", "the paper prints", "at ε", "its method here", "ε", "our best", "ε", "without privacy"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    lines += [line for one in HEADLINES if one.result in results and (line := _line(one, results)) is not None]
    links = ", ".join(f"[{title}](results/{page}.md)" for page, title in pages.items())
    return "\n".join([HEAD.format(pages=links).rstrip(), "", *lines, "", *_ours(results)])


def _line(one: Headline, results: Mapping[str, Results]) -> str | None:
    every = list(select(results[one.result].table("rows"), metric=one.metric))
    rows = list(select(every, table=one.table))
    printed = next(select(rows, row=one.printed), None)
    if printed is None or printed["paper"] is None:
        return None
    again = next(select(every, row=one.again), None) if one.again else printed
    measured = [row for row in rows if row["mean"] is not None]
    measured += _elsewhere(one, results, {row["row"] for row in measured})
    best = max((row for row in measured if row["row"] in one.ours), key=lambda row: row["mean"], default=None)
    ceiling = next(select(measured, row=one.ceiling), None)
    paper, ours = one.says or (printed["row"], best["row"] if best else "")
    cells = [
        f"[{one.task}](results/{one.page}.md)",
        f"{paper}: {brief(printed['paper'])}".replace(", epsilon 1", ""),
        _epsilon(printed.get("paper_epsilon") or 1.0),
        _measured(again) + _few(again or {}),
        _both(again),
        "–" if best is None else f"{ours}: **{brief(best['mean'])}**{_few(best)}".replace(", epsilon 1", ""),
        _both(best),
        _measured(ceiling),
    ]
    return "| " + " | ".join(cells) + " |"


def _elsewhere(one: Headline, results: Mapping[str, Results], known: set[str]) -> list[Row]:
    """Rows that a table lacks and another result has: moments on all tables, and one look for images, at epsilon 1."""
    dataset, found = one.table.split(", ")[-1], list[Row]()
    if "moments" in results and dataset in moments.DATASETS:
        metric = one.metric.lower()
        for row in select(results["moments"].table("summary"), dataset=dataset, panel="twelve"):
            name = {"real": label("real"), 1.0: label("moments")}.get(row["epsilon"])
            found += (
                [{"row": name, "mean": row[metric], "epsilon": 1.0 if row["epsilon"] == 1.0 else None}] if name else []
            )
    if "one-look" in results and one.result.startswith("dpkip-") and " a class" in one.table:
        _, dataset, size = one.table.removesuffix(" a class").split(", ")
        learner = "ConvNet" if one.result == "dpkip-2" else "KRR"
        wanted = {"part": "ours", "dataset": dataset, "epsilon": 1.0, "learner": learner, "per_class": int(size)}
        looks = select(results["one-look"].table("summary"), **wanted)
        found += [{"row": _IMAGES[1], "mean": row["mean"], "epsilon": 1.0} for row in looks]
    return [row for row in found if row["row"] not in known]


def _ours(results: Mapping[str, Results]) -> list[str]:
    """Figures that no paper prints beside."""
    lines: list[str] = []
    if "moments" in results:
        found = results["moments"].table("summary")
        for row in select(found, epsilon=1.0, panel="five"):
            many = row["dataset"] in moments.MANY_CLASSES
            key, said = ("weighted_f1", "weighted F1") if many else ("auroc", "AUROC")
            real = next(select(found, dataset=row["dataset"], epsilon="real", panel="five"))
            what = f"{row['dataset']}, synthetic rows by moments: {said} of five classifiers"
            lines.append(f"| {what} | **{row[key]:.3f}** | {real[key]:.3f} |")
    if "images" in results:
        lines += [
            f"| {SETS[row['data']]}, synthetic images: accuracy of a ConvNet | **{row['mean']:.3f}** | not measured |"
            for row in select(results["images"].table("summary"), epsilon=1.0)
        ]
    head = [
        "## Ours alone",
        "",
        "At an unconditional ε of 1 ([moments](methods/moments.md), [images](methods/image-moments.md)):",
        "",
    ]
    return [*head, "| | ours | without privacy |", "|---|---|---|", *lines, ""] if lines else []


def _few(row: Row) -> str:
    return " (one run)" if row.get("repeats") == 1 else ""


def _both(row: Row | None) -> str:
    """Unconditional, and data-dependent where there is one."""
    if row is None or row.get("epsilon") is None:
        return ""
    seen = row.get("data_dependent")
    return _epsilon(row["epsilon"]) + ("" if seen is None else f" / {_epsilon(seen)}")


def _measured(row: Row | None) -> str:
    if row is None or row["mean"] is None:
        return "–"
    return brief(row["mean"]) + (" *(unsafe)*" if row.get("unsafe") and row.get("epsilon") is not None else "")


def _epsilon(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
