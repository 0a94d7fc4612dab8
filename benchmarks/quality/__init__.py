"""How good plans are: against proven optima, over random worlds with seeds. `make quality` makes the table."""
