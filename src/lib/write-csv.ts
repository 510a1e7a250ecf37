/** Rows as RFC 4180 says. A spreadsheet takes no cell for a formula. */
export function writeCsv(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map((row) => `${row.map(toCell).join(',')}\r\n`).join('');
}

function toCell(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  const harmless = typeof value === 'string' && isFormula(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** Spreadsheets also read the full-width and small forms of these signs, which NFKC makes plain, and the minus sign. */
function isFormula(text: string): boolean {
  return /^[\s\p{C}]*[=+\-@\u2212]|^[\t\r\n]/u.test(text.normalize('NFKC'));
}
