from explorer.contract import FetchMode, MetaFilter
from explorer.ui.trail import Trail, View


def at(workspace: str, query: str = "") -> View:
    return View(MetaFilter(workspace=workspace), query, FetchMode.KEYWORD if query else None)


def test_back_and_forward_walk_the_trail() -> None:
    trail = Trail(View())
    assert not trail.can_go_back
    assert not trail.can_go_forward
    trail.go(at("a"))
    trail.go(at("b"))
    assert trail.back() == at("a")
    assert trail.can_go_forward
    assert trail.back() == View()
    assert not trail.can_go_back
    assert trail.forward() == at("a")
    assert trail.forward() == at("b")
    assert trail.forward() == at("b")


def test_going_somewhere_drops_what_was_ahead() -> None:
    trail = Trail(View())
    trail.go(at("a"))
    trail.go(at("b"))
    trail.back()
    trail.go(at("c"))
    assert not trail.can_go_forward
    assert trail.back() == at("a")


def test_the_same_view_is_no_step() -> None:
    trail = Trail(View())
    assert not trail.go(View())
    assert trail.go(at("a"))
    assert not trail.go(at("a"))
    assert trail.back() == View()
    assert not trail.can_go_back


def test_typing_on_is_one_step() -> None:
    trail = Trail(View())
    trail.go(at("a"))
    for query in ("r", "ru", "rust"):
        trail.go(at("a", query))
    assert trail.current.query == "rust"
    assert trail.back() == at("a")
    assert trail.back() == View()


def test_a_search_refined_by_a_filter_is_a_step_of_its_own() -> None:
    trail = Trail(View())
    trail.go(at("a", "rust"))
    trail.go(at("b", "rust"))
    trail.go(at("b", "rusty"))
    assert trail.back() == at("b", "rust")
    assert trail.back() == at("a", "rust")


def test_ending_a_search_is_a_step() -> None:
    trail = Trail(at("a"))
    trail.go(at("a", "rust"))
    trail.go(at("a"))
    assert trail.back() == at("a", "rust")
