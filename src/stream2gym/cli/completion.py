"""``completion``: print the script that makes a shell complete commands, options, examples, runs and components."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")
COMMANDS = ["s2g", "stream2gym"]
EPILOG = """\
Put into the start file of your shell:
  bash  eval "$(s2g completion bash)"           in ~/.bashrc
  zsh   eval "$(s2g completion zsh)"            in ~/.zshrc, after compinit
  fish  s2g completion fish | source            in ~/.config/fish/config.fish
In a clone, ./s2g is completed, too.
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=SHELLS, help="the shell that will read the script")


def run(args: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(COMMANDS, shell=args.shell))
    return 0
