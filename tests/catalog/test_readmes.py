"""READMEs of the applications, which their pages show: what it is, what one gets, and commands last."""

from __future__ import annotations

from vetro.packages.bundle import applications


def test_a_readme_says_what_it_is_and_what_one_gets_before_any_command() -> None:
    """They began with a command, where somebody wanted to know whether this is what they look for."""
    newest = {name: folders[-1] for name, folders in applications().items()}
    assert len(newest) > 8
    for name, folder in newest.items():
        heading, what, get, *rest = (folder / "README.md").read_text("utf-8").split("\n\n")
        assert heading.startswith("# ") and what[0].isalpha(), name
        assert get.startswith("**What you get**: "), name
        text = "\n\n".join(rest)
        assert text.index("```sh") > text.index("## From a terminal") > text.index("| action | does |"), name
