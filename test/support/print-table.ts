/** The first column is text, the others are numbers. */
export function printTable(rows: readonly string[][]): void {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  for (const row of rows) {
    const cells = row.map((cell, column) => (column === 0 ? cell.padEnd(width(0)) : cell.padStart(width(column))));
    print(cells.join('  ').trimEnd());
  }
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function format(count: number): string {
  return count.toLocaleString('en');
}
