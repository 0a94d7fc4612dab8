"""`python -m reprieve`."""

from reprieve.cli import main

if __name__ == "__main__":
    main()
