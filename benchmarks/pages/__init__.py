"""The pages of the documentation that are made from results."""
