/* What must not wait for the server: the composer, its drafts and queue, copying, and keyboard shortcuts. */
(() => {
  const query = (selector) => document.querySelector(selector);
  const texts = () => JSON.parse(query(".composer")?.dataset.words || "{}");
  const field = () => query(".composer textarea");
  const chat = () => query(".composer")?.dataset.chat || "new";
  const isBusy = () => query(".composer")?.dataset.busy === "true";
  /* Until the server has said which chat is shown, what is typed belongs to none, and messages wait. */
  const isKnown = () => query(".composer")?.dataset.chat !== undefined;
  const isOffline = () => !navigator.onLine || query("#popup")?.ariaHidden === "false";
  const early = [];
  const tell = (name, detail) => field()?.dispatchEvent(new CustomEvent(name, { detail }));

  /* Drafts and waiting messages stay in this tab over reloads; nothing is kept once the tab is closed. */
  const stored = (name) => { try { return JSON.parse(sessionStorage.getItem(`dragoman.${name}`)) || {}; } catch { return {}; } };
  const save = (name, value) => { try { sessionStorage.setItem(`dragoman.${name}`, JSON.stringify(value)); } catch { /* it is full */ } };
  /* What is typed in a private chat goes into no storage: browsers may write theirs to the disk. */
  const unstored = { draft: {}, queue: {}, sending: {} };
  const isPrivate = (key) => key.startsWith("private-");
  const load = (name) => ({ ...stored(name), ...unstored[name] });
  const change = (name, key, value) => {
    const all = isPrivate(key) ? unstored[name] : stored(name);
    if (value === undefined || value === "" || value.length === 0) delete all[key]; else all[key] = value;
    if (!isPrivate(key)) save(name, all);
  };

  const grow = () => {
    const area = field();
    if (!area || CSS.supports("field-sizing", "content")) return;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight}px`;
  };
  const put = (text) => {
    const area = field();
    if (!area) return;
    area.value = text;
    if (isKnown()) change("draft", chat(), text);
    grow();
    menu();
  };

  /* A message goes back into the field, after what is being written. */
  const takeBack = (text) => {
    put([field().value, text].filter(Boolean).join("\n"));
    field().focus();
  };

  const drawQueue = () => {
    const box = query(".queue");
    if (!box) return;
    const waiting = load("queue")[chat()] || [];
    box.replaceChildren(...waiting.map((text, place) => {
      const row = document.createElement("div");
      row.className = "queued";
      const said = document.createElement("span");
      said.textContent = `${texts().queued}: ${text}`;
      const back = document.createElement("button");
      back.type = "button";
      back.className = "btn link";
      back.textContent = texts().unqueue;
      back.onclick = () => {
        const left = load("queue")[chat()] || [];
        const [taken] = left.splice(place, 1);
        change("queue", chat(), left);
        takeBack(taken);
        drawQueue();
      };
      row.append(said, back);
      return row;
    }));
  };

  const ask = (text) => {
    change("sending", chat(), text);
    query(".unsent").textContent = "";
    query(".composer").dataset.busy = "true"; /* the server says the same a moment later */
    query(".composer").classList.add("busy");
    query(".chat-scroll").scrollTop = 0; /* its end: it is filled from there */
    /* Said again until the server has heard it: a connection may be lost before anybody notices. */
    const message = { text, id: `${Date.now()}-${Math.random()}` };
    tell("ask", message);
    clearInterval(unheard);
    unheard = setInterval(() => tell("ask", message), 4000);
  };
  let unheard;
  /* Say so at once: a busy server hears of it some hundred milliseconds later. */
  const halt = () => {
    query(".stopping").textContent = texts().stopping;
    tell("halt", "");
  };
  const send = () => {
    const text = field().value;
    if (!text.trim()) return;
    if (isCommand(text)) return;
    put("");
    if (!isKnown()) early.push(text); else if (isBusy() || isOffline()) later(text); else ask(text);
  };
  const later = (...messages) => {
    change("queue", chat(), [...(load("queue")[chat()] || []), ...messages]);
    drawQueue();
  };
  const next = () => {
    const [first, ...rest] = load("queue")[chat()] || [];
    if (isBusy() || isOffline() || first === undefined) return;
    change("queue", chat(), rest);
    drawQueue();
    ask(first);
  };

  /* Slash commands */
  const commands = () => JSON.parse(query(".composer")?.dataset.commands || "[]");
  let picked = 0;
  const matching = () => {
    const text = field()?.value || "";
    return /^\/[^\s]*$/.test(text) ? commands().filter(([name]) => `/${name}`.startsWith(text.toLowerCase())) : [];
  };
  const menu = () => {
    const box = query(".slash");
    if (!box) return;
    const found = matching();
    picked = Math.min(picked, Math.max(0, found.length - 1));
    box.hidden = found.length === 0;
    box.replaceChildren(...found.map(([name, about], place) => {
      const item = document.createElement("button");
      item.type = "button";
      item.className = "btn item";
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(place === picked));
      const key = document.createElement("strong");
      key.textContent = `/${name}`;
      item.append(key, ` ${about}`);
      item.onclick = () => run(name);
      return item;
    }));
  };
  const run = (name) => { put(""); if (name === "help") sheet(); else tell("command", name); };
  const isCommand = (text) => {
    const found = matching();
    if (!found.length) return false;
    run(found[picked][0]);
    return true;
  };
  const sheet = () => query(".shortcuts-open")?.click();

  const copy = async (text, button) => {
    try { await navigator.clipboard.writeText(text); } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 1500);
  };

  document.addEventListener("input", (event) => {
    if (!event.target.matches(".composer textarea")) return;
    if (isKnown()) change("draft", chat(), event.target.value);
    grow();
    menu();
  });
  document.addEventListener("keydown", (event) => {
    const writing = event.target.matches("input, textarea, [contenteditable]");
    const here = event.target.matches(".composer textarea");
    const command = event.ctrlKey || event.metaKey;
    if (here && event.key === "Escape" && isBusy() && query(".slash").hidden) query(".stopping").textContent = texts().stopping;
    /* Enter sends, but not while an input method is still putting a character together. */
    if (here && event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) {
      event.preventDefault();
      send();
    } else if (here && !query(".slash").hidden && ["ArrowDown", "ArrowUp"].includes(event.key)) {
      event.preventDefault();
      const count = matching().length;
      picked = (picked + (event.key === "ArrowDown" ? 1 : -1) + count) % count;
      menu();
    } else if (here && !query(".slash").hidden && event.key === "Tab") {
      event.preventDefault();
      put(`/${matching()[picked][0]}`);
    } else if (command && event.key.toLowerCase() === "k") {
      event.preventDefault();
      query(".chat-search input")?.focus();
    } else if (command && event.shiftKey && event.key.toLowerCase() === "o") {
      event.preventDefault();
      query(".btn.new")?.click();
    } else if (!writing && !command && event.key === "?") {
      event.preventDefault();
      sheet();
    } else if (!writing && !command && event.key === "/") {
      event.preventDefault();
      field()?.focus();
    }
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.matches(".copy-code")) copy(button.parentElement.querySelector("code").textContent, button);
    else if (button.matches(".copy-reply")) copy(button.dataset.copy || "", button);
    else if (button.matches(".btn.send")) isBusy() && !field().value.trim() ? halt() : send();
    else if (button.matches(".btn.halt")) halt();
    else if (button.matches(".btn.attach")) pick();
    else if (button.matches(".cite")) {
      event.stopPropagation();
      button.closest(".turn")?.dispatchEvent(new CustomEvent("cite", { detail: Number(button.dataset.cite) }));
    }
  }, true);
  /* A lost connection: said in our own words a moment after NiceGUI notices, since most come back at once. */
  const mark = () => {
    query(".page")?.classList.toggle("offline", isOffline());
    if (!isOffline() && isKnown() && !query(".unsent").textContent) next();
  };
  document.addEventListener("DOMContentLoaded", () => {
    new MutationObserver(() => setTimeout(mark, 1000)).observe(query("#popup"), { attributes: true });
  });
  window.addEventListener("offline", mark);
  window.addEventListener("online", mark);
  /* Other tabs may have changed the chats meanwhile. */
  document.addEventListener("visibilitychange", () => { if (!document.hidden && isKnown() && !isBusy()) tell("look", ""); });
  /* A file dropped beside the drop area must not replace the page. */
  for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());
  let inside = 0;
  const isFiles = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
  window.addEventListener("dragenter", (event) => { if (isFiles(event) && ++inside) query(".page")?.classList.add("dropping"); });
  window.addEventListener("dragleave", (event) => { if (isFiles(event) && --inside <= 0) { inside = 0; query(".page")?.classList.remove("dropping"); } });
  window.addEventListener("drop", (event) => {
    inside = 0;
    query(".page")?.classList.remove("dropping");
    if (isFiles(event) && !event.target.closest?.(".drop")) gather(event.dataTransfer).then(add);
  }, true);
  window.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files || [])];
    if (files.length) { event.preventDefault(); add(files); }
  });
  /* Files of what was dropped, each with its path; entries must be asked for before the event is over. */
  const gather = async (data) => {
    const listed = (reader) => new Promise((done, failed) => reader.readEntries(done, failed));
    const walk = async (entry, path) => {
      if (entry.isFile) {
        const file = await new Promise((done, failed) => entry.file(done, failed));
        Object.defineProperty(file, "webkitRelativePath", { value: path + file.name });
        return [file];
      }
      const reader = entry.createReader();
      const within = [];
      for (let some = await listed(reader); some.length; some = await listed(reader)) within.push(...some);
      return (await Promise.all(within.map((inner) => walk(inner, `${path}${entry.name}/`)))).flat();
    };
    const plain = [...data.files];
    const entries = [...data.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    return entries.length ? (await Promise.all(entries.map((entry) => walk(entry, "")))).flat() : plain;
  };
  /* Choose files, or a folder. */
  /* With `replaced`, one file, whose name begins with that. */
  const pick = (folder = false, replaced = "") => {
    const input = Object.assign(document.createElement("input"), { type: "file", multiple: !replaced, webkitdirectory: folder });
    input.addEventListener("change", () => {
      const files = [...input.files];
      if (replaced) for (const file of files) Object.defineProperty(file, "webkitRelativePath", { value: replaced + file.name });
      if (files.length) add(files);
    });
    input.click();
  };
  /* Open the documents and hand the files to the place where they are added: a few at once, since the uploader draws
     all that it has with each piece that it sends. */
  const unsent = [];
  const add = (files) => {
    const isIdle = !unsent.length;
    unsent.push(...files);
    query(".tab.sources")?.click();
    if (isIdle) feed();
  };
  /* The place may not be drawn yet; for those who may not add documents it never is. */
  let watch;
  const feed = () => {
    if (query(".no-drop")) unsent.length = 0;
    const place = query(".drop");
    if (unsent.length && !place) {
      watch ??= new MutationObserver(feed);
      watch.observe(document.body, { childList: true, subtree: true });
      return;
    }
    watch?.disconnect();
    if (unsent.length) place.dispatchEvent(new CustomEvent("files", { detail: unsent.splice(0, 20) }));
  };

  /* What a message says without the command before it. */
  const bare = (text) => text.trim().replace(/^\/(no)?search\s+/i, "");
  /* The first message of a chat that the server does not know, with what was typed and waits after it, begins a new one. */
  const adopt = (gone) => {
    const lost = gone && load("sending")[gone];
    if (!lost) return "";
    for (const kind of ["draft", "queue", "sending"]) { change(kind, "new", load(kind)[gone]); change(kind, gone, undefined); }
    return lost;
  };

  window.dragoman = {
    /* The server says which chat is shown and whether it is being answered. `last` is the question it has got. */
    state(name, busy, last) {
      const box = query(".composer");
      if (!box) return;
      const before = chat();
      const isFirst = !isKnown();
      if (!isFirst && before === "new" && before !== name && last) { /* a new chat has got its name */
        for (const kind of ["draft", "queue", "sending"]) { change(kind, name, load(kind)[before]); change(kind, before, undefined); }
      }
      box.dataset.chat = name;
      box.dataset.busy = String(busy);
      box.classList.toggle("busy", busy);
      query(".stopping").textContent = "";
      if (busy || last) clearInterval(unheard);
      /* A message is kept until it is answered: a server that is restarted knows nothing of it. */
      for (const key of new Set([name, "new"])) {
        if (!busy && last && bare(load("sending")[key] || "") === bare(last)) change("sending", key, undefined);
      }
      const unanswered = isFirst && name === "new" && !!adopt(new URLSearchParams(location.search).get("dialogue"));
      let draft = load("draft")[name] || "";
      /* After a reload, a message that was not answered goes back into the field; what waits, waits for it. */
      const lost = isFirst && !busy && load("sending")[name];
      if (lost) {
        change("sending", name, undefined);
        query(".unsent").textContent = texts().unsent;
      }
      if (isFirst) draft = [lost, draft].filter(Boolean).join("\n") + field().value;
      if (isFirst || field().value !== draft) put(draft);
      if (unanswered) tell("command", "new"); /* instead of a chat that does not exist */
      later(...early.splice(0));
      if (!busy && !query(".unsent").textContent) setTimeout(next, 0);
    },
    /* A message that came while another one is being answered. */
    later(text) {
      clearInterval(unheard);
      change("sending", chat(), undefined);
      later(text);
    },
    put,
    takeBack,
    gather,
    add,
    pick,
    feed,
    clear() { for (const kind of ["draft", "queue", "sending"]) sessionStorage.removeItem(`dragoman.${kind}`); },
  };
})();
