"""Who reads the rows and adds them up: one machine over files that do not fit into memory, or a cluster.

An engine reads, batches and adds. What a batch of rows says in whole numbers is one function for all of them
(`understudy.tables.batches`), and the noise is drawn once, elsewhere, on the same integers.
"""

from understudy.engines.adding import Adder, Threads
from understudy.engines.parted import PartedRows
from understudy.engines.shelf import Shelf
from understudy.engines.sources import RowSource, open_source

__all__ = ["Adder", "PartedRows", "RowSource", "Shelf", "Threads", "open_source"]
