"""A release: the data to share, what was promised and found, and the folders that hold them."""

from __future__ import annotations

from sfumato.core.parameters import Members

VERBS = Members(
    __name__,
    {
        "make": "make:make_release",
        "verify": "verify:verify",
        "explain": "explanation:explain_release",
        "write": "publish:publish",
        "write_table": "publish:publish_table",
        "write_data": "publish:publish_data",
        "write_table_files": "publish:write_table_files",
        "write_data_files": "data_files:write_data_files",
    },
)
"""How a release is run again, explained, verified and written, and where that is. A release offers
it and asks here, since whatever does it is built on releases.
"""
