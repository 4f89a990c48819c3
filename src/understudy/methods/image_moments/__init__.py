"""Images from one private look: class means and covariances in a public basis, then any number of samples for free."""

from typing import TYPE_CHECKING

from understudy._lazy import attach

if TYPE_CHECKING:
    from understudy.methods.image_moments.generator import ImageMoments

_HOMES = {"ImageMoments": "understudy.methods.image_moments.generator"}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = ["ImageMoments"]
