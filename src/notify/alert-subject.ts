import { createHash } from 'node:crypto';
import { maskText } from '../lib/mask.ts';
import type { AlertKind } from '../lib/troubles.ts';

/** The ids that identify what an alert is about, as they are in the database. */
export type AlertSubject = Readonly<Record<string, string>>;

/** What a notice may name, from the fields of the log line: ids and names, no numbers. */
const shownFields = [
  'install',
  'tool',
  'group',
  'contract',
  'trainer',
  'membership',
  'member',
  'link',
  'project',
  'plan',
  'job',
  'payment',
  'reading',
  'url',
  'scope',
  'endpointId',
  'channel',
  'machine',
  'reason',
  'errorCode',
];

/** Names that some log lines have for the same. */
const aliases: Readonly<Record<string, string>> = { contract: 'contractId', trainer: 'trainerId' };

const longestValue = 200;

/** Pure: these ids out of the fields of a log line; what is not there is left out. */
export function pickIds(fields: object, names: readonly string[]): AlertSubject {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value: unknown = Reflect.get(fields, name) ?? Reflect.get(fields, aliases[name] ?? name);
      return value === undefined || value === null ? [] : [[name, String(value)]];
    }),
  );
}

/** An address that is cut off leads elsewhere. */
const longestUrl = 1000;

/** Pure: what a notice says of the fields of a log line. */
export function aboutOf(fields: object): Record<string, string> {
  const { url, ...ids } = pickIds(fields, shownFields);
  const shown = Object.entries(ids).map(([name, id]) => [name, maskText(id).slice(0, longestValue).toWellFormed()]);
  return { ...Object.fromEntries(shown), ...(url !== undefined && isShowable(url) && { url }) };
}

function isShowable(url: string): boolean {
  return /^https?:\/\/\S+$/.test(url) && url.length <= longestUrl && maskText(url) === url;
}

/** The same for alerts of one kind about the same. */
export function digestOf(kind: AlertKind, subject: AlertSubject): string {
  return createHash('sha256')
    .update(JSON.stringify([kind, subject]))
    .digest('hex');
}
