// Light, dark, or as the machine has it. Kept for this page where the browser lets it.

const THEMES = ["auto", "light", "dark"];
let theme = "auto";
const themed = new Set();

function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch { /* a file or a sandbox without storage: for this visit */ }
}

function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function setTheme(name) {
  theme = THEMES.includes(name) ? name : "auto";
  const root = document.documentElement;
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
  find("theme").textContent = `Theme: ${theme}`;
  for (const redraw of themed) redraw();
}

function startTheme() {
  setTheme(kept("mcp-reflect-theme"));
  find("theme").addEventListener("click", () => {
    setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
    keep("mcp-reflect-theme", theme);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(theme));
}

// A color of the theme as a canvas takes it.
function color(name) {
  const probe = el("span", { hidden: true });
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
