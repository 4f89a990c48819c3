"""A student that may be released: it tells classes, and travels as the rows and labels it learnt from. All of it is public, and free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from understudy.errors import InputError
from understudy.methods.students import NAMES, make_student, train_student
from understudy.methods.voting import Aggregator
from understudy.release.arrays import fitting
from understudy.release.bundle import Bundle
from understudy.release.estimator import Estimator
from understudy.release.settings import whole
from understudy.tables import Encoder, Schema
from understudy.tables.io import as_frame


class ReleasedStudent(ClassifierMixin, Estimator):
    """What `PATEClassifier` is once it is fitted or loaded."""

    teachers: int
    aggregator: Aggregator
    student: Any
    schema: Schema | None
    described_: Schema | None
    """What is public about the columns, whose a row is left out; None where rows are an array."""
    classes_: np.ndarray
    encoder_: Encoder

    def _teach(self, rows: np.ndarray, labels: np.ndarray, unlabelled: np.ndarray | None, seed: int) -> None:
        """The student, from what may be published."""
        self.labelled_rows_, self.labels_, self.unlabelled_rows_, self.student_seed_ = rows, labels, unlabelled, seed
        self.student_ = train_student(make_student(self.student, seed), rows, labels, unlabelled)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        check_is_fitted(self, "student_")
        return self.classes_[np.asarray(self.student_.predict(self._rows(X)), dtype=int)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Shares of the classes in the order of `classes_` (rows x classes)."""
        check_is_fitted(self, "student_")
        rows = self._rows(X)
        result = np.zeros((len(rows), len(self.classes_)))
        result[:, np.asarray(self.student_.classes_, dtype=int)] = self.student_.predict_proba(rows)
        return result

    def _rows(self, X: Any) -> np.ndarray:
        if self.described_ is None:
            checked: Any = validate_data(self, X, dtype="numeric", reset=False)
            return checked
        return self.encoder_.encode(as_frame(X))

    def _contents(self) -> Bundle:
        """The public rows, their private labels and the student's name: loading trains the student again."""
        if not isinstance(self._settings()["student"], str):
            raise InputError(f"only named students can be saved without a pickle: {', '.join(NAMES)}.")
        arrays = {"rows": self.labelled_rows_, "labels": self.labels_}
        if self.unlabelled_rows_ is not None:
            arrays["unlabelled"] = self.unlabelled_rows_
        names = getattr(self, "feature_names_in_", None)
        facts = {
            "classes": self.classes_.tolist(),
            "seed": self.student_seed_,
            "features": None if names is None else list(names),
        }
        parameters = {"settings": self._settings(), "facts": facts}
        return Bundle("classifier", self.method, parameters, arrays, self.certificate_, self.described_)

    def _settings(self) -> dict[str, Any]:
        """Those that a classifier which is loaded again needs or shows; the others may be objects."""
        student = "logistic" if self.student is None else self.student
        return {"teachers": self.teachers, "aggregator": self.aggregator, "student": student}

    def _restore(self, bundle: Bundle) -> None:
        facts, arrays = bundle.parameters["facts"], bundle.arrays
        self.schema = self.described_ = bundle.schema
        self.classes_ = class_array(facts["classes"])
        if self.classes_.ndim != 1 or len(set(facts["classes"])) != len(self.classes_):
            raise InputError(
                "the classes of the release are no list of names, each once: it is damaged. Copy it again."
            )
        width = None
        if bundle.schema is not None:
            self.encoder_ = Encoder(bundle.schema.features)
            width = self.encoder_.width
        rows = fitting(arrays, "rows", None, width)
        labels = fitting(arrays, "labels", len(rows), least=0)
        if not np.issubdtype(labels.dtype, np.integer) or labels.max() >= len(self.classes_):
            raise InputError("the labels of the release are not numbers of its classes: it is damaged. Copy it again.")
        more = fitting(arrays, "unlabelled", None, rows.shape[1]) if "unlabelled" in arrays else None
        whole(0).check("seed", facts["seed"])
        self.n_features_in_ = rows.shape[1]
        if bundle.schema is not None:
            self.n_features_in_ = len(bundle.schema.features)
        elif facts["features"] is not None:
            setattr(self, "feature_names_in_", np.asarray(facts["features"], dtype=object))  # noqa: B010
        self._teach(rows, labels, more, facts["seed"])


def class_array(labels: Sequence[Any]) -> np.ndarray:
    """Classes as an array; numbers beside words stay what they are."""
    mixed = len({isinstance(label, str) for label in labels}) > 1
    return np.array(list(labels), dtype=object) if mixed else np.asarray(list(labels))
