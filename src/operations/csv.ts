import { writeCsv } from '../lib/write-csv.ts';
import type { Columns } from './show.ts';

export function toCsv<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  const cells = rows.map((row) => columns.map(([, cell]) => cell(row) ?? null));
  return writeCsv([columns.map(([title]) => title), ...cells]);
}
