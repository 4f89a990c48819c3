"""One paper, one file: private learning that joins `learn`, `privacy` and `release`. `registry` lists the methods."""
