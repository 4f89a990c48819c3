"""Sets of small labelled images: what is public about them, files, pictures, a public basis and public deformations."""

from typing import TYPE_CHECKING

from understudy._lazy import attach

if TYPE_CHECKING:
    from understudy.images.dataset import BLANK, ImageDataset, check_form
    from understudy.images.encoded import PictureSize
    from understudy.images.files import read_npz, write_grid, write_npz
    from understudy.images.folders import read_folder, write_folder
    from understudy.images.parquet import read_parquet, write_parquet
    from understudy.images.unlabelled import read_unlabelled

_HOMES = {
    "BLANK": "understudy.images.dataset",
    "ImageDataset": "understudy.images.dataset",
    "PictureSize": "understudy.images.encoded",
    "check_form": "understudy.images.dataset",
    "read_folder": "understudy.images.folders",
    "read_npz": "understudy.images.files",
    "read_parquet": "understudy.images.parquet",
    "read_unlabelled": "understudy.images.unlabelled",
    "write_folder": "understudy.images.folders",
    "write_grid": "understudy.images.files",
    "write_npz": "understudy.images.files",
    "write_parquet": "understudy.images.parquet",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = [
    "BLANK",
    "ImageDataset",
    "PictureSize",
    "check_form",
    "read_folder",
    "read_npz",
    "read_parquet",
    "read_unlabelled",
    "write_folder",
    "write_grid",
    "write_npz",
    "write_parquet",
]
