"""A file system that behaves like HDFS, on this disk: a move never replaces, and says so."""

from __future__ import annotations

import os
from typing import Any

from pyarrow import fs


class Moving(fs.FileSystemHandler):  # type: ignore[misc]
    """pyarrow's local file system, with the moves of HDFS."""

    def __init__(self) -> None:
        self.local = fs.LocalFileSystem()
        self.says_no = False
        """Whether a move that was done is answered like one that failed, as a repeated request can be."""

    def get_type_name(self) -> str:
        return "moving"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        return self.local.get_file_info(paths)

    def get_file_info_selector(self, selector: fs.FileSelector) -> Any:
        return self.local.get_file_info(selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        self.local.create_dir(path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        raise NotImplementedError

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        self.local.delete_file(path)

    def move(self, src: str, dest: str) -> None:
        try:
            os.link(src, dest)
        except FileExistsError:
            raise OSError("rename returned false") from None
        os.unlink(src)
        if self.says_no:
            raise OSError("rename returned false")

    def copy_file(self, src: str, dest: str) -> None:
        raise NotImplementedError

    def open_input_stream(self, path: str) -> Any:
        return self.local.open_input_stream(path)

    def open_input_file(self, path: str) -> Any:
        return self.local.open_input_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        return self.local.open_output_stream(path)

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError
