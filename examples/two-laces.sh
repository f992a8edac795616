#!/bin/sh
# Two laces: one is filled, signed, looked at and exported; the other takes what it is given and ends up
# with the same records. Runs in a folder of its own that is removed afterwards.
set -eu

folder=$(mktemp -d "${TMPDIR:-/tmp}/lace-two.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
cd "$folder"
export LACE_KEYS="$folder/keys"
unset LACE_STORE || true

title() { printf '\n# %s\n' "$1"; }
run() {
    printf '$'
    for word in "$@"; do
        case $word in *' '*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$@"
}
fail() { printf 'two-laces: %s\n' "$1" >&2; exit 1; }

title "Two laces and a key"
run lace init town
run lace init village
run lace key new alice

title "Records: a signed note, an answer that links to it, and two thousand made-up ones"
echo "Bridge closed on Sunday." > note.txt
run lace put --store town --group u --app notes --name bridge --header 'Tag: news' --sign note.txt
echo "Thanks!" > answer.txt
run lace put --store town --group u --app notes --name bridge/answer --link 'reply //u//notes//bridge' answer.txt
run lace gen --seed 7 --count 2000 --store town

title "A table of them, newest first"
run lace ls --store town --newest --limit 5 --columns Name,TAI,Tag

title "What rules see of the answer"
run lace facts --store town //u//notes//bridge/answer

title "Out as files of at most 256 KiB, and into the other lace"
run lace export --store town shards --shard-bytes 256k
run lace import --store village shards
run lace import --store village shards

title "Damage on the way: the good records arrive, the bad part is kept aside with its reason"
lace gen --seed 8 --count 100 > more.records
lace gen --seed 8 --count 100 --start 100 > yet-more.records
{ cat more.records; printf 'these bytes are no record'; cat yet-more.records; } > damaged.records
run lace import --store town damaged.records --rejects rejects.jsonl
cut -c 1-100 rejects.jsonl
run lace import --store village more.records yet-more.records

title "Everything is sound, and both laces hold the same records"
run lace verify --store town
run lace verify --store village
lace ls --store town --ids | sort > town.ids
lace ls --store village --ids | sort > village.ids
cmp town.ids village.ids || fail "the two laces differ"
printf '%s records in each, the same ids: checksum %s\n' "$(wc -l < town.ids | tr -d ' ')" "$(cksum < town.ids)"

title "A forgotten record does not come back"
run lace forget --store village //u//notes//bridge/answer
run lace import --store village shards
if lace get --store village //u//notes//bridge/answer 2>/dev/null; then fail "a forgotten record came back"; fi
run lace get --store village //u//notes//bridge

title "In numbers"
run lace stat --store village
