from argosy.runtime.ps.server import view


def part(table="emb", **changes):
    known = {
        "table": table, "kind": "sparse", "mode": "async", "rows": 1000, "dim": 8, "bytes": 50_000,
        "pulls": 10, "pushes": 5, "rows_pulled": 100,
        "rows_pushed": 50, "staleness": 1,
    }  # fmt: skip
    return {**known, **changes}


def test_tables_are_added_up_over_servers_and_the_heaviest_comes_first():
    light, heavy = part("light", bytes=10), part("heavy", bytes=90_000, rows=7)
    sample = view.Sample(
        1.0, {"a:1": [light, heavy], "b:2": [part("heavy", bytes=10_000, rows=5, staleness=4)]}
    )
    shown = view.view(sample)
    assert [t.name for t in shown.tables] == ["heavy", "light"]
    assert (shown.tables[0].rows, shown.tables[0].num_bytes, shown.tables[0].staleness) == (
        12,
        100_000,
        4,
    )
    assert (shown.rows, shown.num_bytes, shown.staleness) == (1012, 100_010, 4)


def test_rates_are_differences_per_second():
    before = view.Sample(10.0, {"a:1": [part()]})
    now = view.Sample(12.0, {"a:1": [part(pulls=30, pushes=9, rows_pulled=4100, rows_pushed=60)]})
    [table] = view.view(now, before).tables
    assert (table.pull_rate, table.push_rate, table.row_pull_rate, table.row_push_rate) == (
        10.0,
        2.0,
        2000.0,
        5.0,
    )


def test_a_server_that_counts_from_0_again_shows_no_negative_rate():
    before, now = view.Sample(0.0, {"a:1": [part()]}), view.Sample(1.0, {"a:1": [part(pulls=0)]})
    assert view.view(now, before).tables[0].pull_rate == 0.0


def test_a_line_says_who_is_missing():
    dense = part("dense", kind="dense", rows=9)
    sample = view.Sample(0.0, {"a:1": [part(), dense], "b:2": None})
    assert (
        view.one_line(view.view(sample))
        == "1 of 2 servers, 2 tables, 1.0k rows, 100 kB, 0 pulls/s, 0 pushes/s, staleness 1"
    )


def test_only_what_happens_is_worth_a_line():
    first = view.view(view.Sample(0.0, {"a:1": [part()]}))
    same = view.view(view.Sample(9.0, {"a:1": [part()]}))
    later = view.view(view.Sample(9.0, {"a:1": [part(pushes=6)]}))
    gone = view.view(view.Sample(9.0, {"a:1": None}))
    assert view.key_of(first) == view.key_of(same)
    assert len({view.key_of(v) for v in (first, later, gone)}) == 3


def test_cells_fit_their_head():
    [line] = view.cells(view.view(view.Sample(0.0, {"a:1": [part()]})))
    assert len(line) == len(view.HEAD)
    assert line[:6] == ("emb", "sparse", "async", "8", "1.0k", "50.0 kB")


def test_text_tables_line_up():
    text = view.text_table(("name", "rows"), [("a", "5"), ("longer", "12345")], [False, True])
    assert text == "name     rows\na           5\nlonger  12345"


def test_rows_are_shown_with_short_numbers():
    assert view.row_text({"id": 3, "value": [0.5, 1 / 3]}) == "id: 3\nvalue: [0.5, 0.333333]"
