// On every page `/` focuses the search, and copy buttons copy the text beside them.
document.documentElement.classList.add('scripted');

document.addEventListener('keydown', (event) => {
  const isTyping = document.activeElement?.matches('input, select, textarea');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  document.querySelector('.search input')?.focus();
});

document.addEventListener('click', (event) => {
  const button = event.target instanceof Element ? event.target.closest('[data-copies]') : null;
  const text = button && document.getElementById(button.dataset.copies)?.textContent;
  if (text) void navigator.clipboard.writeText(text).then(() => (button.textContent = 'Copied'));
});
