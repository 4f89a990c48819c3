"""`understudy account`: every mistake in the file gets a clear message, exit code 2, and nothing else happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import run  # pyright: ignore[reportMissingImports]
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.privacy.account import LARGEST_FILE, account

GOOD: dict[str, Any] = {
    "delta": 1e-5,
    "queries": [
        {"mechanism": "lnmax", "gamma": 0.05, "votes": [[190, 60], [240, 10]]},
        {"mechanism": "gnmax", "sigma": 40, "votes": [[190, 60], [240, 10]], "noise": "discrete"},
        {
            "mechanism": "confident-gnmax",
            "threshold": 200,
            "sigma_threshold": 150,
            "sigma": 40,
            "votes": [[190, 60], [240, 10]],
            "answered": [False, True],
        },
        {"mechanism": "subsampled-gaussian", "noise_multiplier": 1.1, "sampling_rate": 0.01, "steps": 100},
        {"mechanism": "laplace", "epsilon": 0.01},
        {"mechanism": "gaussian", "noise_multiplier": 5},
    ],
}


def _write(tmp_path: Path, value: Any) -> str:
    file = tmp_path / "run.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(file)


def test_json_has_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "account", _write(tmp_path, GOOD), "--json")
    assert code == 0
    result = json.loads(out)
    assert {"epsilon", "epsilon_data_dependent", "delta", "order", "groups", "warning"} <= set(result)
    assert [g["mechanism"] for g in result["groups"]] == [g["mechanism"] for g in GOOD["queries"]]
    assert result["epsilon_data_dependent"] <= result["epsilon"] < sum(g["epsilon"] for g in result["groups"])


def test_table_warns_that_the_second_figure_is_private(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "account", _write(tmp_path, GOOD))
    assert code == 0
    assert "all together" in out
    assert "itself private" in out


def test_count_alone_gives_the_unconditional_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    groups = [
        {"mechanism": "gnmax", "sigma": 40, "count": 7},
        {"mechanism": "confident-gnmax", "threshold": 9, "sigma_threshold": 9, "sigma": 9, "count": 7, "answered": 3},
        {"mechanism": "confident-gnmax", "threshold": 9, "sigma_threshold": 9, "sigma": 9, "count": 7},
    ]
    _, out, _ = run(capsys, "account", _write(tmp_path, {"delta": 1e-5, "queries": groups}), "--json")
    result = json.loads(out)
    assert result["epsilon_data_dependent"] is None
    assert [g.get("answered") for g in result["groups"]] == [None, 3, 7]


def _group(**fields: Any) -> dict[str, Any]:
    return {"delta": 1e-5, "queries": [{"mechanism": "gnmax", "sigma": 40, "votes": [[3, 2]], **fields}]}


BAD: list[tuple[Any, str]] = [
    ("", "not valid JSON"),
    ("{", "line 1"),
    ("[1]", "must be an object"),
    ('{"delta": 1e-5, "delta": 1e-6, "queries": []}', "twice"),
    ('{"delta": NaN, "queries": []}', "NaN"),
    ({"queries": [1]}, "`delta` is missing"),
    ({"delta": 0, "queries": [1]}, "between 0 and 1"),
    ({"delta": 1, "queries": [1]}, "between 0 and 1"),
    ({"delta": "x", "queries": [1]}, "must be a number"),
    ({"delta": 1e-5}, "`queries` must be a list"),
    ({"delta": 1e-5, "queries": []}, "at least one"),
    ({"delta": 1e-5, "queries": [1]}, r"queries\[0\]: expected an object"),
    ({"delta": 1e-5, "queries": [{"mechanism": "magic"}]}, "unknown mechanism 'magic'"),
    ({"delta": 1e-5, "queries": [{"mechanism": ["gnmax"]}]}, "unknown mechanism"),
    ({"delta": 1e-5, "extra": 1, "queries": [1]}, "unknown key 'extra'"),
    (_group(extra=1), "unknown key 'extra'"),
    (_group(votes=[[3, -2]]), "negative"),
    (_group(votes=[[3, 2.5]]), "not a whole number"),
    (_group(votes=[[3, 2], [3]]), "row 1 has 1"),
    (_group(votes=[[3, 2], [3, 3]]), "sums to 6"),
    (_group(votes=[]), "empty"),
    (_group(votes="x"), "rows of counts"),
    (_group(votes={"a": 1}), "whole numbers"),
    (_group(count=3), "either `votes`"),
    (_group(sigma=0), "above 0"),
    (_group(sigma=-3), "above 0"),
    (_group(sigma="3"), "must be a number"),
    (_group(sigma=10**400), "nothing here is that large|size that no run has"),
    (_group(noise="loud"), "`noise`"),
    ({"delta": 1e-5, "queries": [{"mechanism": "lnmax", "gamma": 0, "count": 1}]}, "`gamma`"),
    ({"delta": 1e-5, "queries": [{"mechanism": "lnmax", "count": 1}]}, "`gamma` is missing"),
    ({"delta": 1e-5, "queries": [{"mechanism": "lnmax", "gamma": 1, "count": 0}]}, "at least 1"),
    ({"delta": 1e-5, "queries": [{"mechanism": "lnmax", "gamma": 1, "count": 1.5}]}, "whole number"),
    ({**_group(), "orders": [1]}, "above 1"),
    ({**_group(), "orders": [0.5, 2]}, "above 1"),
    ({**_group(), "orders": []}, "at least one"),
    ({**_group(), "orders": ["a"]}, "numbers above 1"),
    ({**_group(), "moments": 0}, "`moments`"),
    ({**_group(), "moments": 1.5}, "`moments`"),
    ({**_group(), "conversion": "loose"}, "`conversion`"),
    (_group(mechanism="confident-gnmax", threshold=1, sigma_threshold=1), "`answered` is missing"),
    (_group(mechanism="confident-gnmax", threshold=1, sigma_threshold=1, answered=[1]), "true or false"),
    (_group(mechanism="confident-gnmax", threshold=1, sigma_threshold=1, answered=[True, True]), "list of 1"),
    ({"delta": 1e-5, "queries": [{"mechanism": "subsampled-gaussian", "noise_multiplier": 1, "sampling_rate": 2, "steps": 1}]},
     "probability"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "message"), BAD)
def test_bad_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], value: Any, message: str) -> None:
    file = _write(tmp_path, value)
    code, out, err = run(capsys, "account", file)
    assert code == 2
    assert out == ""
    with pytest.raises(InputError, match=message):
        raise InputError(err)
    code, out, _ = run(capsys, "account", file, "--json")
    assert code == 2
    assert json.loads(out)["error"] == "input"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.json"]


def test_missing_binary_and_huge_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot read" in run(capsys, "account", str(tmp_path / "none.json"))[2]
    (tmp_path / "bin").write_bytes(b"\xff\xfe")
    assert "UTF-8" in run(capsys, "account", str(tmp_path / "bin"))[2]
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    code, _, err = run(capsys, "account", str(tmp_path / "huge"))
    assert code == 2
    assert "larger than" in err


values = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(), st.text(max_size=4),
    st.lists(st.integers(-3, 300), max_size=3), st.lists(st.lists(st.integers(-1, 50), max_size=3), max_size=3),
)  # fmt: skip
groups = st.fixed_dictionaries(
    {"mechanism": st.sampled_from(["lnmax", "gnmax", "confident-gnmax", "laplace", "gaussian", "subsampled-gaussian", "x"])},
    optional=dict.fromkeys(("gamma", "sigma", "votes", "count", "noise", "threshold", "sigma_threshold", "answered", "epsilon", "noise_multiplier", "sampling_rate", "steps"), values),
)  # fmt: skip


@settings(max_examples=300)
@given(
    st.fixed_dictionaries(
        {"delta": st.one_of(st.just(1e-5), values), "queries": st.one_of(values, st.lists(groups, max_size=3))},
        optional={"orders": values, "moments": values, "conversion": values},
    )
)
def test_fuzz(document: dict[str, Any]) -> None:
    """Any document gives a finite, non-negative epsilon or an InputError; nothing else is ever raised."""
    try:
        result = account(document)
    except InputError:
        return
    assert result["epsilon"] >= 0
    assert result["epsilon"] == result["epsilon"]


@settings(max_examples=40)
@given(
    st.integers(2, 4).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 9), min_size=k, max_size=k), min_size=1, max_size=3)
    ),
    st.floats(1e-3, 1e3),
    st.sampled_from(["lnmax", "gnmax"]),
    st.sampled_from(["continuous", "discrete"]),
)
def test_fuzz_valid_votes(votes: list[list[int]], scale: float, mechanism: str, noise: str) -> None:
    total = max(sum(v) for v in votes) + 1
    votes = [[*v[:-1], v[-1] + total - sum(v)] for v in votes]
    group = {
        "mechanism": mechanism,
        "gamma" if mechanism == "lnmax" else "sigma": scale,
        "votes": votes,
        "noise": noise,
    }
    result = account({"delta": 1e-5, "queries": [group]})
    assert 0 <= result["epsilon_data_dependent"] <= result["epsilon"] + 1e-12
