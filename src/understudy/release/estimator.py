"""The one base of everything that learns from private records and is released: checked, paid, certified, saved, loaded."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from understudy.errors import InputError, UnderstudyWarning
from understudy.learn.checkpoints import Workspace
from understudy.privacy import Budget, Certificate, Sanitised
from understudy.privacy.units import PERSON, require_same_unit
from understudy.release.bundle import Bundle, check_target, write_bundle
from understudy.release.preflight import delta_warning
from understudy.release.settings import as_json, check_settings, from_names
from understudy.release.verdict import Verdict, unjudged
from understudy.tables import Schema
from understudy.tables.persons import Person


def paid_before(schema: Schema | None) -> list[Certificate]:
    """The certificate that a schema carries, if it was looked at in the rows and paid for."""
    if schema is None or schema.certificate is None:
        return []
    return [Certificate.parse(json.dumps(dict(schema.certificate)), where="the certificate of the schema")]


def whose(schema: Schema | None, column: str | None = None, rows: int | str | None = None) -> Person | None:
    """Whose rows are protected together, from arguments or the schema, which must have been bought for the same unit."""
    person = None if schema is None else schema.person
    if column is not None or rows is not None:
        if column is None or rows is None:
            raise InputError(
                "`person` and `rows_per_person` (--person, --rows-per-person) belong together: whose a row is, and how many "
                "rows of one person are taken at most (or `auto`: that is looked at, and paid for)."
            )
        person = Person(column, rows)
    for paid in paid_before(schema):
        require_same_unit("row" if person is None else PERSON, str(paid.body["unit"]), "the schema was bought")
    return person


class Estimator(BaseEstimator):
    """A dataclass of settings with `fit`; fitted it has a `certificate_` and can be saved.

    A method says how its release becomes arrays and public facts (`_contents`) and how it comes back (`_restore`).
    """

    method: ClassVar[str]
    private: ClassVar[bool] = True
    """False for a ceiling to compare with: its certificate says that nothing is protected, and never verifies."""
    resumable: ClassVar[bool] = False
    takes_persons: ClassVar[Literal["weighted", "dealt"] | None] = None
    """How a fit makes its promise for persons with several rows, if it can: each person counts as one, and how many rows it
    has is a column; or each person is taken whole (by one teacher, in one clipped step), and rows are as common as they are."""

    epsilon: float
    delta: float
    random_state: int | None
    unsafe_noise_seed: int | None
    certificate_: Certificate

    @classmethod
    def from_settings(cls, **named: Any) -> Self:
        """An estimator from settings by name, those of its groups included: `batch=8` finds `training.batch`."""
        return cls(**from_names(cls, named))

    def __getstate__(self) -> Any:
        """The state for `pickle` and `copy`: refused while the model holds what is private.

        The rule is a name. What a fit keeps that the guarantee does not cover (rows, teachers, votes, figures for the
        owner's eyes) is an attribute that begins with `private_`. What may travel is a release, written by `save`.
        """
        held = sorted(name for name, value in vars(self).items() if name.startswith("private_") and value is not None)
        if held:
            raise InputError(
                f"this {type(self).__name__} was fitted here and still holds what is private ({', '.join(held)}): it is "
                "not pickled or copied, since whoever opens the copy would have it. Call `save(path)` and hand on that "
                "folder; `understudy.load(path)` gives a model that can be pickled."
            )
        return super().__getstate__()

    # ---- before and after learning -------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        """Refuse a setting beyond its limit, before anything is looked at. Methods add what ties settings together."""
        check_settings(self)

    @property
    def keeps_a_budget(self) -> bool:
        """Whether the run keeps to an epsilon that is fixed beforehand, so that a budget or a ledger can be charged."""
        return self.private and getattr(self, "mode", None) != "as-published"

    def _budget(self, given: Budget | None, rows: int) -> Budget:
        """The budget to charge for so many rows: the one that was given, or one of its own."""
        if not self.private:
            return Budget(1.0, 1e-5)  # never charged: there is nothing that a method without privacy could pay for
        if said := delta_warning(self.delta if given is None else given.delta, rows):
            warnings.warn(said, UnderstudyWarning, stacklevel=3)
        if given is not None and not self.keeps_a_budget:
            raise InputError(
                'a run with `mode="as-published"` has no epsilon that holds beforehand, so there is nothing true to charge a '
                "`budget` with. Leave it out, and treat what the run makes as private; or take a mode that keeps to one."
            )
        if given is None:
            return Budget(self.epsilon, self.delta, unsafe_noise_seed=self.unsafe_noise_seed)
        if self.unsafe_noise_seed is not None and given.unsafe_noise_seed != self.unsafe_noise_seed:
            raise InputError(
                "`unsafe_noise_seed` is for a fit that makes its own budget: give it to the `budget` instead, "
                "Budget(..., unsafe_noise_seed=...)."
            )
        return given

    def whose(self, schema: Schema | None, column: str | None = None, rows: int | str | None = None) -> Person | None:
        """Whose rows are protected together, from the arguments or the schema; what cannot be kept is refused."""
        person = whose(schema if self.private or schema is None else replace(schema, certificate=None), column, rows)
        if person is not None and self.takes_persons is None:
            raise InputError(
                f"method {self.method!r} promises for one row, and not for a person with several. Nothing was spent. "
                "Use the method moments; or make one row of each person first, and leave --person out."
            )
        return person

    def _seed(self) -> int:
        """Public randomness from `random_state`; never that of the noise."""
        return int(np.random.SeedSequence(self.random_state).generate_state(1)[0] >> 1)

    def _kept_in(self, path: str | Path, resume: bool, private: np.ndarray, said: Mapping[str, Any]) -> Workspace:
        """Touches private data (`private`): its keyed digest tells whether a run is resumed on the same records.

        `said` is public, and must be the same too, as the settings must.
        """
        if self.random_state is None:
            raise InputError("a run with a workspace needs a `random_state`: resumed without, it would be another.")
        return Workspace(path, {**self._settings(), "method": self.method, **said}, private, resume=resume)

    def _certify(
        self,
        budget: Budget,
        kind: str,
        facts: dict[str, Any],
        public: Sequence[str],
        *,
        unit: str = "row",
        sanitised: Sanitised | None = None,
        unsafe: Sequence[str] = (),
        schema: Schema | None = None,
    ) -> None:
        """Write the certificate from what the budget was charged; `public` is what is assumed to be public already.

        A `schema` that was itself bought from the rows is named with its cost.
        """
        self.certificate_ = Certificate.from_budget(
            budget,
            release={"kind": kind, "method": self.method, **facts},
            assumed_public=[*public, "all settings of the method, chosen without a look at the records"],
            sanitised=sanitised,
            unsafe=list(unsafe),
            unit=unit,
            builds_on=paid_before(schema),
        )

    def _certify_unprotected(self, kind: str, facts: dict[str, Any], reason: str) -> None:
        release = {"kind": kind, "method": self.method, **facts}
        self.certificate_ = Certificate.not_private(release=release, reason=reason)

    @property
    def verdict_(self) -> Verdict:
        """Public. What the release says of itself; of a method that cannot tell, that it cannot."""
        self._check_fitted()
        said = self.certificate_.body["release"].get("verdict")
        return unjudged(self.method) if said is None else Verdict.from_dict(said)

    # ---- the release ---------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the release: a new folder with what was learnt and the certificate, and nothing private."""
        self._check_fitted()
        write_bundle(self._contents(), check_target(path))

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        """The estimator of a release."""
        try:
            estimator = cls.from_settings(**bundle.parameters["settings"])
            estimator._check_settings()
        except InputError as error:
            raise InputError(f"the release has settings unknown here ({error}): update understudy.") from None
        estimator._restore(bundle)
        estimator.certificate_ = bundle.certificate
        return estimator

    def _contents(self) -> Bundle:
        """What the release holds; all of it is covered by the certificate."""
        raise NotImplementedError

    def _restore(self, bundle: Bundle) -> None:
        """Take up what `_contents` wrote."""
        raise NotImplementedError

    def _settings(self) -> dict[str, Any]:
        """The settings as a bundle keeps them."""
        return as_json(self)

    def _check_fitted(self) -> None:
        if not hasattr(self, "certificate_"):
            raise InputError(f"this {type(self).__name__} has learnt nothing yet. Call `fit` first.")
