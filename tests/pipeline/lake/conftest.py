"""What tests of the lake share: a new lake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lace.pipeline import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return an empty lake."""
    from lace.pipeline import create_lake

    return create_lake(tmp_path / "lake")
