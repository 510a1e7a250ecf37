/**
 * A CSV file (RFC 4180) that a spreadsheet shows and never runs: a cell that begins like a formula gets an apostrophe,
 * because names are chosen by strangers.
 */
export function toCsv(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map((row) => `${row.map(toCell).join(',')}\r\n`).join('');
}

function toCell(value: string | number | null): string {
  const text = String(value ?? '');
  const safe = /^\s*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
