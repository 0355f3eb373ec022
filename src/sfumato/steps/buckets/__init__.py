"""How classes of records are made that look like the table: buckets, classes that share them out, what is released."""
