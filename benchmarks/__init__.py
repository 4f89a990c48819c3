"""What the papers' tables, our own figures and other people's programs are measured with. Not in the wheel: run from a clone.

    python -m benchmarks list
    python -m benchmarks run pategan-1 --size full
    python -m benchmarks document

A benchmark is a declaration (`declare.py`): parts that measure, and quotes that say which number of a paper each measurement
stands beside. One registry names them, one runner serves them all, and each leaves one file in `benchmarks/results/`.
"""
