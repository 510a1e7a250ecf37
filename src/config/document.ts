/** A configuration as it was written: JSON of any shape, not validated yet. */
export type Document = Readonly<Record<string, unknown>>;

/** The path of a value in it, key by key; the name of a variable for a value outside of it. */
export type Path = readonly PropertyKey[];

/** The variables of a process: `process.env`, or what a test says they are. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One reason why a configuration cannot be used: the path, and what to do. */
export interface ConfigFault {
  path: Path;
  message: string;
}

export function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy with `value` at `path`. If a value on the path is not an object, it stays as it is. */
export function withValueAt(document: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (document !== undefined && !isDocument(document)) return document;
  const child = document && Object.hasOwn(document, key) ? document[key] : undefined;
  return { ...document, [key]: withValueAt(child, rest, value) };
}

/** `installs.acme.webhookSecrets[0]`. Keys that are not plain words are JSON in brackets. */
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
