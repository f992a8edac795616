"""What can go wrong, cut by what the caller does next.

LaceError                      code "area/what", stable; fields; a sentence filled from them
├── InputError                 the given bytes or text are wrong: fix the input
│   ├── TextError              B64A, UTF-8, NFC, TAI, identifiers
│   ├── RecordError            bytes that are no valid record
│   ├── FactError              values and lines that are no facts
│   └── LacegramError          a program with diagnostics, all of them at once
├── PolicyError                operands that do not make a plan: change the policy
├── ProtocolError
│   ├── LocalProtocolError     our caller broke the machine's rules: our bug
│   └── RemoteProtocolError    the peer did: abort as 050 says
├── LimitExceeded              which limit, its bound, what was seen: raise it or refuse
├── StoreError                 a store or key file cannot do what was asked
│   ├── Missing                nothing is there under that name
│   ├── Corrupt                what is there is not what was put there
│   └── Unavailable            locked, full, read-only, newer: the world stands in the way
└── EngineError                a back end failed

Concrete classes live beside the code that raises them. docs/reference/errors.md is made from them.
"""

from __future__ import annotations

from typing import Any, ClassVar


class LaceError(Exception):
    """Everything this library raises on purpose.

    >>> error = LimitExceeded(limit="headers", bound=1024, seen=1025)
    >>> error.code, str(error)
    ('limit/exceeded', 'headers: 1025 is over the limit of 1024')
    """

    code: ClassVar[str] = "lace/error"
    text: ClassVar[str] = "{reason}"
    exit_code: ClassVar[int] = 1

    def __init__(self, **fields: Any) -> None:
        super().__init__(fields)
        self.fields = fields

    def __str__(self) -> str:
        return self.text.format_map(self.fields)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.code}: {self})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross process borders (import workers, Spark): rebuild from the fields.
        return _rebuild, (type(self), self.fields)

    @property
    def sentence(self) -> str:
        """What is said where the parts of an error of many are shown beside it."""
        return str(self)

    def to_json(self) -> dict[str, Any]:
        """Return the error as a program reads it."""
        plain = {k: v if isinstance(v, int | str | None) else str(v) for k, v in self.fields.items()}
        return {"code": self.code, "error": str(self), **plain}


def _rebuild(cls: type[LaceError], fields: dict[str, Any]) -> LaceError:
    return cls(**fields)


class InputError(LaceError):
    """The given bytes or text are wrong."""

    code = "input/error"
    exit_code = 3

    @property
    def offset(self) -> int | None:
        """The byte at which the fault was seen, where there is one."""
        return self.fields.get("offset")


class TextError(InputError):
    """Text that breaks a spelling rule."""

    code = "text/error"


class RecordError(InputError):
    """Bytes that are no valid record."""

    code = "record/error"


class FactError(InputError):
    """A value or line that is no fact."""

    code = "fact/error"


class LacegramError(InputError):
    """A program that does not check; carries every diagnostic."""

    code = "lacegram/error"


class PolicyError(LaceError):
    """Operands that do not make a plan."""

    code = "policy/error"
    exit_code = 4


class ProtocolError(LaceError):
    """The rules of an exchange were broken."""

    code = "protocol/error"
    exit_code = 5


class LocalProtocolError(ProtocolError):
    """Our own caller broke them."""

    code = "protocol/local"


class RemoteProtocolError(ProtocolError):
    """The peer broke them."""

    code = "protocol/remote"


class LimitExceeded(LaceError):
    """A named bound was passed."""

    code = "limit/exceeded"
    text = "{limit}: {seen} is over the limit of {bound}"
    exit_code = 6


class StoreError(LaceError):
    """A store or key file cannot do what was asked."""

    code = "store/error"
    exit_code = 7


class Missing(StoreError):
    """Nothing is there under that name."""

    code = "store/missing"
    text = "{what} is not in {where}"
    exit_code = 1


class Corrupt(StoreError):
    """What is there is not what was put there."""

    code = "store/corrupt"
    text = "{what} is damaged: {reason}"


class Unavailable(StoreError):
    """The world stands in the way."""

    code = "store/unavailable"
    text = "{where}: {reason}"


class EngineError(LaceError):
    """A back end failed."""

    code = "engine/error"
    exit_code = 8
