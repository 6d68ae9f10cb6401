"""Arrays and plans in, tables and figures out; runs nothing."""
