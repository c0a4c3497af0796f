// Runs before the page is painted: light or dark, as chosen or as the system has it.
(function () {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  function apply() {
    const wanted = root.dataset.theme;
    root.dataset.bsTheme = wanted === "light" || wanted === "dark" ? wanted : dark.matches ? "dark" : "light";
  }
  dark.addEventListener("change", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-toggle]")) return;
    root.dataset.theme = root.dataset.bsTheme === "dark" ? "light" : "dark";
    document.cookie = "vetro_theme=" + root.dataset.theme + ";path=/app;max-age=31536000;samesite=lax";
    apply();
  });
  apply();
})();
