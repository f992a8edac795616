#!/bin/sh
# Two lakes of records on Spark, and a laptop. Files are taken in and checked, rules choose among the records
# and say why; then the two lakes exchange what their policies let go, and a laptop meets one of them over tcp.
# Runs in a folder of its own that is removed afterwards.
#   DEMO_RECORDS=50000   how many records each lake gets
set -eu

count=${DEMO_RECORDS:-50000}
folder=$(mktemp -d "${TMPDIR:-/tmp}/lace-demo.XXXXXX")
server=
clean() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 130' INT TERM
cd "$folder"
unset LACE_STORE || true
export LACE_KEYS="$folder/keys"
# A terminal gets bars; a log gets lines.
[ -t 2 ] || export LACE_PROGRESS=lines

title() { printf '\n# %s\n' "$1"; }
show() {
    printf '$'
    for word in "$@"; do
        case $word in *[' '\'\"*]*) printf " '%s'" "$(printf %s "$word" | sed "s/'/'\\\\''/g")" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
}
run() { show "$@"; "$@"; }
fail() { printf 'demo: %s\n' "$1" >&2; exit 1; }

title "A harbour and a museum: $count made-up records each, four fifths of them the same, a tenth signed"
run lace gen --seed 7 --count "$count" --pair left harbour.files/ --shard-bytes 4M
run lace gen --seed 7 --count "$count" --pair right museum.files/ --shard-bytes 4M

title "The harbour has some that are damaged: noise between two records, a changed byte, a file that was cut short"
mkdir damaged
lace gen --seed 8 --count 300 > good.records
{ cat good.records; printf 'these bytes are no record'; lace gen --seed 9 --count 100; } > damaged/noise.records
lace gen --seed 10 --count 100 | sed '40s/[a-z]/#/' > damaged/changed.records
head -c 20000 good.records > damaged/cut.records
ls -l damaged | awk 'NR > 1 { print $5, $9 }'

title "Each into a lake of its own, on Spark: every hash and every signature is checked, bad parts are set aside"
run lace lake init harbour
run lace lake init museum
run lace lake ingest harbour.files damaged --lake harbour --report ingest.html
printf 'ingest.html: %s bytes, the same report as one page\n' "$(wc -c < ingest.html | tr -d ' ')"
run lace lake ingest museum.files --lake museum

title "What was rejected, where, and why"
run lace lake rejects --lake harbour

title "Rules over the lake: links of one app that nobody is asked to skip"
cat > links.lacegram <<'RULES'
Blocked(P) :- Field(P,'Author',_,'ada').
Selected(P) :- Have(P), Field(P,'Group',_,'u'), Field(P,'App',_,'ding'), Field(P,'Name',_,N), TextShape(N,'links/','',''), not Blocked(P).
RULES
cat links.lacegram
run lace eval links.lacegram --lake harbour --want Selected/1 --limit 3 | tee selected.txt

title "Rules that follow links: what is selected, and all that it gives as evidence"
cat > members.lacegram <<'RULES'
Member(P) :- Selected(P).
Member(Q) :- Member(P), RecordLink(P,'+Link',_,'evidence',Q), Have(Q).
RULES
cat members.lacegram
cat links.lacegram >> members.lacegram
run lace eval members.lacegram --lake harbour --want Member/1 --limit 3

title "Why is one record selected?"
chosen=$(grep -m 1 '^Selected' selected.txt || true)
[ -n "$chosen" ] || fail "no record was selected"
run lace why "$chosen" --rules links.lacegram --lake harbour

title "And why not another one, by somebody who is blocked?"
other=$(lace ls --lake harbour --ids --limit 1 --where Group=u --where App=ding --where 'Name~links/*' --where Author=ada)
[ -n "$other" ] || other=$(lace ls --lake harbour --ids --limit 1 --where Author=ada)
run lace whynot "Selected('$other')" --rules links.lacegram --lake harbour

title "Who gets what: both want the group u, and the harbour keeps its cash book to itself"
cat > harbour.policy <<'POLICY'
[select]
SelectHave(P) :- Have(P), Field(P,'Group',_,'u').
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u').

[expose to anyone]
AllowQueryRecord(V,P) :- _Viewer(V), Field(P,'Group',_,'u'), not Field(P,'App',_,'cash').
POLICY
cat > museum.policy <<'POLICY'
[select]
SelectHave(P) :- Have(P), Field(P,'Group',_,'u').
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u').

[expose to anyone]
AllowQueryRecord(V,P) :- _Viewer(V), Field(P,'Group',_,'u').
POLICY
cat harbour.policy

title "The two lakes converge on Spark. What is the same on both sides costs nothing, what arrives is checked again"
run lace lake converge harbour museum --policy-a harbour.policy --policy-b museum.policy --report exchange.html
printf 'exchange.html: %s bytes, with plots of what moved\n' "$(wc -c < exchange.html | tr -d ' ')"

title "Why did a page of the cash book not go to the museum?"
page=$(lace ls --lake harbour --ids --limit 1 --where Group=u --where App=cash)
run lace why-not-send "$page" --lake harbour --policy harbour.policy --peer anonymous --peer-policy museum.policy

title "Once more, under another policy of both: what was signed in the group ops, and nothing else"
cat > signed.policy <<'POLICY'
[select]
SelectHave(P) :- Field(P,'Group',_,'ops'), Field(P,'Signed-By',_,_).
SelectAdvertised(P,S) :- AdvertisedField(P,S,'Group',_,'ops'), AdvertisedField(P,S,'Signed-By',_,_).

[expose to anyone]
AllowQueryRecord(V,P) :- _Viewer(V), Have(P).
POLICY
cat signed.policy
run lace lake converge harbour museum --policy signed.policy

title "The museum serves its lake over tcp; no Spark runs in an exchange"
show lace serve tcp:127.0.0.1:0 --lake museum --policy museum.policy '&'
: > served.txt  # the shell may look before the server has made it
lace serve tcp:127.0.0.1:0 --lake museum --policy museum.policy >> served.txt 2> server.log &
server=$!
address=
while [ -z "$address" ]; do
    kill -0 "$server" 2>/dev/null || { cat server.log >&2; fail "the server ended"; }
    address=$(grep -m 1 -o 'tcp:[0-9.:]*' served.txt || true)
    [ -n "$address" ] || sleep 0.2
done
cat served.txt

title "A laptop wants the links of one app, and brings a note of its own"
run lace init laptop
echo "Seen at the pier." > note.txt
run lace put --store laptop --group u --app ding --name links/pier note.txt
cat > laptop.policy <<'POLICY'
[select]
SelectHave(P) :- Have(P), Field(P,'Group',_,'u').
SelectAdvertised(P,S) :- AdvertisedField(P,S,'Group',_,'u'), AdvertisedField(P,S,'App',_,'ding'), AdvertisedField(P,S,'Name',_,N), TextShape(N,'links/','','').

[expose to anyone]
AllowQueryRecord(V,P) :- _Viewer(V), Field(P,'Group',_,'u').
POLICY
cat laptop.policy
run lace sync "$address" --store laptop --policy laptop.policy
run lace sync "$address" --store laptop --policy laptop.policy

title "The server is stopped, and folds the note that came into the tables of its lake"
kill "$server"
wait "$server" || fail "the server ended with an error: $(cat server.log)"
server=
grep '^lace: folded' server.log || true

title "What moved, and why: the note that went to the museum, and one of the links that came from there"
run lace history --store laptop
note=$(lace ls --store laptop --ids --where Name=links/pier)
run lace why-sent "$note" --store laptop
link=$(lace ls --store laptop --ids --where 'Name~links/*' --limit 2 | grep -v "$note" | head -n 1)
run lace why-sent "$link" --lake museum
run lace ls --lake museum --where Group=u --where Name=links/pier --columns Name,TAI
run lace lake history --lake museum

title "Everything in both lakes is sound"
run lace lake fsck --lake harbour
run lace lake fsck --lake museum
