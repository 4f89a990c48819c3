"""The predictive models that judge synthetic data: name -> factory(seed) of a scikit-learn pipeline.

- `TWELVE`: PATE-GAN's twelve (Table 1). PATE-GAN prints no settings; they are those of DP-KIP's Table 7.
- `FOUR`: G-PATE's four for credit, with the settings of its appendix on model structures.
- `DEFAULTS`: the twelve as their libraries set them when nothing is said.
- `FIVE`: a quick panel of our own with today's usual settings: five kinds of model, seconds on 20,000 rows.
- `TUNED`: gradient boosting alone, its size chosen on a part of its training rows.

All take a design matrix of `understudy.evaluation.features`. Models that mind the scale of a column (linear ones, LDA,
the perceptron) standardise it first, by the training rows alone. Every model runs on one core: what runs in parallel is
the evaluation.

`REPLACED` says what the papers name and today's scikit-learn (or XGBoost) no longer has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from understudy.errors import InputError
from understudy.wording import did_you_mean

Factory = Callable[[int], Any]
"""From a seed to an unfitted scikit-learn classifier."""

REPLACED: Mapping[str, str] = {
    "logistic regression": "`multi_class: auto` is gone from scikit-learn; its only behaviour today is what auto chose.",
    "lda": "`n_components: 9` and `tol: 1e-8` change no prediction of the eigen solver, and are left out.",
    "adaboost": "SAMME.R was removed from scikit-learn 1.6; SAMME, the only one left, takes its place.",
    "linear svm": "scored by its signed distance; it gives no probability.",
    "xgboost": "`multi:softprob` with two classes is today's `binary:logistic`.",
}


def scaled(model: Any) -> Any:
    """A model that sees standardised columns."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def _l1() -> dict[str, Any]:
    """The L1 penalty in the words of the scikit-learn that is installed: 1.8 renamed it."""
    import inspect

    from sklearn.linear_model import LogisticRegression

    old = inspect.signature(LogisticRegression).parameters["penalty"].default != "deprecated"
    return {"penalty": "l1"} if old else {"l1_ratio": 1.0}


def _logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return scaled(LogisticRegression(max_iter=5000, random_state=seed))


def _gaussian_nb(seed: int) -> Any:
    from sklearn.naive_bayes import GaussianNB

    del seed
    return GaussianNB()


def _bernoulli_nb(seed: int) -> Any:
    from sklearn.naive_bayes import BernoulliNB

    del seed
    return BernoulliNB(binarize=0.5)


def _linear_svm(seed: int) -> Any:
    from sklearn.svm import LinearSVC

    return scaled(LinearSVC(max_iter=10_000, tol=1e-8, loss="hinge", random_state=seed))


def _tree(seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(class_weight="balanced", random_state=seed)


def _lda(seed: int) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    del seed
    return scaled(LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.5))


def _adaboost(seed: int) -> Any:
    from understudy.evaluation.stumps import StumpBoost

    return StumpBoost(n_estimators=1000, learning_rate=0.7, random_state=seed)


def _bagging(seed: int) -> Any:
    from sklearn.ensemble import BaggingClassifier

    return BaggingClassifier(max_samples=0.1, n_estimators=20, n_jobs=1, random_state=seed)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, class_weight="balanced", n_jobs=1, random_state=seed)


def _gradient_boosting(seed: int) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(subsample=0.1, n_estimators=50, random_state=seed)


def _mlp(seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return scaled(MLPClassifier(random_state=seed))


def _xgboost(seed: int, **settings: Any) -> Any:
    try:
        from xgboost import XGBClassifier
    except ImportError:
        raise InputError("xgboost is not installed: pip install 'understudy[evaluation]'.") from None
    return XGBClassifier(n_jobs=1, random_state=seed, **settings)


def _paper_xgboost(seed: int) -> Any:
    return _xgboost(seed, colsample_bytree=0.1, n_estimators=50)


TWELVE: Mapping[str, Factory] = {
    "logistic regression": _logistic,
    "random forest": _forest,
    "gaussian nb": _gaussian_nb,
    "bernoulli nb": _bernoulli_nb,
    "linear svm": _linear_svm,
    "decision tree": _tree,
    "lda": _lda,
    "adaboost": _adaboost,
    "bagging": _bagging,
    "gradient boosting": _gradient_boosting,
    "mlp": _mlp,
    "xgboost": _paper_xgboost,
}


def _gpate_logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    # The rarer class weighs 350 times as much; in credit that is the fraud, coded 1.
    weights = {0: 1, 1: 350}
    return scaled(LogisticRegression(solver="liblinear", class_weight=weights, random_state=seed, **_l1()))


def _plain_logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=500)


def _gpate_adaboost(seed: int) -> Any:
    from sklearn.ensemble import AdaBoostClassifier

    return scaled(AdaBoostClassifier(_plain_logistic(), n_estimators=200, random_state=seed))


def _gpate_bagging(seed: int) -> Any:
    from sklearn.ensemble import BaggingClassifier

    return scaled(BaggingClassifier(_plain_logistic(), n_estimators=100, n_jobs=1, random_state=seed))


def _gpate_mlp(seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return scaled(MLPClassifier((18, 18, 18), activation="tanh", solver="adam", random_state=seed))


FOUR: Mapping[str, Factory] = {
    "logistic regression": _gpate_logistic,
    "adaboost": _gpate_adaboost,
    "bagging": _gpate_bagging,
    "mlp": _gpate_mlp,
}


def _quick_logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return scaled(LogisticRegression(max_iter=500, random_state=seed))


def _quick_forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, min_samples_leaf=5, n_jobs=1, random_state=seed)


def _quick_adaboost(seed: int) -> Any:
    from understudy.evaluation.stumps import StumpBoost

    return StumpBoost(n_estimators=50, learning_rate=1.0, random_state=seed)


def _quick_mlp(seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return scaled(MLPClassifier((64,), max_iter=20, random_state=seed))


def _quick_xgboost(seed: int) -> Any:
    return _xgboost(seed, n_estimators=100, max_depth=4, learning_rate=0.1)


FIVE: Mapping[str, Factory] = {
    "logistic regression": _quick_logistic,
    "random forest": _quick_forest,
    "adaboost": _quick_adaboost,
    "mlp": _quick_mlp,
    "xgboost": _quick_xgboost,
}


def _defaults(name: str, kind: str, scales: bool, seeded: bool = True, **settings: Any) -> Factory:
    def make(seed: int) -> Any:
        import importlib

        given = settings | ({"random_state": seed} if seeded else {})
        model = getattr(importlib.import_module(f"sklearn.{name}"), kind)(**given)
        return scaled(model) if scales else model

    return make


# The same twelve as scikit-learn and XGBoost set them when nothing is said, as PATE-GAN, which prints no settings, may have
# had them. Bernoulli naive Bayes then splits standardised columns at zero.
DEFAULTS: Mapping[str, Factory] = {
    "logistic regression": _defaults("linear_model", "LogisticRegression", True, max_iter=1000),
    "random forest": _defaults("ensemble", "RandomForestClassifier", False),
    "gaussian nb": _gaussian_nb,
    "bernoulli nb": _defaults("naive_bayes", "BernoulliNB", True, seeded=False),
    "linear svm": _defaults("svm", "LinearSVC", True),
    "decision tree": _defaults("tree", "DecisionTreeClassifier", False),
    "lda": _defaults("discriminant_analysis", "LinearDiscriminantAnalysis", True, seeded=False),
    "adaboost": _defaults("ensemble", "AdaBoostClassifier", False),
    "bagging": _defaults("ensemble", "BaggingClassifier", False),
    "gradient boosting": _defaults("ensemble", "GradientBoostingClassifier", False),
    "mlp": _mlp,
    "xgboost": _xgboost,
}


def _tuned(seed: int) -> Any:
    from understudy.evaluation.tuned import TunedBoosting

    return TunedBoosting(seed)


TUNED: Mapping[str, Factory] = {"tuned boosting": _tuned}

PANELS: Mapping[str, Mapping[str, Factory]] = {
    "five": FIVE,
    "four": FOUR,
    "twelve": TWELVE,
    "defaults": DEFAULTS,
    "tuned": TUNED,
}


def panel(name: str | Mapping[str, Factory]) -> Mapping[str, Factory]:
    """A panel by its name (five, four, twelve, defaults, tuned), or one of your own handed through."""
    if not isinstance(name, str):
        if not name:
            raise InputError("`classifiers` names no classifier.")
        return name
    if name not in PANELS:
        raise InputError(
            f"there are no classifiers {name!r}; known are {', '.join(PANELS)}.{did_you_mean(name, PANELS)}"
        )
    return PANELS[name]


def missing(chosen: Mapping[str, Factory]) -> dict[str, str]:
    """The classifiers that cannot be made here, and why: xgboost is an extra."""
    reasons: dict[str, str] = {}
    for name, factory in chosen.items():
        try:
            factory(0)
        except InputError as error:
            reasons[name] = str(error)
    return reasons
