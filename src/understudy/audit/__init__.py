"""Attacks that try to break the claimed epsilon: replay, the ratio of a transcript, and canaries.

They see what an attacker may see, and more: the numbers that went into the gate. Nothing of an audit may be published.
"""
