import type { z } from 'zod';
import { Config } from './config-schema.ts';
import type { ConfigFault, Path } from './document.ts';
import { describeAt, propertiesOf } from './json-schema.ts';
import { suggestNearest } from './nearest.ts';

type Checked = { config: Config; faults: [] } | { config: undefined; faults: ConfigFault[] };

/** Applies the schema. The faults are written for people and never quote a value. */
export function checkSchema(document: unknown): Checked {
  const parsed = Config.safeParse(document, { error: messageFor });
  if (parsed.success) return { config: parsed.data, faults: [] };
  return { config: undefined, faults: parsed.error.issues.flatMap(toFaults) };
}

function messageFor(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'invalid_type') return undefined;
  const article = /^[aio]/.test(issue.expected) ? 'an' : 'a';
  return issue.input === undefined ? 'is missing' : `must be ${article} ${issue.expected}`;
}

function toFaults(issue: z.core.$ZodIssue): ConfigFault[] {
  const { path, message } = issue;
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(path, key));
  if (issue.code === 'invalid_key') {
    return issue.issues.map((inner) => ({ path, message: inner.message }));
  }
  return [{ path, message: message === 'is missing' ? `is missing. ${meaningOf(path)}` : message }];
}

function unknownKey(path: Path, key: string): ConfigFault {
  const known = propertiesOf(describeAt(path) ?? {}).keys();
  return { path: [...path, key], message: `unknown key${suggestNearest(key, known)}` };
}

function meaningOf(path: Path): string {
  return describeAt(path)?.description ?? '';
}
