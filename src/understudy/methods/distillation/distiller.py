"""What all distillers share: from records to a handful of them, to a predictor, to a release and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator

from understudy._private import KeepsPrivate
from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.learn.kernels import ReLUKernel
from understudy.learn.krr import KernelRidge, one_hot
from understudy.methods.distillation.domain import Domain, ImageDomain, TableDomain, restore
from understudy.methods.distillation.training import Support
from understudy.privacy import Budget, Certificate
from understudy.privacy.events import check_count, check_positive
from understudy.release.bundle import Bundle, check_target, write_bundle
from understudy.tables import Schema, estimate_schema, validate_frame
from understudy.tables.io import as_frame

Progress = Callable[[int, int], None]
_COUNTS = ("per_class", "batch", "steps", "epochs", "samples")
_POSITIVE = ("epsilon", "ridge", "learning_rate", "clip")


@runtime_checkable
class Predictor(Protocol):
    """What a distilled set trains: a class for each point."""

    def predict(self, points: np.ndarray) -> np.ndarray: ...
    def predict_proba(self, points: np.ndarray) -> np.ndarray: ...


class Distiller(KeepsPrivate, BaseEstimator):
    """Base of the distillers. Fitted: `distilled_` (a frame or an `ImageDataset`), `support_`, `certificate_`, `classes_`.

    The predictor works on `support_`, which is what was learnt; `distilled_` is the same, rounded to what the schema or a
    byte can hold, for people and for other models.
    """

    method: ClassVar[str]
    private: ClassVar[bool] = True

    per_class: int
    batch: int
    ridge: float
    depth: int
    random_state: int | None

    def fit(
        self, data: Any, target: str | None = None, schema: Schema | None = None, *, progress: Progress | None = None
    ) -> Self:
        """Touches private data (`data`): a table with the name of its `target`, or an `ImageDataset`."""
        self.drawn_ = False  # a ledger may take back only what was never drawn
        self._check()
        if isinstance(data, ImageDataset):
            if target is not None or schema is not None:
                raise InputError("images carry their labels and classes: leave `target` and `schema` out.")
        else:
            data = as_frame(data)
            given = Schema.draft(data, target) if schema is None else schema
            schema = given if target is None else given.with_target(target)
            if schema.target is None:
                raise InputError("a table needs a `target`: the column with the classes.")
            validate_frame(data, schema)
        seed = int(np.random.SeedSequence(self.random_state).generate_state(1)[0] >> 1)
        domain, support, certificate = self._learn(data, schema, jax.random.key(seed), progress)
        self._ready(domain, support)
        self.certificate_ = certificate
        return self

    def _learn(
        self, data: Any, schema: Schema | None, key: jax.Array, progress: Progress | None
    ) -> tuple[Domain, Support, Certificate]:
        """Touches private data: what each method does."""
        raise NotImplementedError

    # ---- for the methods -----------------------------------------------------------------------------------

    def _domain(self, data: Any, schema: Schema | None, budget: Budget | None, share: float = 0.1) -> Domain:
        """Touches private data where the schema has gaps: they are paid for at a `share` of epsilon, or refused."""
        if isinstance(data, ImageDataset):
            return self._fits(ImageDomain(data.shape, data.classes, data.value_range), len(data))
        assert schema is not None
        if schema.missing():
            if budget is None or share <= 0:
                schema.require_complete()
            assert budget is not None
            self.drawn_ = True
            schema = estimate_schema(data, schema, budget, share * budget.epsilon, share * budget.delta)
            if gaps := schema.missing():
                raise InputError(
                    f"epsilon {share * budget.epsilon:g} was spent on the gaps of the schema, and {', '.join(gaps)} did not "
                    "stand out from the noise. Write what is public about them into a schema."
                )
        return self._fits(TableDomain(schema), len(data))

    def _fits(self, domain: Domain, rows: int) -> Domain:
        wanted = self.per_class * len(domain.classes)
        if wanted > rows:
            raise InputError(
                f"`per_class` (={self.per_class}) asks for {wanted} records of {len(domain.classes)} classes, and there are "
                f"{rows} rows. Use at most {rows // len(domain.classes)}."
            )
        return domain

    def _start(self, domain: Domain, key: jax.Array) -> Support:
        """Points of a standard Gaussian, which is public, with balanced labels: no record is in the start."""
        classes = np.arange(self.per_class * len(domain.classes)) % len(domain.classes)
        points = jax.random.normal(key, (len(classes), domain.features))
        return Support(points, jnp.asarray(one_hot(classes, len(domain.classes))))

    def _kernel(self, domain: Domain) -> ReLUKernel:
        return ReLUKernel(domain.features, self.depth)

    def _certify(self, budget: Budget, data: Any, facts: dict[str, Any]) -> Certificate:
        images = isinstance(data, ImageDataset)
        known = "size, value range and set of classes of the images" if images else "what the schema said"
        public = [known, "all settings of the method, chosen without a look at the records"]
        release = {
            "kind": "images" if images else "distilled",
            "method": self.method,
            "per_class": self.per_class,
            **facts,
        }
        return Certificate.from_budget(
            budget, release=release, assumed_public=public, unit="image" if images else "row"
        )

    def _check(self) -> None:
        for name in _COUNTS:
            if (value := getattr(self, name, None)) is not None:
                check_count(name, value)
        for name in _POSITIVE:
            if (value := getattr(self, name, None)) is not None:
                check_positive(name, value)
        check_count("depth", self.depth, least=0)

    # ---- the release ---------------------------------------------------------------------------------------

    def predict(self, data: Any) -> np.ndarray:
        """The class of each record, by the model that the set was distilled for: kernel ridge regression, or a network."""
        numbers = self._predictor().predict(self.domain_.points(data))
        return np.asarray(self.classes_, dtype=object)[numbers]

    def predict_proba(self, data: Any) -> np.ndarray:
        """Shares of the classes in the order of `classes_` (records x classes)."""
        return self._predictor().predict_proba(self.domain_.points(data))

    def score(self, data: Any) -> float:
        """Touches private data where `data` is: the share of records whose class is predicted right."""
        return float(np.mean(self._predictor().predict(self.domain_.points(data)) == self.domain_.numbers(data)))

    def save(self, path: str | Path) -> None:
        """Write the release: a new folder with the distilled records and the certificate, and nothing private."""
        self._check_fitted()
        points, soft = (np.asarray(part, np.float32) for part in self.support_)
        classes = self._classes_of(soft, len(self.classes_))
        arrays = {"points": points, "soft_labels": soft, **self.domain_.arrays(points, classes)}
        facts = self.domain_.facts()
        parameters = {"settings": self._public_parameters(), "domain": facts}
        kind = "images" if facts["form"] == "images" else "distilled"
        schema = getattr(self.domain_, "schema", None)
        write_bundle(Bundle(kind, self.method, parameters, arrays, self.certificate_, schema), check_target(path))

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        """The distilled set of a release, with its predictor."""
        try:
            distiller = cls(**bundle.parameters["settings"])
        except TypeError as error:
            raise InputError(f"the release has settings unknown here ({error}): update understudy.") from None
        domain = restore(bundle.parameters["domain"], bundle.arrays, bundle.schema)
        points, labels = bundle.arrays["points"], bundle.arrays["soft_labels"]
        if points.shape[1] != domain.features or labels.shape != (
            len(points),
            distiller._labels_a_point(len(domain.classes)),
        ):
            raise InputError("the distilled points do not fit their schema: the release is damaged. Copy it again.")
        distiller._ready(domain, Support(jnp.asarray(points), jnp.asarray(labels)))
        distiller.certificate_ = bundle.certificate
        return distiller

    def _ready(self, domain: Domain, support: Support) -> None:
        if not bool(jnp.all(jnp.isfinite(support.points))):
            raise InputError(
                "the distilled points are not finite: the ridge is too small for so many of them. Raise `ridge`; what was "
                "spent is spent."
            )
        self.domain_, self.support_, self.classes_ = domain, support, domain.classes
        classes = self._classes_of(np.asarray(support.labels), len(domain.classes))
        self.distilled_ = domain.decode(np.asarray(support.points), classes)

    def _labels_a_point(self, classes: int) -> int:
        """How many numbers the label of one point has."""
        return classes

    def _classes_of(self, labels: np.ndarray, classes: int) -> np.ndarray:
        """The class of each point, from its labels."""
        del classes
        return labels.argmax(axis=1)

    def _check_fitted(self) -> None:
        if not hasattr(self, "support_"):
            raise InputError("nothing was distilled yet. Call `fit` first.")

    def _predictor(self) -> Predictor:
        self._check_fitted()
        points, labels = (np.asarray(part) for part in self.support_)
        return KernelRidge(self._kernel(self.domain_), points, labels, self.ridge)

    def _public_parameters(self) -> dict[str, Any]:
        return dict(self.get_params(deep=False))
