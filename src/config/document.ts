/** A configuration as it was written: JSON of whatever shape, not validated yet. */
export type Document = Readonly<Record<string, unknown>>;

/** Where something stands in it, key by key; a variable's name when it stands nowhere. */
export type Path = readonly PropertyKey[];

/** The variables of a process: `process.env`, or what a test says they are. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One reason why a configuration cannot be used: where, and what to do about it. */
export interface ConfigFault {
  path: Path;
  message: string;
}

export function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy with `value` at `path`. What is not an object on the way there is left as it is. */
export function withValueAt(document: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (document !== undefined && !isDocument(document)) return document;
  const child = document && Object.hasOwn(document, key) ? document[key] : undefined;
  return { ...document, [key]: withValueAt(child, rest, value) };
}

/** `installs.acme.webhookSecrets[0]`; keys that are no plain words stand as JSON in brackets. */
export function formatPath(path: Path): string {
  return path.map(formatKey).join('').replace(/^\./, '') || 'the configuration';
}

function formatKey(key: PropertyKey): string {
  if (typeof key === 'number') return `[${key}]`;
  const name = String(key);
  return /^[\w$-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

export function startsWith(path: Path, beginning: Path): boolean {
  return beginning.every((key, index) => path[index] === key);
}
