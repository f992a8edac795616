#!/bin/sh
# A lake of records on Spark: files are taken in and checked, rules choose among the records, and the lake says
# why one was chosen and another was not. Runs in a folder of its own that is removed afterwards.
#   DEMO_RECORDS=100000   how many records
set -eu

count=${DEMO_RECORDS:-100000}
folder=$(mktemp -d "${TMPDIR:-/tmp}/lace-demo.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
cd "$folder"
unset LACE_STORE || true

title() { printf '\n# %s\n' "$1"; }
run() {
    printf '$'
    for word in "$@"; do
        case $word in *[' '\'\"*]*) printf " '%s'" "$(printf %s "$word" | sed "s/'/'\\\\''/g")" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$@"
}
fail() { printf 'demo: %s\n' "$1" >&2; exit 1; }

title "$count made-up records in files of 4 MB; a tenth of them are signed"
run lace gen --seed 7 --count "$count" shards/ --shard-bytes 4M

title "And some that are damaged: noise between two records, a changed byte, a file that was cut short"
mkdir damaged
lace gen --seed 8 --count 300 > good.records
{ cat good.records; printf 'these bytes are no record'; lace gen --seed 9 --count 100; } > damaged/noise.records
lace gen --seed 10 --count 100 | sed '40s/[a-z]/#/' > damaged/changed.records
head -c 20000 good.records > damaged/cut.records
ls -l damaged | awk 'NR > 1 { print $5, $9 }'

title "Into a lake: every hash and every signature is checked, bad parts are set aside"
run lace lake init waters
run lace lake ingest shards damaged --lake waters --report ingest.html
printf 'ingest.html: %s bytes, the same report as one page\n' "$(wc -c < ingest.html | tr -d ' ')"

title "What was rejected, where, and why"
run lace lake rejects --lake waters

title "The same files once more change nothing"
run lace lake ingest shards damaged --lake waters
run lace lake history --lake waters

title "A lake is read like a store"
run lace ls --lake waters --where Group=u --where 'Name~links/*' --limit 3 --columns Name,TAI,Author

title "Rules: links of one app that nobody is asked to skip"
cat > links.lacegram <<'RULES'
Blocked(P) :- Field(P,'Author',_,'ada').
Selected(P) :- Have(P), Field(P,'Group',_,'u'), Field(P,'App',_,'ding'), Field(P,'Name',_,N), TextShape(N,'links/','',''), not Blocked(P).
RULES
cat links.lacegram
run lace eval links.lacegram --lake waters --want Selected/1 --limit 3 | tee selected.txt

title "Rules that follow links: what is selected, and all that it gives as evidence"
cat > members.lacegram <<'RULES'
Member(P) :- Selected(P).
Member(Q) :- Member(P), RecordLink(P,'+Link',_,'evidence',Q), Have(Q).
RULES
cat links.lacegram >> members.lacegram
run lace eval members.lacegram --lake waters --want Member/1 --limit 3

title "Why is one record selected?"
chosen=$(grep -m 1 '^Selected' selected.txt || true)
[ -n "$chosen" ] || fail "no record was selected"
run lace why "$chosen" --rules links.lacegram --lake waters

title "And why not another one, by somebody who is blocked?"
other=$(lace ls --lake waters --ids --limit 1 --where Group=u --where App=ding --where 'Name~links/*' --where Author=ada)
[ -n "$other" ] || other=$(lace ls --lake waters --ids --limit 1 --where Author=ada)
run lace whynot "Selected('$other')" --rules links.lacegram --lake waters

title "Everything in the lake is sound"
run lace lake fsck --lake waters
