// The token that a form is sent with, as it is now: whoever signed in again in another tab has another one than the page
// came with.
export const csrf = (form) =>
  /(?:^|; )vetro_csrf=([^;]*)/.exec(document.cookie)?.[1] ?? form.elements.csrfmiddlewaretoken.value;
