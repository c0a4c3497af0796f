// What every page needs: times in the viewer's zone, notices that go away, confirmations, copy buttons.
// The page's language as the viewer's country writes it: 24 hours in Britain.
const lang = document.documentElement.lang;
const locale = navigator.languages.find((one) => one.split("-")[0] === lang) ?? lang;
const exact = new Intl.DateTimeFormat(locale, {
  dateStyle: "medium", timeStyle: "medium", timeZone: document.documentElement.dataset.zone,
});
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
const STEPS = [[60, "second"], [3600, "minute", 60], [86400, "hour", 3600], [2592000, "day", 86400]];

function words(date) {
  const seconds = (date - Date.now()) / 1000;
  for (const [limit, unit, size = 1] of STEPS) {
    if (Math.abs(seconds) < limit) return relative.format(Math.round(seconds / size), unit);
  }
  return exact.format(date);
}

export function times(root = document) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const date = new Date(element.dateTime);
    element.title = exact.format(date);
    element.textContent = element.dataset.exact !== undefined ? exact.format(date) : words(date);
  }
}

document.addEventListener("DOMContentLoaded", () => times());
document.addEventListener("htmx:afterSwap", (event) => times(event.target));
if (document.readyState !== "loading") times();
setInterval(times, 30000);

// <form data-confirm="…"> asks before it is sent.
document.addEventListener("submit", (event) => {
  const text = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
  if (text && !confirm(text)) event.preventDefault();
}, true);

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), 1500);
});
