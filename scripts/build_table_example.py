"""Make the two tables of the bundled example: films in two catalogues that write them differently. All are invented.

python scripts/build_table_example.py examples
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

FIRST = ["Silent", "Crimson", "Paper", "Northern", "Borrowed", "Hollow", "Glass", "Winter", "Second", "Copper"]
SECOND = ["Harbour", "Orchard", "Letter", "Lighthouse", "Parade", "Garden", "Machine", "River", "Station", "Theatre"]
GIVEN = ["Ada", "Bruno", "Clara", "Dario", "Edith", "Felix", "Greta", "Hugo", "Ines", "Jonas"]
FAMILY = ["Marlow", "Okafor", "Lindqvist", "Ferrante", "Novak", "Haddad", "Brandt", "Sato", "Moreau", "Quinn"]
GENRES = ["drama", "comedy", "thriller", "documentary"]
N_BOTH, N_ALONE = 60, 15


def film(rng: random.Random, taken: set[str]) -> dict[str, object]:
    title = next(one for one in iter(lambda: f"The {rng.choice(FIRST)} {rng.choice(SECOND)}", "") if one not in taken)
    taken.add(title)
    director = (rng.choice(GIVEN), rng.choice(FAMILY))
    return {"title": title, "director": director, "year": rng.randint(1951, 2019), "minutes": rng.randint(74, 171),
            "genre": rng.choice(GENRES)}  # fmt: skip


def misspelt(rng: random.Random, text: str) -> str:
    """Leave one letter within a word out, of one text in four."""
    place = rng.randrange(5, len(text) - 1)
    return text[:place] + text[place + 1 :] if rng.random() < 0.25 and text[place].isalpha() else text


def main(folder: Path) -> None:
    rng, taken = random.Random(7), set[str]()
    films = [film(rng, taken) for _ in range(N_BOTH + 2 * N_ALONE)]
    cinema, archive = films[: N_BOTH + N_ALONE], films[:N_BOTH] + films[N_BOTH + N_ALONE :]
    codes = {id(one): f"F{number:03}" for number, one in enumerate(rng.sample(archive, len(archive)), 1)}
    with (folder / "cinema.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["id", "title", "director", "year", "runtime", "genre"])
        for number, one in enumerate(cinema, 1):
            name = " ".join(one["director"])
            rows.writerow(
                [number, misspelt(rng, one["title"]), name, one["year"], f"{one['minutes']} min", one["genre"]]
            )
    with (folder / "archive.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["code", "film", "made_by", "released", "length"])
        for one in sorted(archive, key=lambda one: codes[id(one)]):
            name = f"{one['director'][1]}, {one['director'][0]}"
            title = f"{one['title'].removeprefix('The ')}, The" if rng.random() < 0.3 else one["title"]
            released = one["year"] + (rng.random() < 0.1)
            rows.writerow([codes[id(one)], title, name, released, one["minutes"] + rng.choice([0, 0, 1])])
    with (folder / "reference.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["source", "target"])
        rows.writerows([number, codes[id(one)]] for number, one in enumerate(films[:N_BOTH], 1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
