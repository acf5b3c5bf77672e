"""The version of this program, as /props, --version and `system_fingerprint` show it."""

VERSION = "0.1.0"
