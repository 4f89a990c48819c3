"""Other people's programs, each in an environment of its own."""
