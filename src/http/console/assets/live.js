// Keeps a page up to date: after a change in the database, fetches the page again and replaces only what differs.
import { Idiomorph } from '/assets/idiomorph.js';

const changes = new EventSource('/changes');
let isFetching = false;
let isStale = false;

changes.addEventListener('message', () => void refresh());
// The page may have changed before it was followed.
changes.addEventListener('open', () => void refresh());
document.addEventListener('visibilitychange', () => {
  if (isStale) void refresh();
});

// Ages are shown relative to now.
setInterval(() => void refresh(), 60_000);

async function refresh() {
  isStale = true;
  // Waits while the page is hidden or a form is being filled in.
  if (document.hidden || isFetching || isBeingFilledIn()) return;
  [isFetching, isStale] = [true, false];
  try {
    const headers = { accept: 'text/html', 'x-refresh': '1' };
    const answer = await fetch(location.href, { headers, redirect: 'error' });
    if (answer.ok && answer.headers.get('content-type')?.startsWith('text/html')) show(await answer.text());
  } catch {
    // The operator signed out or the console is restarting. The next change tries again.
  } finally {
    isFetching = false;
    if (isStale) void refresh();
  }
}

function show(text) {
  const fresh = new DOMParser().parseFromString(text, 'text/html').querySelector('main');
  const shown = document.querySelector('main');
  // Only the first answer has the notice of an act.
  const notice = shown?.querySelector(':scope > .good');
  if (notice) fresh?.querySelector('.head')?.after(notice.cloneNode(true));
  if (fresh && shown && !isBeingFilledIn()) Idiomorph.morph(shown, fresh, { ignoreActiveValue: true });
}

function isBeingFilledIn() {
  const isChanged = (field) =>
    field.type === 'checkbox'
      ? field.checked !== field.defaultChecked
      : field === document.activeElement || ('defaultValue' in field && field.value !== field.defaultValue);
  return [...document.querySelectorAll('main :is(input:not([type=hidden]), select, textarea)')].some(isChanged);
}
