"""The tables on the pages of the methods, each between its two marks; a test holds that a page has what is made here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks import adversarial, moments
from benchmarks.field_images import EPSILONS
from benchmarks.field_images import PRINTED as PRINTED_FIELD
from benchmarks.methods import label
from benchmarks.result import Row, read, result_path, select
from understudy import registry

SETS = {"mnist": "MNIST", "fashion": "Fashion-MNIST"}
_MARK, _END = "<!-- table: {} -->", "<!-- table: end -->"
# Repeats in small figures, where there are fewer than the whole number.
_SMALL = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    head, *lines = (f"| {' | '.join(cells)} |" for cells in (heads, *rows))
    return [head, "|---" * len(heads) + "|", *lines]


# ---- moments ----


def moments_table(summary: Sequence[Row]) -> list[str]:
    """A row for each table and panel: what was measured at each epsilon, on real rows, and what the papers print."""
    rows: list[list[str]] = []
    for dataset in moments.DATASETS:
        for panel in ("five", "four", "twelve"):
            found = {row["epsilon"]: row for row in select(summary, dataset=dataset, panel=panel)}
            if (ceiling := found.get("real")) is None:
                continue
            cells = [_moments_cell(found.get(epsilon), ceiling) for epsilon in (0.1, 1.0, 10.0)]
            name = "eleven of twelve" if panel == "twelve" and ceiling["classifiers"] == 11 else panel
            papers = moments.PAPERS.get((dataset, panel), {}).items()
            quoted = ", ".join(f"{paper} {' / '.join(f'{v:.3f}' for v in values)}" for paper, values in papers)
            rows.append([dataset, name, *cells, _moments_figures(ceiling), quoted])
    return _table(["table", "panel", "ε = 0.1", "ε = 1", "ε = 10", "real", "papers at ε = 1"], rows)


def _moments_cell(row: Row | None, ceiling: Row) -> str:
    if row is None or row["classifiers"] != ceiling["classifiers"]:
        return "–"
    return _moments_figures(row) + ("" if row["seeds"] >= 5 else f" ({row['seeds']})")


def _moments_figures(row: Row) -> str:
    """AUROC / AUPRC of two classes; weighted F1 and the mean over the classes of more."""
    first, second = ("weighted_f1", "f1") if row["dataset"] in moments.MANY_CLASSES else ("auroc", "auprc")
    half = row.get(f"{first}_half_width")
    return f"{row[first]:.3f}" + ("" if half is None else f" ± {half:.3f}") + f" / {row[second]:.3f}"


# ---- adversarial generators ----


def curves(summary: Sequence[Row], *methods: str) -> list[str]:
    """Mean AUROC and the deviation over seeds; a line for each epsilon, or for each method without one."""
    lines: list[list[str]] = []
    for method in methods:
        mine = list(select(summary, method=label(method)))
        for epsilon in sorted({row["epsilon"] for row in mine}, key=float):
            found = [next(select(mine, dataset=name, epsilon=epsilon), None) for name in adversarial.DATASETS]
            said = label(method) if len(methods) > 1 else "noise next to nothing" if epsilon == "inf" else epsilon
            lines.append([said, *(_curve_cell(row) for row in found)])
    return _table(["" if len(methods) > 1 else "unconditional ε", *adversarial.DATASETS], lines)


def _curve_cell(row: Row | None) -> str:
    if row is None:
        return "–"
    spread = f" ± {row['auroc_deviation']:.3f}" if row["seeds"] > 1 else ""
    return f"{row['auroc']:.3f}{spread}" + ("" if row["seeds"] >= 5 else str(row["seeds"]).translate(_SMALL))


# ---- audits ----


def audits(summary: Sequence[Row]) -> list[str]:
    """What the best attacker proved beside the claim, and what a neighbour moved over what was paid."""
    lines = [
        [
            row["method"] if row["takes"] == "vectors" else f"{row['method']}, {row['takes']}",
            f"{row['epsilon']:g}", f"{row['measured_epsilon']:.2f}", f"{row['claimed_mu']:.3f}", f"{row['measured_mu']:.3f}",
            "" if row["worst_ratio"] is None else f"{row['worst_ratio']:.4f}", f"{row['fits_a_side']:,}",
        ]
        for row in summary
    ]  # fmt: skip
    return _table(["", "ε claimed", "ε proved", "μ claimed", "μ proved", "worst ratio", "fits a side"], lines)


# ---- images ----


def images_final(runs: Sequence[Row]) -> list[str]:
    """Mean over seeds, with the least and the most."""
    known = list(select(runs, part="final"))
    return _table(
        ["test accuracy in per cent", *SETS.values()],
        [
            [f"{what}, ε = {epsilon:g}", *(_spread(r.get(name) for r in select(known, data=d, epsilon=epsilon)) for d in SETS)]
            for epsilon in sorted({row["epsilon"] for row in known})
            for name, what in (("accuracy", "ConvNet on samples"), ("accuracy_of_shares", "the released shares alone"))
        ],
    )  # fmt: skip


def _spread(values: Iterable[float | None]) -> str:
    found = [100 * value for value in values if value is not None]
    if not found:
        return "–"
    if len(found) == 1:
        return f"{found[0]:.1f} (one run)"
    return f"**{np.mean(found):.1f}** ({min(found):.1f} to {max(found):.1f}, {len(found)} runs)"


def images_ablation(runs: Sequence[Row], part: str = "ablation", score: str = "accuracy") -> list[str]:
    """Held-out training images; one line a variant, and how far it is from the recommended one."""
    best_of = "as recommended"
    known = list(select(runs, part=part, epsilon=1.0))
    rows: list[list[str]] = []
    for name in sorted(dict.fromkeys(row["variant"] for row in known), key=lambda name: name != best_of):
        cells = [name]
        for data in SETS:
            mine, best = ([row[score] for row in select(known, data=data, variant=v)] for v in (name, best_of))
            away = f" ({100 * (np.mean(mine) - np.mean(best)):+.1f})" if mine and best and name != best_of else ""
            cells.append(f"{100 * np.mean(mine):.1f}{away}" if mine else "–")
        rows.append(cells)
    return _table(["held-out accuracy in per cent", *SETS.values()], rows)


def images_explored(runs: Sequence[Row]) -> list[str]:
    """How settings were chosen: one line a change, labels as drawn and as the shares say."""
    columns = {
        (data, labels): f"{shown}, labels {said}"
        for data, shown in SETS.items()
        for labels, said in (("drawn", "as drawn"), ("shares", "shares"))
    }
    rows: list[list[str]] = []
    for name in dict.fromkeys(row["changed"] for row in runs):
        found = [next(select(runs, changed=name, data=d, labels=by), None) for d, by in columns]
        rows.append([name, *("–" if row is None else f"{100 * row['accuracy']:.1f}" for row in found)])
    return _table(["held-out accuracy in per cent", *columns.values()], rows)


# ---- DP-KIP ----


def cell(row: Row | None, digits: int, whole: int) -> str:
    """A measured mean, with the number of runs where they are not all there."""
    if row is None or row["mean"] is None:
        return "–"
    return f"{row['mean']:.{digits}f}" + ("" if row["repeats"] >= whole else str(row["repeats"]).translate(_SMALL))


def _paper(row: Row | None, digits: int) -> str:
    return "–" if row is None or row["paper"] is None else f"{row['paper']:.{digits}f}"


def dpkip_images(rows: Sequence[Row], table: int, sizes: tuple[int, ...], whole: int) -> list[str]:
    """Tables 1 and 2: paper beside measured, for KIP and DP-KIP at each epsilon."""
    lines: list[list[str]] = []
    for dataset, shown in SETS.items():
        for size in sizes:
            cells = [shown if size == sizes[0] else "", str(size)]
            for what in ("KIP, not private", "DP-KIP, epsilon 1", "DP-KIP, epsilon 10"):
                row = next(select(rows, table=f"Table {table}, {dataset}, {size} a class", row=what), None)
                cells += [_paper(row, 1), cell(row, 1, whole)]
            lines.append(cells)
    heads = ["KIP, paper", "measured", "DP-KIP ε = 1, paper", "measured", "ε = 10, paper", "measured"]
    return _table(["images a class", "", *heads], lines)


def dpkip_starts(rows: Sequence[Row]) -> list[str]:
    """DP-KIP with and without a start from moments, and one look, at epsilon 1."""
    known = ["DP-KIP, epsilon 1", "DP-KIP from a moments start (ours), epsilon 1", "one look (ours), epsilon 1"]
    lines: list[list[str]] = []
    for dataset, shown in SETS.items():
        for size in (10, 50):
            table = f"Table 1, {dataset}, {size} a class"
            mine = [next(select(rows, table=table, row=what), None) for what in known]
            lines.append([shown, str(size), *(cell(row, 1, 5) for row in mine)])
    return _table(["ε = 1", "images a class", "Gaussian start", "moments start", "one look"], lines)


def dpkip_tables(rows: Sequence[Row]) -> list[str]:
    """Table 3: every table with its own metrics."""
    lines: list[list[str]] = []
    for table, metric in dict.fromkeys((row["table"], row["metric"]) for row in rows):
        mine, warm = (
            next(select(rows, table=table, metric=metric, row=f"{what}, 10 a class"), None)
            for what in ("DP-KIP", "DP-KIP from a moments start (ours)")
        )
        lines.append([table.split(", ")[1], metric, _paper(mine, 3), cell(mine, 3, 5), cell(warm, 3, 5)])
    return _table(["", "", "paper", "measured", "from a moments start"], lines)


# ---- one look ----

# What DP-KIP prints at epsilon 1, MNIST and Fashion-MNIST: Table 1 for kernel ridge regression, Table 2 for a ConvNet.
PRINTED = {("KRR", 10): "87.5, 77.7", ("KRR", 50): "92.7, 78.8", ("ConvNet", 10): "93.5, 87.7", ("ConvNet", 20): "97.8, 88.3"}  # fmt: skip
LINES: dict[tuple[str, int | None, str | None], str] = {
    ("KRR", 10, None): "kernel ridge regression on 10 images a class",
    ("KRR", 50, None): "kernel ridge regression on 50",
    ("ConvNet", 10, "pupils"): "a ConvNet on 10 images a class, labels by pupils",
    ("ConvNet", 20, "pupils"): "a ConvNet on 20",
    ("ConvNet", 50, "pupils"): "a ConvNet on 50",
    ("ConvNet", 50, "teachers"): "a ConvNet on 50, labels by the corrected networks",
    ("ConvNet on samples", None, None): "a ConvNet on all 40,000 samples, first labels",
    ("ConvNet on samples, corrected labels", None, None): "the same, corrected labels",
    ("corrected networks themselves", None, None): "the corrected networks themselves",
}


def one_look_final(summary: Sequence[Row], epsilon: float = 1.0) -> list[str]:
    """Test accuracy, ours: the mean over seeds with the least and the greatest."""
    rows: list[list[str]] = []
    for (learner, size, by), what in LINES.items():
        wanted = {"part": "ours", "epsilon": epsilon, "learner": learner, "per_class": size, "labels_by": by}
        found = [next(select(summary, dataset=data, **wanted), None) for data in SETS]
        if found == [None, None]:
            continue
        printed = PRINTED.get((learner, size or 0), "") if by != "teachers" else ""
        rows.append([what, *map(_runs, found), *([printed] if epsilon == 1 else [])])
    head = f"[test accuracy in per cent](../../benchmarks/results/one-look-full.json), ε = {epsilon:g}"
    return _table([head, *SETS.values(), *(["DP-KIP prints"] if epsilon == 1 else [])], rows)


def train_recipes(summary: Sequence[Row]) -> list[str]:
    """What each trainer reaches from one and the same release."""
    trainers = dict.fromkeys(row["trainer"] for row in summary)
    cells = [[cell({**row, "repeats": row["runs"]}, 1, 3) for row in select(summary, trainer=one)] for one in trainers]
    heads = ["test accuracy in per cent, ε = 1", "MNIST, 20 a class", "Fashion-MNIST, 50 a class"]
    return _table(heads, [[one, *line] for one, line in zip(trainers, cells, strict=True)])


def field_images(rows: Sequence[Row], method: str) -> list[str]:
    """Of DP-KIP's Table 2: what is printed for a method, and what was measured."""
    title, lines = registry.get(method).title, []
    for size in dict.fromkeys(size for name, size, _ in PRINTED_FIELD if name == method):
        each = "" if size is None else f", {size} a class"
        printed = [PRINTED_FIELD[method, size, data][at] for data in SETS for at in (0, 1)]
        found = [
            next(select(rows, table=f"Table 2, {data}", row=f"{title}{each}, epsilon {epsilon:g}"), None)
            for data in SETS
            for epsilon in EPSILONS
        ]
        lines.append([f"printed{each}", *("–" if one is None else f"{one:g}" for one in printed)])
        lines.append([f"ours{each}", *(cell(one, 1, 3) for one in found)])
    heads = [f"{name}, ε = {epsilon:g}" for name in SETS.values() for epsilon in EPSILONS]
    return _table(["test accuracy in per cent, δ = 1e-5", *heads], lines)


def gpate_images(rows: Sequence[Row]) -> list[str]:
    """G-PATE's Table 2: what is printed, and what was measured, with the epsilon that all of it costs."""
    lines: list[list[str]] = []
    for row in (one for one in rows if one["table"] == "Table 2, mnist"):
        both = [row, next(select(rows, table="Table 2, fashion", row=row["row"]))]
        costs = dict.fromkeys(f"{one['epsilon']:.3g}" for one in both if one.get("epsilon") is not None)
        cells = [("" if one["paper"] is None else f"{one['paper']:.3f}", cell(one, 3, 3)) for one in both]
        unsafe = " (unsafe)" if row.get("unsafe") else ""
        lines.append(
            [row["row"] + unsafe, ", ".join(costs) or ("–" if row["mean"] is None else "none"), *cells[0], *cells[1]]
        )
    return _table(["", "unconditional ε", "MNIST, printed", "MNIST", "Fashion, printed", "Fashion"], lines)


def _runs(row: Row | None) -> str:
    if row is None:
        return "–"
    told = "one run" if row["runs"] == 1 else f"{row['low']:.2f} to {row['high']:.2f}, {row['runs']} runs"
    return f"**{row['mean']:.2f}** ({told})"


def one_look_chosen(summary: Sequence[Row]) -> list[str]:
    """Held-out accuracy of what was chosen between with the library itself, at epsilon 1 and one noise seed."""
    rows: list[list[str]] = []
    for row in select(summary, part="choose"):
        how = row.get("what")
        if row["learner"] == "ConvNet":
            mixed = "mixed" if row["mixed"] else "not mixed"
            how = f"labels by {row['labels_by']}, softness {row['softness']:g}, {mixed}"
        elif row["learner"] != "KRR":
            continue
        name = "kernel ridge regression" if row["learner"] == "KRR" else "a ConvNet"
        rows.append([f"{SETS[row['dataset']]}, {name} on {row['per_class']} a class: {how}", f"{row['mean']:.1f}"])
    return _table(["held-out accuracy in per cent", ""], rows)


def verdict_table(summary: Sequence[Row]) -> list[str]:
    """How often each judge was right on tables that no limit was chosen on."""
    rows: list[list[str]] = []
    for row in select(summary, tables="held out"):
        said = [f"{row[f'says_{grade}']} ({row[f'right_when_{grade}']:.0%})" for grade in ("good", "thin", "lost")]
        wrong = [f"{row['good_but_lost']}", f"{row['lost_but_good']}"]
        rows.append([f"`{row['judge']}`", f"{row['releases']}", f"**{row['right']:.0%}**", *said, *wrong])
    heads = ["", "releases", "right", "says good (right)", "thin (right)", "lost (right)"]
    return _table([*heads, "good, but lost", "lost, but good"], rows)


# ---- any table ----

_SCORES = {"auroc": "AUROC", "r2": "R²", "distance": "distance of columns"}


def any_table(summary: Sequence[Row]) -> list[str]:
    """A line for each table: its score without a schema, with one, and that of the real rows."""
    rows: list[list[str]] = []
    at_one = [row for row in summary if row["epsilon"] == 1]
    for none in select(at_one, schema="none"):
        ways = {row["schema"]: row for row in select(at_one, table=none["table"])}
        score = next(name for name in _SCORES if none.get(name) is not None)
        figures = [f"{ways[way][score]:.3f}" if way in ways else "" for way in ("none", "declared", "real rows")]
        sizes = [f"{none['rows']:,.0f}", f"{none['columns']:.0f}", f"{none['not_learnt']:.0f}"]
        rows.append([none["table"], none["target"] or "none", *sizes, _SCORES[score], *figures])
    rows.sort(key=lambda row: -int(row[2].replace(",", "")))
    heads = ["table", "target", "rows", "columns", "left empty", "score", "no schema", "declared schema", "real rows"]
    return _table(heads, rows)


# ---- persons ----


def persons(summary: Sequence[Row]) -> list[str]:
    """A line for each table: what rows of each way are worth, and how far their columns are from the real ones."""
    rows: list[list[str]] = []
    for ours in select(summary, way="person"):
        ways = {row["way"]: row for row in select(summary, table=ours["table"])}
        scores = [f"{ways[way]['auroc']:.3f}" for way in ("person", "naive", "row", "real rows")]
        away = [f"{ways[way]['distance']:.3f}" for way in ("person", "naive", "row")]
        scores[0], away[0] = f"**{scores[0]}**", f"**{away[0]}**"
        sizes = [
            f"{ours['persons']:,.0f}",
            f"{ours['rows']:,.0f}",
            f"{ours['rows_per_person']}",
            f"{ours['epsilon']:g}",
        ]
        rows.append([ours["table"], *sizes, *scores, *away])
    heads = ["table", "persons", "rows", "K", "ε", "AUROC: person", "naive", "row", "real rows"]
    return _table([*heads, "distance: person", "naive", "row"], rows)


def persons_audit(summary: Sequence[Row]) -> list[str]:
    """A line for each method: what a promise for persons was found to be, and one that takes rows for persons."""
    rows: list[list[str]] = []
    for ours in select(summary, way="person"):
        theirs = next(select(summary, way="rows", method=ours["method"]))
        row = [f"`{ours['method']}`"]
        for one in (ours, theirs):
            caught = not (one["ratio_holds"] and one["canaries_hold"])
            row += [
                f"{one['ratio']:.2f}",
                f"{one['measured_epsilon']:.2f}",
                f"{one['measured_mu']:.2f} of {one['claimed_mu']:.2f}",
            ]
            row += ["caught" if caught else "holds"]
        rows.append([*row, f"{ours['fits_a_side']}, {theirs['fits_a_side']}"])
    heads = ["ratio", "ε proved", "μ proved", ""]
    return _table(
        ["method", *(f"{way}: {head}".rstrip(": ") for way in ("person", "rows") for head in heads), "fits a side"],
        rows,
    )


def _nearer(ours: float, other: float) -> str:
    """Two distances, the smaller one bold, or both if they are the same as shown."""
    texts = [f"{ours:.2f}", f"{other:.2f}"]
    return " / ".join(f"**{text}**" if text == min(texts) else text for text in texts)


def visits(summary: Sequence[Row]) -> list[str]:
    """A line for each table and epsilon: what whole persons keep, and rows that are dealt to persons."""
    rows: list[list[str]] = []
    for ours in select(summary, way="visits"):
        other = next(select(summary, table=ours["table"], epsilon=ours["epsilon"], way="rows"))
        sizes = [f"{ours['persons']:,.0f}", f"{ours['rows']:,.0f}", f"{ours['most']}", f"{ours['epsilon']:g}"]
        pairs = [_nearer(float(ours[name]), float(other[name])) for name in ("lag", "gaps", "distance")]
        same = f"**{ours['constant']:.0%}** / {other['constant']:.0%}"
        rows.append([ours["table"], *sizes, f"{ours['rows_per_person']:.2f}", same, *pairs])
    heads = [
        "table",
        "persons",
        "rows",
        "K",
        "ε",
        "rows per person, distance",
        "constants stay",
        "lag-one correlation, error",
    ]
    return _table([*heads, "gaps, distance", "columns, distance"], rows)


def rules_table(summary: Sequence[Row]) -> list[str]:
    """A line for each table: what agrees and what it is worth, without rules and with them."""
    rows: list[list[str]] = []
    for none in select(summary, way="none"):
        ways = [next(select(summary, table=none["table"], way=way)) for way in ("none", "rules", "real rows")]
        agree = [f"{row['agree']:.1%} (worst {row['worst_rule']:.1%})" for row in ways[:2]]
        again = f"{ways[1]['drawn_again']:.1%}"
        auroc, distance = ([f"{row[score]:.3f}" for row in ways] for score in ("auroc", "distance"))
        rows.append([none["table"], f"{none['rows']:,.0f}", *agree, again, *auroc, *distance[:2]])
    heads = ["agree, no rules", "agree, rules", "drawn again", "AUROC, no rules", "rules", "real rows"]
    return _table(["table", "rows", *heads, "distance, no rules", "rules"], rows)


# ---- the field ----


def field_tables(rows: Sequence[Row], method: str) -> list[str]:
    """What DP-KIP's Table 3 prints for a method, beside ours; with the number of seeds where there are fewer than five."""
    made: list[list[str]] = []
    for row in select(rows, row=label(method)):
        found = cell(row, 3, 5)
        made.append([row["table"].removeprefix("Table 3, "), row["metric"], f"{row['paper']:.3f}", found])
    return _table(["table", "metric", "printed", "measured"], made)


def binned_table(summary: Sequence[Row], *methods: str) -> list[str]:
    """Ours and dpmm's on the same bins, a line each."""
    made: list[list[str]] = []
    for row in summary:
        if row["method"] not in methods:
            continue
        names = [row["dataset"], row["method"].upper(), "ours" if row["library"] == "understudy" else row["library"]]
        if row["auroc"] is None:
            made.append([*names, row.get("error") or "–", "", "", "", ""])
            continue
        scores = [f"{row[name]:.3f}" for name in ("workload_error", "auroc")]
        made.append([*names, *scores, f"{row['fit_seconds']:,.0f}", f"{row['peak_memory_mb']:,.0f}", str(row["seeds"])])
    heads = ["table", "method", "whose", "workload error", "AUROC", "processor seconds", "MB", "seeds"]
    return _table(heads, made)


def field_table(summary: Sequence[Row]) -> list[str]:
    """All methods on all tables, best first: AUROC (F1 of many classes), likeness at three orders, time and memory."""
    made: list[list[str]] = []
    for row in summary:
        at = "–" if row["epsilon"] is None else f"{row['epsilon']:g}"
        names = [row["dataset"], at, label(row["method"])]
        if not row["seeds"]:
            made.append([*names, row.get("error") or "–", "", "", "", "", "", "", "0"])
            continue
        score = f"{row['auroc']:.3f}" if row["auroc"] is not None else f"F1 {row['f1']:.3f}"
        score += "" if row["deviation"] is None else f" ± {row['deviation']:.3f}"
        like = ["–" if row[f"distance_{n}"] is None else f"{row[f'distance_{n}']:.3f}" for n in (1, 2, 3)]
        cost = ["" if row[name] is None else f"{row[name]:,.0f}" for name in ("fit_seconds", "peak_memory_mb")]
        made.append([*names, score, *like, f"{row['c2st']:.3f}", *cost, str(row["seeds"])])
    heads = ["AUROC", "1-way", "2-way", "3-way", "told apart", "processor seconds", "MB", "seeds"]
    return _table(["table", "ε", "method", *heads], made)


# What stands on a page of results for a benchmark that has no printed table.
SUMMARIES: dict[str, Callable[[Sequence[Row]], list[str]]] = {
    "field": field_table,
    "aim-mst": lambda summary: binned_table(summary, "mst", "aim"),
}

# Page -> mark -> the result, its table, and what makes lines of it.
PAGES: dict[str, dict[str, tuple[str, str, Callable[..., list[str]]]]] = {
    "audits": {"audits": ("audit", "summary", audits)},
    "guides/verdict": {"verdict": ("verdict", "summary", verdict_table)},
    "guides/persons": {
        "persons": ("persons", "summary", persons),
        "persons audit": ("persons-audit", "summary", persons_audit),
    },
    "guides/visits": {"visits": ("visits", "summary", visits)},
    "guides/any-table": {"any table": ("any-table", "summary", any_table)},
    "guides/rules": {"rules": ("rules", "summary", rules_table)},
    "methods/moments": {"moments": ("moments", "summary", moments_table)},
    **{
        f"methods/{name}": {
            "curves": ("adversarial-curves", "summary", lambda summary, name=name: curves(summary, name)),
            **({"gpate images": ("gpate-2", "rows", gpate_images)} if name == "gpate" else {}),
        }
        for name in ("gpate", "pategan", "dpgan")
    },
    "methods/gan": {"curves": ("adversarial-curves", "summary", lambda summary: curves(summary, "gan", "real"))},
    "methods/image-moments": {
        "images final": ("images", "runs", images_final),
        "images ablation": ("images", "runs", images_ablation),
        "images look": ("images", "runs", lambda runs: images_ablation(runs, "look", "accuracy_of_shares")),
        "images explored": ("images-explore", "runs", images_explored),
    },
    "methods/dpkip": {
        "dpkip table 1": ("dpkip-images", "rows", lambda rows: dpkip_images(rows, 1, (1, 10, 50), 5)),
        "dpkip table 2": ("dpkip-2", "rows", lambda rows: dpkip_images(rows, 2, (10, 20), 3)),
        "dpkip table 3": ("dpkip-3", "rows", dpkip_tables),
        "dpkip starts": ("dpkip-images", "rows", dpkip_starts),
    },
    **{
        f"methods/{name}": {"field table 3": ("field-3", "rows", lambda rows, name=name: field_tables(rows, name))}
        for name in ("dpmerf", "dphp")
    },
    **{
        f"methods/{name}": {"same bins": ("aim-mst", "summary", lambda summary, name=name: binned_table(summary, name))}
        for name in ("mst", "aim")
    },
    **{
        f"methods/{name}": {"field table 2": ("field-2", "rows", lambda rows, name=name: field_images(rows, name))}
        for name in ("image-dpmerf", "psg", "ndpdc", "dpsgd")
    },
    "guides/distil-images": {"train recipes": ("train-recipes", "summary", train_recipes)},
    "methods/one-look": {
        "one look final": ("one-look", "summary", one_look_final),
        "one look at ten": ("one-look", "summary", lambda summary: one_look_final(summary, 10.0)),
        "one look chosen": ("one-look", "summary", one_look_chosen),
    },
}


def filled(name: str, page: str, folder: str | Path) -> str:
    """A page with its tables; a table whose result is not there stays as it is."""
    for mark, (result, table, make) in PAGES[name].items():
        path = result_path(folder, result, "full")
        if path.exists():
            start = _MARK.format(mark)
            text = "\n".join([start, *make(read(path).table(table)), _END])
            page = re.sub(f"{re.escape(start)}.*?{re.escape(_END)}", lambda _, t=text: t, page, count=1, flags=re.S)
    return page
