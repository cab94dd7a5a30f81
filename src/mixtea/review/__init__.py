"""Review of mappings by people: the page and its parts.

`decision` says what a decision is and indexes those that are active, `decisions` stores them. A `session` shows cards
(`card`) and has two parts: a `state` (a run as a `model`, its decisions, and the `posterior` that follows them at once)
and the positions of reviewers in the `queue`. `reviewers` measures reliability,
`learning` gives decisions back to the model, `import_export` to mappings and files. `app` is the page, `web` what goes
to and from a browser, `security` its guard, `training` the retraining beside it, `server` runs it. Nothing here needs
torch until a model is retrained, which is another process.
"""
