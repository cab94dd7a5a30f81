// Keys, what was not saved, and the picture. Texts are put into the page as text, never as markup.
"use strict";
(() => {
  const KEYS = {
    accept: "a", reject: "x", unsure: "u", skip: " ", back: "ArrowLeft", next: "ArrowRight", undo: "Backspace",
    none: "0", alike: "s", verdict: "v", search: "/", help: "?",
  };
  for (let number = 1; number <= 9; number += 1) KEYS["alternative" + number] = String(number);
  const WORDS = {
    accept: "accept", reject: "reject", unsure: "unsure", skip: "skip", back: "the card before", next: "the next card",
    undo: "undo (also Ctrl+Z)", none: "none of the targets", alike: "several alike", verdict: "what the model thinks",
    search: "search", help: "this help",
  };
  const NAMES = { " ": "Space", ArrowLeft: "←", ArrowRight: "→", Backspace: "⌫" };
  const byId = (id) => document.getElementById(id);
  const stored = (name, otherwise) => {
    try { return JSON.parse(localStorage.getItem(name)) ?? otherwise; } catch { return otherwise; }
  };
  let keys = { ...KEYS, ...stored("mixtea-keys", {}) };
  let keysOn = stored("mixtea-keys-on", true);
  let remapping = null;
  let busy = false;

  const keyName = (key) => NAMES[key] || (key.length === 1 ? key.toUpperCase() : key);
  function label() {
    for (const place of document.querySelectorAll("kbd[data-key-of]")) {
      place.textContent = keysOn ? keyName(keys[place.dataset.keyOf] || "") : "";
    }
    const list = byId("keys-list");
    list.replaceChildren();
    for (const name of Object.keys(WORDS)) {
      const key = document.createElement("dt"), what = document.createElement("dd");
      key.textContent = keyName(keys[name]);
      what.textContent = WORDS[name];
      list.append(key, what);
    }
    const key = document.createElement("dt"), what = document.createElement("dd");
    key.textContent = "1–9";
    what.textContent = "accept this target";
    list.append(key, what);
  }

  const inText = (element) => element.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null;
  function act(name) {
    if (name === "help") { byId("help").showModal(); return true; }
    if (name === "search") {
      document.querySelector(".tools").open = true;
      byId("search").focus();
      return true;
    }
    if (name === "undo") { if (!busy) byId("undo").requestSubmit(); return true; }
    const button = document.querySelector(`#card [data-do="${name}"]`);
    if (button === null) return false;
    if (!busy) button.click();
    return true;
  }
  document.addEventListener("keydown", (event) => {
    if (remapping !== null) { remap(event); return; }
    if (!keysOn || event.repeat || inText(event.target) || byId("help").open) return;
    if (event.ctrlKey && !event.altKey && !event.metaKey && event.key.toLowerCase() === "z") {
      event.preventDefault();
      act("undo");
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === " " && event.target.closest("button, a, summary, input")) return; // presses what has the focus
    const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const name = Object.keys(keys).find((one) => keys[one] === pressed);
    if (name !== undefined && act(name)) event.preventDefault();
  });

  function remap(event) {
    event.preventDefault();
    const names = Object.keys(WORDS);
    if (event.key === "Escape") { remapping = null; byId("remap-state").textContent = "Keys stay as they were."; return; }
    if (["Shift", "Control", "Alt", "Meta", "Tab"].includes(event.key)) return;
    if (event.key !== "Enter") keys[names[remapping]] = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    remapping += 1;
    if (remapping === names.length) {
      remapping = null;
      localStorage.setItem("mixtea-keys", JSON.stringify(keys));
      byId("remap-state").textContent = "Keys are changed.";
      label();
    } else ask();
  }
  function ask() {
    const name = Object.keys(WORDS)[remapping];
    byId("remap-state").textContent = `Press a key for “${WORDS[name]}” (Enter: keep ${keyName(keys[name])}, Esc: end)`;
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button === null) return;
    if (button.dataset.do === "undo") { event.preventDefault(); if (!busy) byId("undo").requestSubmit(); }
    if (button.dataset.choice !== undefined) { // another target: accept with its place
      event.preventDefault();
      const form = byId("decide");
      const fields = [["action", "accept"], ["place", button.dataset.choice]].map(([name, value]) => {
        const field = document.createElement("input");
        field.type = "hidden";
        field.name = name;
        field.value = value;
        return field;
      });
      form.append(...fields);
      form.requestSubmit();
      for (const field of fields) field.remove(); // or they would speak in the next one, if this one is not saved
    }
    if (button.id === "close-help") byId("help").close();
    if (button.id === "remap") { remapping = 0; button.blur(); ask(); }
    if (button.id === "retry") retry();
  });
  byId("keys-on").checked = keysOn;
  byId("keys-on").addEventListener("change", (event) => {
    keysOn = event.target.checked;
    localStorage.setItem("mixtea-keys-on", JSON.stringify(keysOn));
    label();
  });
  byId("import-file").addEventListener("change", async (event) => {
    const file = event.target.files[0];
    if (!file) return;
    const answer = await fetch("/import", { method: "POST", body: file }).catch(() => null);
    if (answer === null) unsaved("The server does not answer.", null);
    else if (answer.ok) htmx.ajax("GET", "/card", { target: "#card", swap: "outerHTML" });
    else unsaved(await answer.text(), null);
  });

  // What was not saved is said, and can be sent again: with the same key it counts once.
  let lost = null;
  function unsaved(why, form) {
    lost = form;
    byId("why").textContent = why;
    byId("retry").hidden = form === null;
    byId("unsaved").hidden = false;
  }
  function retry() {
    byId("unsaved").hidden = true;
    if (lost === null) return;
    const values = new URLSearchParams(lost.values);
    htmx.ajax("POST", lost.path, { target: "#card", swap: "outerHTML", values: Object.fromEntries(values) });
  }
  const writes = ["/decide", "/undo", "/alike"];
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (writes.includes(event.detail.requestConfig.path) || event.detail.requestConfig.path === "/go") busy = true;
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const config = event.detail.requestConfig;
    if (writes.includes(config.path) || config.path === "/go") busy = false;
    if (event.detail.successful) {
      if (writes.includes(config.path)) byId("unsaved").hidden = true;
      return;
    }
    if (!writes.includes(config.path)) {
      if (config.path !== "/status") unsaved(event.detail.xhr?.responseText || "The server does not answer.", null);
      return;
    }
    const values = new URLSearchParams(config.formData);
    const why = event.detail.xhr?.responseText || "The server does not answer.";
    unsaved(why, config.path === "/alike" ? null : { path: config.path, values });
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    label();
    if (event.detail.target.id === "card" || event.detail.target.closest?.("main")) shown();
    if (event.detail.target.id === "alike") event.detail.target.scrollIntoView({ block: "nearest" });
  });

  // The picture follows the card.
  let graph = null;
  let wanted = 0;
  const plain = Element.prototype.setAttribute;
  Element.prototype.setAttribute = function (name, value) { // the policy allows no style attributes; Cytoscape sets one
    if (name === "style") this.style.cssText = value;
    else plain.call(this, name, value);
  };
  const COLOURS = { source: "#0b5394", target: "#0b5394", same: "#0b5394", left: "#a04000", right: "#a04000", differs: "#a04000" };
  function shown() {
    document.dispatchEvent(new CustomEvent("mixtea:card"));
    const focus = byId("question");
    if (focus !== null && !inText(document.activeElement)) focus.focus({ preventScroll: true });
    clearTimeout(wanted);
    wanted = setTimeout(draw, 120);
  }
  async function draw() {
    const figure = byId("picture");
    if (figure === null || figure.dataset.of === "") return;
    const answer = await fetch(`/picture/${figure.dataset.of}`).catch(() => null);
    const found = answer?.ok ? await answer.json().catch(() => null) : null;
    if (found === null || byId("picture") !== figure) return; // or another card came meanwhile, or none
    if (graph !== null) graph.destroy();
    graph = cytoscape({
      container: byId("graph"),
      elements: [
        ...found.nodes.map((data) => ({ data })),
        ...found.edges.map((data, number) => ({ data: { id: `e${number}`, ...data } })),
      ],
      style: [
        { selector: "node", style: { label: "data(label)", "font-size": 9, "text-wrap": "ellipsis", "text-max-width": 110,
          width: 14, height: 14, "background-color": (node) => COLOURS[node.data("kind")] } },
        { selector: "node[kind = 'source'], node[kind = 'target']", style: { shape: "rectangle", width: 22, height: 22, "font-size": 12, "font-weight": "bold" } },
        { selector: "edge", style: { label: "data(label)", "font-size": 7, color: "#595959", width: 1, "line-color": "#999", "curve-style": "straight" } },
      ],
      layout: { name: "preset", positions: place(found.nodes) },
      userZoomingEnabled: false,
      autoungrabify: true,
    });
    graph.fit(undefined, 20);
  }
  function place(nodes) { // what both have stands between the two, what one has beside it
    const columns = { source: [], same: [], target: [], left: [], differs: [], right: [] };
    for (const node of nodes) columns[node.kind].push(node.id);
    const left = [...columns.left, ...columns.differs], at = {};
    const stack = (ids, x) => ids.forEach((id, i) => { at[id] = { x, y: (i - (ids.length - 1) / 2) * 34 }; });
    stack(left, 0);
    stack(columns.source, 190);
    stack(columns.same, 380);
    stack(columns.target, 570);
    stack(columns.right, 760);
    return at;
  }

  label();
  shown();
})();
