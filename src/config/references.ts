import { AppError, toAppError } from '../domain/errors.ts';
import { type ConfigFault, type Document, type Environment, formatPath, isDocument, type Path } from './document.ts';
import { describeAt, maybeSecret } from './json-schema.ts';
import { readSmallFile } from './read-file.ts';

interface Resolved {
  /** A copy with the values instead of the references. */
  document: Document;
  faults: ConfigFault[];
  /** The paths of secrets that are written out in the document. */
  literals: Path[];
}

/** Replaces a missing secret that is not used, and passes the schema. */
function placeholderAt(path: Path): string {
  const key = path.at(-1);
  if (key === 'smtp') return 'smtps://unread.invalid';
  if (key === 'url') return 'https://unread.invalid';
  if (path[0] === 'notifications') return `whsec_${'A'.repeat(32)}`;
  return `unread:${formatPath(path)}`;
}

/**
 * Reads every reference: `{"env": "NAME"}` or `{"file": "path"}` instead of a text that may be secret, such as a token, the
 * URL of the database or of the mail server, a channel's URL and secret, or a setting of an adapter.
 *
 * @param isNeeded whether an unreadable reference is a fault; if not, a placeholder replaces it
 */
export function resolveReferences(
  document: Document,
  env: Environment,
  folder: string,
  isNeeded: (path: Path) => boolean = () => true,
): Resolved {
  const found: Omit<Resolved, 'document'> = { faults: [], literals: [] };

  function visit(value: unknown, path: Path, parent: Document = {}): unknown {
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (typeof value === 'string' && isSecretAt(path, value, parent)) found.literals.push(path);
    if (!isDocument(value)) return value;
    const reference = toReference(value);
    return reference !== undefined && maybeSecret(describeAt(path)) ? read(reference, path) : copy(value, path);
  }

  function copy(value: Document, path: Path): Document {
    if (Object.hasOwn(value, '__proto__')) {
      const message = 'this key is refused: it has a meaning of its own in JavaScript';
      found.faults.push({ path: [...path, '__proto__'], message });
    }
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, child]) => [key, visit(child, [...path, key], value)]));
  }

  function read(reference: Reference, path: Path): string | undefined {
    try {
      return readReference(reference, env, folder);
    } catch (error) {
      if (!isNeeded(path)) return placeholderAt(path);
      found.faults.push({ path, message: toAppError(error).message });
      return undefined;
    }
  }

  return { document: copy(document, []), ...found };
}

/** The variables that a document refers to. */
export function referencedVariables(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencedVariables);
  if (!isDocument(value)) return [];
  const reference = toReference(value);
  if (reference?.kind === 'env') return [reference.target];
  return Object.values(value).flatMap(referencedVariables);
}

interface Reference {
  kind: 'env' | 'file';
  target: string;
}

function toReference(value: Document): Reference | undefined {
  const [[kind, target] = [], ...others] = Object.entries(value);
  if (others.length > 0 || typeof target !== 'string') return undefined;
  return kind === 'env' || kind === 'file' ? { kind, target } : undefined;
}

function readReference({ kind, target }: Reference, env: Environment, folder: string): string {
  if (kind === 'file') return readSmallFile(target, folder);
  const value = env[target];
  if (value) return value;
  // What does not look like a name may be a secret that was written there by mistake.
  const name = /^[A-Z][A-Z0-9_]*$/.test(target) ? ` ${target}` : ' named here';
  throw new AppError('invalid', `the variable${name} is ${value === '' ? 'empty' : 'not set'}`);
}

const secretName = /token|secret|passw|credential|authorization|cookie|api_?key|private_?key/i;

/** Among an adapter's own settings, the name shows a secret. A URL is secret if it has a password. */
function isSecretAt(path: Path, value: string, parent: Document): boolean {
  if (value === '' || !maybeSecret(describeAt(path))) return false;
  // In the settings of the adapter http, this is a template for the token.
  if (path[0] === 'tools' && value.includes('{token}')) return false;
  if (path[0] === 'database' || path[0] === 'mail') return URL.canParse(value) && new URL(value).password !== '';
  // The URL of signed requests is not secret.
  if (path[0] === 'notifications') return path.at(-1) === 'secret' || parent['type'] === 'slack';
  return path[0] !== 'tools' || path.slice(2).some((key) => secretName.test(String(key)));
}
