"""One short module an architecture, or a family of them; each states how it differs from the shared blocks."""
