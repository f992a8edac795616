"""A lake from Python: frames out, frames in, the same answers as a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lace.datalog import check_proof, parse_program
from lace.facts import RECORD_PREDICATES, NotAPredicate, Predicate, facts_of_record
from lace.porcelain import (
    AmbiguousAnswers,
    FrameNotRead,
    NoSuchTable,
    SparkLake,
    Workbench,
    WrongArgument,
    generate,
    lake_source,
)
from lace.stores import MemoryStore
from tests.sparkling import spark as spark

pytest.importorskip("pyarrow", reason="the spark extra is not installed")

from lace.pipeline import BadDataFile, NotALake, RecordFactsAreTheLakes
from tests.pipeline.lakes import flip_unnoticed, lake_of

pytestmark = pytest.mark.spark

RECORDS = list(generate(6, 400))
RULES = """Selected(P) :- Have(P), Field(P,'Group',_,'u'), not Skipped(P).
Member(P) :- Selected(P).
Member(Q) :- Member(P), RecordLink(P,_,_,_,Q), Have(Q)."""


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> SparkLake:
    return SparkLake(lake_of(tmp_path_factory.mktemp("lake") / "L", RECORDS[:150], RECORDS[150:]), spark)


@pytest.fixture(scope="module")
def bench() -> Workbench:
    store = MemoryStore()
    store.put_many(RECORDS)
    bench = Workbench(store)
    bench.use(parse_program(RULES))
    return bench


def test_tables_and_facts_are_frames(lake: SparkLake) -> None:
    assert lake.table("records").count() == 400
    assert lake.table("records", version=1).count() == 150
    assert lake.facts("Field").columns == ["record", "name", "index", "value"]
    for wrong in (lambda: lake.table("nothing"), lambda: lake.facts("Selected")):
        with pytest.raises(NoSuchTable, match="it has"):
            wrong()


def test_tables_are_views_for_sql(lake: SparkLake) -> None:
    names = lake.register_views("test_")
    assert "test_fields" in names
    [[count]] = lake.session.sql(
        "SELECT count(DISTINCT record) FROM test_fields WHERE name = 'Type'"
    ).collect()
    assert count == 400


def test_rules_derive_what_they_derive_over_a_store(lake: SparkLake, bench: Workbench) -> None:
    answers = lake.evaluate(RULES)
    assert set(answers) == {"Selected", "Member"}
    for name in answers:
        mine = sorted(tuple(row) for row in answers[name].collect())
        assert mine == bench.evaluate().result.facts(Predicate(name, 1))
        assert mine
    assert [each.strategy for each in answers.report.components]


def test_a_frame_is_a_relation_for_rules(lake: SparkLake) -> None:
    skipped = lake.table("records").where("group = 'u'").select("id").limit(3)
    repeated = skipped.union(skipped)
    all_of_them = lake.evaluate(RULES)["Selected"].count()
    assert lake.evaluate(RULES, frames={"Skipped": repeated})["Selected"].count() == all_of_them - 3
    with pytest.raises(RecordFactsAreTheLakes, match="Have/1"):
        lake.evaluate(RULES, frames={"Have": skipped})
    wide = skipped.selectExpr("id", "id AS again")
    for name in ("Skipped", "Have"):
        with pytest.raises(FrameNotRead, match=f"frame {name} has 2 columns, and the rules read {name}/1"):
            lake.evaluate(RULES, frames={name: wide})
    with pytest.raises(NotAPredicate, match=r"'Skipped/1' .* under the name alone"):
        lake.workbench(frames={"Skipped/1": skipped})
    assert "Selected" in lake.evaluate(RULES, frames={"Other": wide}), "as facts that no rule reads"


def test_predicates_of_one_name_are_told_apart_by_their_arity(lake: SparkLake) -> None:
    found = lake.evaluate("A(P) :- Have(P).\nA(P,V) :- Field(P,'Group',_,V).\nB(P) :- A(P).")
    assert (list(found), len(found)) == (["A/1", "A/2", "B"], 3)
    assert (found["A/1"].columns, found["A/2"].columns) == (["c0"], ["c0", "c1"])
    assert found["B"].columns == found["B/1"].columns == ["c0"]
    assert ("A" in found, "A/3" in found, found.get("A/3")) == (True, False, None)
    with pytest.raises(AmbiguousAnswers, match="called A: ask for one of A/1, A/2"):
        _ = found["A"]


def test_reasons_are_those_of_a_store(lake: SparkLake, bench: Workbench) -> None:
    answers = lake.evaluate(RULES, wanted=[Predicate("Member", 1)])
    [fact] = [("Member", *values) for values in bench.evaluate().result.facts(Predicate("Member", 1))[:1]]
    proof = answers.why(fact)
    assert proof is not None
    assert proof.to_json() == bench.why(fact).to_json()  # type: ignore[union-attr]
    facts = [each for record in RECORDS for each in facts_of_record(record)]
    assert check_proof(proof, parse_program(RULES), facts) == []
    stranger = ("Member", f"P.{'0' * 43}.H3")
    assert answers.why(stranger) is None
    # Any witness will do, and the two engines meet them in another order.
    told = [
        [
            (r["rule"]["number"], r["at"], r["failed"]["kind"], r["failed"]["size"])
            for r in each.to_json()["rules"]
        ]
        for each in (answers.why_not(stranger), bench.why_not(stranger))
    ]
    assert told[0] == told[1]
    assert len(told[0]) == 2


def test_no_more_answers_come_than_were_asked_for(
    lake: SparkLake, bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # These two bring everything.
    monkeypatch.delattr("lace.engines.spark.SparkResult.facts")
    monkeypatch.delattr("lace.engines.spark.SparkResult.lookup")
    mine = lake.workbench()
    for question, is_counted in (
        ("Have(P), Field(P,N,I,V)", True),
        ("Field(P,'Group',_,G)", False),
        ("RecordLink(P,_,_,_,P)", False),
    ):
        wanted = bench.ask(question, limit=3)
        more = None if wanted.more and not is_counted else wanted.more
        assert mine.ask(question, limit=3) == wanted._replace(more=more), question
    assert mine.ask(f"Have('{RECORDS[0].id}')").rows == [()]
    # Spark counts in fewer bits than we do.
    assert mine.ask("Have(P)", limit=1 << 40) == bench.ask("Have(P)")


def test_damaged_files_are_told_before_and_while_spark_reads_them(spark: Any, tmp_path: Path) -> None:
    lake = SparkLake(lake_of(tmp_path / "L", RECORDS[:100]), spark)
    (file,) = lake.lake.snapshot().of("fields")
    path = Path(lake.lake.where, file.path)
    whole = path.read_bytes()
    bench = lake.workbench()
    for data, reads in (
        (whole[:-200] + bytes([whole[-200] ^ 4]) + whole[-199:], lambda: lake.table("fields")),
        (flip_unnoticed(path, "value"), bench.evaluate),
    ):
        path.write_bytes(data)
        bench.use(parse_program("V(X) :- Field(_,_,_,X)."))
        with pytest.raises(BadDataFile, match="fsck") as told:
            reads()
        assert told.value.fields["path"] == file.path
    # How many facts there are is in the manifest: no job looks at the files.
    path.unlink()
    assert bench._facts.database._engine.sizes(RECORD_PREDICATES)[Predicate("Field", 4)] == file.rows  # type: ignore[attr-defined]


def test_rules_do_not_find_less_in_a_session_that_leaves_bad_files_out(spark: Any, tmp_path: Path) -> None:
    from py4j.protocol import Py4JJavaError

    lenient = spark.newSession()
    lenient.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    lenient.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    lake = SparkLake(lake_of(tmp_path / "L", RECORDS[:100]), lenient)
    (file,) = lake.lake.snapshot().of("fields")
    path = Path(lake.lake.where, file.path)
    path.write_bytes(flip_unnoticed(path, "value"))
    with pytest.raises(BadDataFile, match="fsck"):
        lake.evaluate("V(X) :- Field(_,_,_,X).")
    frame = lake.table("fields")
    path.unlink()
    with pytest.raises(Py4JJavaError, match="FILE_NOT_EXIST"):
        frame.collect()


def test_a_lake_is_read_as_a_lace(lake: SparkLake) -> None:
    with lake.lace() as lace:
        assert lace.get(RECORDS[3].id).raw == RECORDS[3].raw


def test_open_makes_a_lake_only_where_it_is_asked_to(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(NotALake):
        SparkLake.open(tmp_path / "new", session=spark)
    (tmp_path / "in.records").write_bytes(b"".join(record.raw for record in RECORDS[:20]))
    made = SparkLake.open(tmp_path / "new", session=spark, create=True)
    assert made.ingest(tmp_path / "in.records").stored == 20
    assert SparkLake.open(tmp_path / "new", session=spark).table("records").count() == 20


def test_sources_that_are_no_paths_are_refused_with_what_would_do() -> None:
    with pytest.raises(WrongArgument, match="each an argument of its own"):
        lake_source(["a.records"])  # type: ignore[arg-type]
