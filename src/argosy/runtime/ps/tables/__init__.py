"""Tables of a server: rows by id and dense ranges, in mapped files, with their rules."""
