"""Times that asv takes at two commits."""
