/** A row of the table in which CVAT keeps events, as its export writes it. */
export type CvatEvent = Record<string, string>;

const columns = [
  'scope',
  'obj_name',
  'obj_id',
  'obj_val',
  'source',
  'timestamp',
  'count',
  'duration',
  'project_id',
  'task_id',
  'job_id',
  'user_id',
  'user_name',
  'user_email',
  'org_id',
  'org_slug',
  'payload',
];

/** As Python's csv writes it: CRLF, and quotes where they are needed. */
export function toEventsCsv(events: readonly CvatEvent[]): string {
  const lines = [columns, ...events.map((event) => columns.map((column) => event[column] ?? ''))];
  return lines.map((fields) => `${fields.map(quote).join(',')}\r\n`).join('');
}

function quote(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

/** As ClickHouse compares them. */
export function isSince({ timestamp = '' }: CvatEvent, from: string | null): boolean {
  const instant = timestamp.replace(' ', 'T').replace('+00:00', '');
  return from === null || Date.parse(`${instant}Z`) >= Date.parse(from);
}
