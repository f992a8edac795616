"""Texts as positions: given once, checked once, and apart in forks."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest

from lace.datalog import compile_program, parse_program
from lace.engines import Database, dictionary
from lace.engines.dictionary import UNKNOWN, Dictionary
from lace.facts import Predicate, ValueNotText, ValueTooLong


def test_positions_are_given_in_order_and_stay() -> None:
    dictionary = Dictionary()
    assert dictionary.intern_column(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]
    assert dictionary.intern("d") == 3
    assert dictionary.intern_column(["d", "e", "a"]).tolist() == [3, 4, 1]
    assert dictionary.texts([4, 0, 3]) == ["e", "b", "d"]
    assert list(dictionary) == ["b", "a", "c", "d", "e"]
    assert dictionary.find("z") == UNKNOWN


def test_a_fork_sees_what_was_there_and_keeps_its_own_to_itself() -> None:
    base = Dictionary()
    base.intern_column(["a", "b"])
    fork = base.fork()
    assert fork.intern_column(["b", "x", "a", "x", "y"]).tolist() == [1, 2, 0, 2, 3]
    base.intern_column(["later", "x"])
    assert fork.find("later") == UNKNOWN
    assert fork.intern("later") == 4
    assert base.find("y") == UNKNOWN
    assert [fork.text(at) for at in range(5)] == ["a", "b", "x", "y", "later"]
    deeper = fork.fork()
    assert deeper.intern_column(["y", "q", "a"]).tolist() == [3, 5, 0]
    assert deeper.texts([0, 3, 5]) == ["a", "y", "q"]
    assert list(deeper) == ["a", "b", "x", "y", "later", "q"]


def test_a_fork_that_follows_gives_a_text_one_position_whoever_brought_it_first() -> None:
    base = Dictionary()
    base.intern_column(["a", "b"])
    fork, other = base.fork(), base.fork()
    fork.intern_column(["x", "y"])
    base.intern_column(["c", "x", "d"])
    fork.follow(4)
    assert list(fork) == ["a", "b", "x", "y", "c"]
    assert (fork.find("x"), fork.find("c"), fork.find("d")) == (2, 4, UNKNOWN)
    fork.follow(len(base))
    assert fork.place(np.arange(5, dtype=np.int32)).tolist() == [0, 1, 4, 2, 5]
    assert fork.intern_row(["c", "x", "d", "e"]) == (4, 2, 5, 6)
    assert fork.intern_column(["d", "f", "c"]).tolist() == [5, 7, 4]
    assert fork.find_column(["a", "e", "d", "?"]).tolist() == [0, 6, 5, UNKNOWN]
    assert base.find("e") == base.find("y") == UNKNOWN
    assert list(base) == ["a", "b", "c", "x", "d"]
    for size in (2, 5):
        # What both know of the base goes over by position, the rest as text.
        other.follow(size)
        carried = fork.carry(np.array([1, 2, 3, 5, 6], np.int32), other)
        assert other.texts(carried.tolist()) == ["b", "x", "y", "d", "e"]
    assert other.find("d") == fork.carry(np.array([5], np.int32), other)[0]


@pytest.mark.parametrize("many", [1, 100])
def test_a_fork_without_texts_of_its_own_has_those_of_its_base_where_they_stand_there(many: int) -> None:
    base = Dictionary()
    base.intern_column(["a", "b"])
    fork = base.fork()
    base.intern_column([f"c{at}" for at in range(many)])
    fork.follow(len(base))
    same = np.arange(2 + many, dtype=np.int32)
    assert fork.keeps(2 + many)
    assert not fork.follows
    assert fork.place(same) is same
    assert fork.intern("own") == 2 + many
    base.intern_column([f"d{at}" for at in range(many)])
    fork.follow(len(base))
    assert fork.follows
    assert fork.keeps(2 + many)
    assert not fork.keeps(3 + many)
    assert fork.place_row((0, 1 + many, 2 + many)) == (0, 1 + many, 3 + many)
    assert fork.texts(fork.place(np.arange(len(base), dtype=np.int32)).tolist()) == list(base)
    base.intern_column(["own", "e"])
    fork.follow(len(base))
    assert (fork.find("own"), fork.find("e")) == (2 + many, 3 + 2 * many)
    assert fork.texts(fork.place(np.arange(len(base), dtype=np.int32)).tolist()) == list(base)


def test_texts_of_a_set_are_found_among_what_is_new() -> None:
    base = Dictionary()
    base.intern_column(list("abcdef"))
    wanted = {"b", "e", "f", "z"}
    assert sorted(base.find_some(wanted, 2).tolist()) == [4, 5]
    assert sorted(base.find_some({"b", "f"}, 5).tolist()) == [5]
    fork = base.fork()
    fork.intern_column(["z", "y"])
    assert fork.find_some(wanted).tolist() == [6]


BAD = [
    ("cafe\u0301", ValueNotText),
    ("\ud800", ValueNotText),
    ("x" * 1025, ValueTooLong),
    ("é" * 513, ValueTooLong),
]


@pytest.mark.req("030-001", "030-002")
@pytest.mark.parametrize(("value", "error"), BAD)
@pytest.mark.parametrize("many", [1, 2000])
def test_a_value_that_no_fact_may_hold_is_refused_and_leaves_nothing(
    value: str, error: type[Exception], many: int
) -> None:
    database = Database([("B", "fine")])
    with pytest.raises(error):
        database.add([*[("B", f"b{at}") for at in range(many)], ("B", value)])
    program = compile_program(parse_program("A(X) :- B(X)."))
    assert database.evaluate(program).result().facts(Predicate("A", 1)) == [("fine",)]
    with pytest.raises(error):
        database.evaluate(program, facts=[("B", value)])
    running = database.evaluate(program)
    with pytest.raises(error):
        running.insert([("B", value)])
    assert running.insert([("B", "more")]).count(Predicate("A", 1)) == 2


def test_the_value_limit_can_be_set() -> None:
    with pytest.raises(ValueTooLong):
        Database([("B", "abcd")], value_bytes=3)
    Database([("B", "x" * 5000)], value_bytes=5000)


def test_a_fork_that_could_not_follow_has_followed_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    base = Dictionary()
    base.intern("a")
    fork = base.fork()
    later = [f"t{at}" for at in range(100)]
    base.intern_column(later)

    def fails(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(Dictionary, "_follow_many", fails)
        with pytest.raises(MemoryError):
            fork.follow(len(base))
    assert fork.find("t7") == UNKNOWN
    fork.intern("own")
    fork.follow(len(base))
    assert fork.texts([fork.find(text) for text in later]) == later
    assert fork.texts(fork.place(base.find_column(later)).tolist()) == later


@pytest.mark.parametrize("ways", [("intern", "b"), ("intern_row", ("b", "c")), ("intern_rows", [("b", "c")])])
def test_an_interruption_anywhere_leaves_each_text_a_position_of_its_own(ways: tuple[str, Any]) -> None:
    name, given = ways

    def interrupted(after: int) -> tuple[Dictionary, bool]:
        texts, left = Dictionary(), iter(range(after))
        texts.intern("a")

        def look(frame: FrameType, event: str, _: object) -> Any:
            ours = frame.f_code.co_filename == dictionary.__file__ and event in ("line", "return")
            if ours and next(left, None) is None:
                raise KeyboardInterrupt
            return look

        before = sys.gettrace()
        sys.settrace(look)
        try:
            getattr(texts, name)(given)
        except KeyboardInterrupt:
            return texts, True
        finally:
            sys.settrace(before)
        return texts, False

    for after in range(200):
        texts, was_interrupted = interrupted(after)
        for text in ("d", "a", "b", "c", "e"):
            assert texts.text(texts.intern(text)) == text, after
        if not was_interrupted:
            return
    raise AssertionError("it never came to its end")
