"""The command line's front door: `python app.py -m model.gguf`; --help lists every flag."""

import sys

from llama.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
