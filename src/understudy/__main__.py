"""`python -m understudy` is the command line too."""

from understudy.cli import main

if __name__ == "__main__":
    main()
