"use strict";
// The buttons are in the page without this script, too, but hidden, as they would do nothing.
for (const place of document.querySelectorAll(".command")) {
  const [command, button, done] = place.children;
  button.hidden = false;
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
    } catch { // a browser without it for files, or that does not permit it
      getSelection().selectAllChildren(command);
      if (!document.execCommand("copy")) return done.replaceChildren(button.dataset.selected);
    }
    done.replaceChildren(button.dataset.copied);
  };
}
