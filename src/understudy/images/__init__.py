"""Sets of small labelled images: what is public about them, files, pictures, a public basis and public deformations."""

from typing import TYPE_CHECKING

from understudy._lazy import attach

if TYPE_CHECKING:
    from understudy.images.dataset import BLANK, ImageDataset, check_form
    from understudy.images.files import read_npz, write_grid, write_npz

_HOMES = {
    "BLANK": "understudy.images.dataset",
    "ImageDataset": "understudy.images.dataset",
    "check_form": "understudy.images.dataset",
    "read_npz": "understudy.images.files",
    "write_grid": "understudy.images.files",
    "write_npz": "understudy.images.files",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = ["BLANK", "ImageDataset", "check_form", "read_npz", "write_grid", "write_npz"]
