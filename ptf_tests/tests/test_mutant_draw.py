# SPDX-License-Identifier: Apache-2.0
"""The list of mutants is that of the sources, and a draw is that of the list and the seed."""

from __future__ import annotations

import hashlib
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from docsis_control.project_files import ROOT
from docsis_mutants import draw, listing
from docsis_mutants.areas import Area, area_of, sites
from docsis_mutants.listing import ListError, Listing
from docsis_mutants.near import law_tests, ptf_modules
from docsis_mutants.site import Operator, Site, mutated
from docsis_ptf import catalogue

KEPT = listing.load()


def made(number: int, operator: Operator, after: str = "x", folder: str = "p4src/include") -> Site:
    return Site(f"{folder}/a.p4", number, 1, operator, "y", after, "0" * 8)


def test_the_kept_list_is_what_its_sources_give() -> None:
    """Of each file that is as it was: those that changed since are told by a run."""
    now = [site for area in Area for site in sites(ROOT, area)]
    same = [
        name
        for name, digest in KEPT.sources.items()
        if (path := ROOT / name).exists()
        and hashlib.sha256(path.read_bytes()).hexdigest() == digest
    ]
    assert same
    for name in same:
        assert [site for site in KEPT.sites if site.file == name] == [
            site for site in now if site.file == name
        ]


def test_every_site_of_the_present_sources_can_be_changed() -> None:
    for area in Area:
        found = sites(ROOT, area)
        assert len(found) > 500
        for site in found:
            text = (ROOT / site.file).read_text()
            assert mutated(site, text) != text


def test_a_list_is_read_as_it_was_written() -> None:
    before = "a = \\n + (\n    b\t)"
    site = Site("p4src/include/a.p4", 3, 4, Operator.NEGATION, before, f"!({before})", "1" * 8)
    kept = Listing({"p4src/include/a.p4": "2" * 64}, [site])
    assert listing.parse(listing.text_of(kept)) == kept


@pytest.mark.parametrize("text", ["a\tb\n", "f\tx\t1\trelation\t<\t<=\t0\n", "source\tx\n"])
def test_a_damaged_list_is_refused(text: str) -> None:
    with pytest.raises(ListError, match="line 1"):
        listing.parse(text)


def test_a_list_of_other_sources_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "p4src" / "include" / "a.p4"
    source.parent.mkdir(parents=True)
    source.write_text("const bit<8> A = 1;\n")
    found = listing.made_from(tmp_path)
    found.require_current(tmp_path)
    source.write_text("const bit<8> A = 2;\n")
    with pytest.raises(ListError, match=r"include/a\.p4 .*mutant-list"):
        found.require_current(tmp_path)


def test_operators_take_turns() -> None:
    """The numbers of a file do not crowd out its two relations."""
    many = [made(line, Operator.CONSTANT) for line in range(1, 50)]
    few = [made(line, Operator.RELATION) for line in (60, 61)]
    first = list(islice(draw.order([*many, *few], Area.P4, 1), 5))
    assert Counter(site.operator for site in first) == {
        Operator.RELATION: 2,
        Operator.CONSTANT: 3,
    }


def test_of_a_place_one_change_is_drawn() -> None:
    place = [made(1, Operator.CONSTANT, after) for after in ("0", "2", "3")]
    drawn = {next(draw.order(place, Area.P4, seed)).after for seed in range(40)}
    assert drawn == {"0", "2", "3"}
    assert len(list(draw.order(place, Area.P4, 1))) == 1


def test_a_new_site_leaves_the_order_of_the_others() -> None:
    old = [made(line, Operator.CONSTANT) for line in range(1, 30)]
    new = made(99, Operator.CONSTANT)
    order = list(draw.order([*old, new], Area.P4, 7))
    order.remove(new)
    assert order == list(draw.order(old, Area.P4, 7))


def test_the_draw_is_of_the_seed_and_of_the_area() -> None:
    drawn = {
        seed: [site.key for site in islice(draw.order(KEPT.sites, Area.LAWS, seed), 20)]
        for seed in (1, 2)
    }
    assert drawn[1] != drawn[2]
    again = [site.key for site in islice(draw.order(KEPT.sites, Area.LAWS, 1), 20)]
    assert again == drawn[1]
    assert all(key.startswith("control_plane/docsis_control/law/") for key in again)


@pytest.mark.parametrize("total", [3, 10, 60, 64, 100])
def test_every_area_has_its_share(total: int) -> None:
    shared = draw.counts(total)
    assert sum(shared.values()) == total
    assert set(shared) == set(Area)
    assert min(shared.values()) >= 1


def test_at_least_sixty_mutants_by_default() -> None:
    assert sum(draw.DEFAULT_COUNTS.values()) >= 60
    with pytest.raises(ValueError, match="COUNT=2"):
        draw.counts(2)


def test_every_source_has_nearest_tests_that_exist() -> None:
    modules = {test.module for test in catalogue.load()}
    for name in KEPT.sources:
        if area_of(name) is Area.P4:
            assert set(ptf_modules(name)) <= modules, name
        if area_of(name) is Area.LAWS:
            assert all((ROOT / path).exists() for path in law_tests(name)), name
