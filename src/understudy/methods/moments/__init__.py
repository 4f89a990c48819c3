"""One private look, then everything for free: the generator of tables that Understudy recommends."""

from understudy.methods.moments.generator import MomentsGenerator

__all__ = ["MomentsGenerator"]
