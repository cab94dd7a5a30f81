"""A person decides: the review page and what it is made of.

`decisions` keeps what was decided, `index` counts it, `belief` says what that changes at once, `queue` what to ask,
`card` what to show about a pair, `reviewers` how far each person can be relied on; `learning` gives it all back to the
model, `sharing` to files. A `session` is all of this at work: what is `active`, the `places` of reviewers, and their
decisions. `app` is the page, `security` its guard, `training` the learning beside it, `server` runs it. Nothing here
needs torch until a model is trained again, which is another process.
"""
