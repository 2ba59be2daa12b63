"""Show an argv as one shell command, for people to copy (machine-protocol §5.6). Hosts use the argv. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_POSIX_SPECIAL = frozenset(" \t\r\n\"'\\$`;&|<>()[]{}*?!#~")
_SINGLE_QUOTE = "'\"'\"'"


def posix(argv: Sequence[str]) -> str:
    """``argv`` for a POSIX shell: bare where nothing in it is special, else in single quotes."""
    return " ".join(_posix_word(word) for word in argv)


def _posix_word(word: str) -> str:
    if word and _POSIX_SPECIAL.isdisjoint(word):
        return word
    return "'" + word.replace("'", _SINGLE_QUOTE) + "'"


def windows_argument(word: str) -> str:
    """``word`` quoted so that CommandLineToArgvW gives it back."""
    if word and not any(c in word for c in ' \t\n\x0b"'):
        return word
    quoted = ['"']
    backslashes = 0
    for character in word:
        if character == "\\":
            backslashes += 1
            continue
        if character == '"':
            quoted.append("\\" * (2 * backslashes + 1))
        else:
            quoted.append("\\" * backslashes)
        quoted.append(character)
        backslashes = 0
    quoted.append("\\" * (2 * backslashes) + '"')
    return "".join(quoted)


def windows(argv: Sequence[str], system_root: str = "C:\\Windows") -> str:
    """``argv`` as a PowerShell launcher, safe in cmd.exe and PowerShell whatever the arguments hold.

    The encoded script starts ``argv[0]`` with exactly these arguments, waits, and leaves with its exit code.
    """
    from base64 import b64encode

    def literal(text: str) -> str:
        return b64encode(text.encode()).decode("ascii")

    decode = "[Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('{}'))"
    script = ";".join(
        (
            "$s=New-Object Diagnostics.ProcessStartInfo",
            "$s.UseShellExecute=$false",
            "$s.FileName=" + decode.format(literal(argv[0])),
            "$s.Arguments=" + decode.format(literal(" ".join(map(windows_argument, argv[1:])))),
            "$p=[Diagnostics.Process]::Start($s)",
            "$p.WaitForExit()",
            "exit $p.ExitCode",
        )
    )
    encoded = b64encode(script.encode("utf-16-le")).decode("ascii")
    powershell = f"{system_root}\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"
    return f"{windows_argument(powershell)} -NoLogo -NoProfile -NonInteractive -EncodedCommand {encoded}"
