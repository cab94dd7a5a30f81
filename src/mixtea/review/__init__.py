"""A person decides: the review page and what it is made of.

`decisions` keeps what was decided, `belief` says what that changes at once, `queue` what to ask next, `card` what
to show about a pair, `reviewers` how far each person can be relied on, `learning` gives it all back to the model, `app`
is the page. Nothing here needs torch until a model is trained again, which is another process.
"""
