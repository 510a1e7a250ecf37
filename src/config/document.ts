/** A configuration before validation: JSON of any shape. */
export type Document = Readonly<Record<string, unknown>>;

/** The path of a value in it, key by key; or the name of a variable. */
export type Path = readonly PropertyKey[];

/** The variables of a process: `process.env`, or those of a test. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A fault of a configuration: the path, and what to do. */
export interface ConfigFault {
  path: Path;
  message: string;
}

export function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy with `value` at `path`. A value on the path that is not an object is not changed. */
export function withValueAt(document: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (document !== undefined && !isDocument(document)) return document;
  const child = document && Object.hasOwn(document, key) ? document[key] : undefined;
  return { ...document, [key]: withValueAt(child, rest, value) };
}

/** `installs.acme.webhookSecrets[0]`. Unusual keys are JSON in brackets. */
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
