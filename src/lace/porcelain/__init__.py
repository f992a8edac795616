"""What a user works with: a Lace, keys, streams of records, tables, and made-up record sets."""

from lace.porcelain.export import ExportReport, write_records
from lace.porcelain.files import FileExists, FileRefused, file_faults, new_file
from lace.porcelain.formats import TABLE_FORMATS, TableFormat, cell_text, row_object
from lace.porcelain.generate import BadShape, Shape, generate, generate_pair
from lace.porcelain.journal import Counts
from lace.porcelain.keybackup import DamagedBackup, NewerBackup
from lace.porcelain.keyfile import (
    BadKeyName,
    DamagedKey,
    EmptyPassphrase,
    NewerKey,
    OtherVerifier,
    PassphraseNeeded,
    ScryptCost,
    WrongPassphrase,
)
from lace.porcelain.keyring import KeyEntry, Keyring, NoSuchBackup, NoSuchKey, NothingToBackUp
from lace.porcelain.lace import BlobStaysBare, HalfAPlace, Lace, new_secret, now_tai
from lace.porcelain.place import FOLDER, STORE_FILE, LaceExists, NoLace, store_file
from lace.porcelain.private import AlreadyThere, DiskRefuses, OpenToOthers
from lace.porcelain.readahead import ReaderLost
from lace.porcelain.reference import (
    AmbiguousId,
    BadCoordinate,
    Coordinate,
    NoSuchId,
    NotAReference,
    NothingThere,
    parse_coordinate,
)
from lace.porcelain.shards import SHARD_BYTES, ShardsExist, ShardWriter
from lace.porcelain.sources import BadManifest, NothingToImport
from lace.porcelain.table import (
    ALL_COLUMNS,
    COLUMNS,
    ID_COLUMN,
    BadColumn,
    BadCondition,
    BadType,
    Cell,
    Condition,
    Row,
    TableView,
    parse_condition,
    table_rows,
)
from lace.porcelain.times import NotATime, parse_time, show_time, tai_from_nanoseconds
from lace.porcelain.transfer import ImportProgress, ImportReport

__all__ = [
    "ALL_COLUMNS", "COLUMNS", "FOLDER", "ID_COLUMN", "SHARD_BYTES", "STORE_FILE", "TABLE_FORMATS",
    "AlreadyThere", "AmbiguousId", "BadColumn", "BadCondition", "BadCoordinate", "BadKeyName", "BadManifest",
    "BadShape", "BadType", "BlobStaysBare", "Cell", "Condition", "Coordinate", "Counts", "DamagedBackup",
    "DamagedKey", "DiskRefuses", "EmptyPassphrase", "ExportReport", "FileExists", "FileRefused",
    "HalfAPlace", "ImportProgress", "ImportReport", "KeyEntry", "Keyring", "Lace", "LaceExists",
    "NewerBackup", "NewerKey", "NoLace", "NoSuchBackup", "NoSuchId", "NoSuchKey", "NotAReference",
    "NotATime", "NothingThere", "NothingToBackUp", "NothingToImport", "OpenToOthers", "OtherVerifier",
    "PassphraseNeeded", "ReaderLost", "Row", "ScryptCost", "Shape", "ShardWriter", "ShardsExist",
    "TableFormat", "TableView", "WrongPassphrase", "cell_text", "file_faults", "generate", "generate_pair",
    "new_file", "new_secret", "now_tai", "parse_condition", "parse_coordinate", "parse_time", "row_object",
    "show_time", "store_file", "table_rows", "tai_from_nanoseconds", "write_records",
]  # fmt: skip
