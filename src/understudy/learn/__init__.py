"""Learning on private rows, with no notion of privacy: partitions, networks, and ensembles of teachers.

Everything that comes out of this room is as private as what went in. Only the gate in `privacy` may let it out.
"""
