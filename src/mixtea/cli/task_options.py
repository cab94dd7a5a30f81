"""Options of the task, shared by all verbs that read one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

from mixtea.cli import options
from mixtea.cli.console import print_encoded
from mixtea.graph.task import Task
from mixtea.io.load import load_task


@dataclass(frozen=True)
class TaskOptions:
    """One field per option, of the same name. A verb gets them by `reads_task`."""

    task: options.TaskFolder = None
    fold: options.Fold = None
    source: options.Source = None
    target: options.Target = None
    links: options.Links = None
    source_query: options.SourceQuery = None
    target_query: options.TargetQuery = None
    links_query: options.LinksQuery = None
    valid_links: options.ValidLinks = None
    test_links: options.TestLinks = None
    links_from: options.LinksFrom = "given"
    names_source: options.NamesSource = None
    names_target: options.NamesTarget = None
    translations: options.Translations = None
    dictionary: options.Dictionary = None
    synonyms: options.Synonyms = None
    name_column: options.NameColumn = None
    source_name_column: options.SourceNameColumn = None
    target_name_column: options.TargetNameColumn = None
    columns: options.Columns = None
    no_attributes: options.NoAttributes = False
    strict: options.Strict = False
    entities: options.Entities = None
    keep_types: options.KeepTypes = None
    keep_predicates: options.KeepPredicates = None
    drop_predicates: options.DropPredicates = None
    literals: options.Literals = None
    keep_obsolete: options.KeepObsolete = False
    namespaces: options.Namespaces = None
    language: options.Language = None
    limit: options.Limit = None
    separator: options.Separator = None
    vectors_source: options.VectorsSource = None
    vectors_target: options.VectorsTarget = None
    text_model: options.TextModel = None

    def load(self, seed: int = 1) -> Task:
        given: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        part = ("keep_types", "keep_predicates", "drop_predicates", "namespaces", "language", "entities", "literals")
        return load_task(
            given.pop("task"),
            graph_filter=options.graph_filter(*(given.pop(name) for name in (*part, "keep_obsolete"))),
            limits=options.limits(given.pop("limit")),
            attributes=not given.pop("no_attributes"),
            seed=seed,
            on_texts=print_encoded,
            **given,
        )

    @property
    def names_files(self) -> bool:
        """Return whether they name the files of a task."""
        return any((self.task, self.source, self.target, self.links, self.valid_links, self.test_links))

    def words(self) -> list[str]:
        """Return those that differ from the defaults, as written on a command line."""
        changed = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}
        found = [str(changed.pop("task"))] if self.task else []
        for name, value in changed.items():
            for one in value if isinstance(value, list) else [value]:
                found += [f"--{name.replace('_', '-')}", *([] if one is True else [str(one)])]
        return found


def reads_task(verb: Callable[..., None]) -> Callable[..., None]:
    """Replace a verb's parameter `read` by all these options, and pass them in it."""
    shared = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in _parameters(TaskOptions)]
    own = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in _parameters(verb)]
    place = [one.name for one in own].index("read")
    own[place : place + 1] = shared

    @wraps(verb)
    def called(**given: Any) -> None:
        verb(read=TaskOptions(**{one.name: given.pop(one.name) for one in shared}), **given)

    called.__signature__ = Signature(own)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in own}
    return called


def _parameters(of: Callable[..., Any]) -> list[Parameter]:
    return list(signature(of, eval_str=True).parameters.values())
