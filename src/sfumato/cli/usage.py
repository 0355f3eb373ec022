"""Wrong usage of the command line, in our own words."""

from __future__ import annotations

import re
from typing import Any

from sfumato.errors import did_you_mean

_OURS = (
    (r"Input should be a valid (number|decimal).*", "a number is needed"),
    (r"Input should be a valid integer.*", "a whole number is needed"),
    (r"Input should be a valid boolean.*", "true or false is needed"),
    (r"Input should be (greater|less) than or equal to (\S+)", r"it should be \1 than or equal to \2"),
    (r"Input should be (greater|less) than (\S+)", r"it should be \1 than \2"),
)


def in_our_words(error: Any) -> str:
    """What was wrong with the words of a command, and where its help is.

    ``error`` is what the command framework raised; its classes are private, so it is told by what it knows: the parameter
    that lacks a value or has a wrong one, the option that nobody has.
    """
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "sfumato")
    return f"{_reason(error, context)}\n{command} --help shows how it is used"


def _reason(error: Any, context: Any) -> str:
    parameter = getattr(error, "param", None)
    if hasattr(error, "param_type"):
        return f"{_called(parameter)} must be given{_meaning(parameter)}"
    if parameter is not None:
        return f"{_called(parameter)}: {_said(str(getattr(error, 'message', '')))}{_meaning(parameter)}"
    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):
        known = [name for one in getattr(context.command, "params", ()) for name in one.opts] if context else []
        return f"there is no option {option}.{did_you_mean(option, known)}".rstrip(".")
    if option is not None:
        return f"{option} needs a value after it"
    return _about_words(str(getattr(error, "message", "")), context)


def _about_words(message: str, context: Any) -> str:
    """A command nobody has, or more words than a command takes."""
    if unknown := re.fullmatch(r"No such command '(.*)'\..*", message, flags=re.DOTALL):
        known = list(getattr(context.command, "commands", ())) if context else []
        return f"there is no command {unknown[1]!r}.{did_you_mean(unknown[1], known)}".rstrip(".")
    if more := re.fullmatch(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", message, flags=re.DOTALL):
        return f"more words than {context.command_path if context else 'the command'} takes: {more[1]}"
    return _said(message)


def _called(parameter: Any) -> str:
    names = list(getattr(parameter, "opts", ()))
    option = bool(names) and names[0].startswith("-")
    return " or ".join(names) if option else f"<{getattr(parameter, 'name', 'an argument')}>"


def _meaning(parameter: Any) -> str:
    meaning = getattr(parameter, "help", None)
    return f" ({meaning})" if meaning else ""


def _said(message: str) -> str:
    for pattern, ours in _OURS:
        if re.fullmatch(pattern, message, flags=re.DOTALL):
            return re.sub(pattern, ours, message, flags=re.DOTALL)
    return message[:1].lower() + message[1:]
