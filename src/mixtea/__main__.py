"""`python -m mixtea` is the command `mixtea`."""

from mixtea.cli import main

if __name__ == "__main__":
    main()
