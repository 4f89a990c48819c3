"""Rules: public statements of the owner about every row, such as `discharge >= admission`.

Some are built into the table that is learnt (`building`), so that nothing can break them; of the rest, rows are drawn again.
Only the grammar is loaded with a schema; what works on rows is loaded when there are some.
"""

from __future__ import annotations

from understudy.tables.rules.grammar import Rule, parse_rules

__all__ = ["Rule", "parse_rules"]
