"""Review of mappings by people: the page and its parts.

`decisions` stores decisions, `decision_index` counts them, `posterior` updates probabilities at once, `queue` orders
the questions, `card` shows a pair, `reviewers` measures reliability; `learning` gives all of it back to the model,
`import_export` to files. A `session` has a `state` (runs and decisions) and positions in queues (`queue_positions`).
`app` is the page, `security` its guard, `training` the retraining beside it, `server` runs it. Nothing here needs torch
until a model is retrained, which is another process.
"""
