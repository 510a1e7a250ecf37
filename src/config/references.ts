import { AppError, toAppError } from '../domain/errors.ts';
import { type ConfigFault, type Document, type Environment, isDocument, type Path } from './document.ts';
import { maySecretStandAt } from './secret-paths.ts';
import { readSmallFile } from './small-file.ts';

/**
 * Secrets by reference: `{"env": "NAME"}` or `{"file": "path"}` where a string that may be secret
 * can stand (an install's token and webhook secrets, the console's token, the URLs of the database
 * and of the mail server, a channel's URL and secret, and everything in a tool that its adapter alone
 * understands).
 */

export interface Resolved {
  /** A copy with the values in place of the references that could be resolved. */
  document: Document;
  faults: ConfigFault[];
  /** Where a secret stands in the document itself. */
  literals: Path[];
}

/** Stands for a secret that is not there and that nothing will ask for. */
const unread = 'unread';

/**
 * Reads every reference; what is wrong with them is returned, all of it, and nothing is thrown.
 *
 * @param isNeeded whether what cannot be read there is wrong; else something stands in for it
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
    const reference = maySecretStandAt(path) ? toReference(value) : undefined;
    return reference === undefined ? copy(value, path) : read(reference, path);
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
      if (!isNeeded(path)) return unread;
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
  // a name that does not look like one may be a secret in the wrong place
  const name = /^[A-Z][A-Z0-9_]*$/.test(target) ? ` ${target}` : ' named here';
  throw new AppError('invalid', `the variable${name} is ${value === '' ? 'empty' : 'not set'}`);
}

const secretName = /token|secret|passw|credential|authorization|cookie|api_?key|private_?key/i;

/** Of an adapter's own settings only the names tell; a URL is secret by its password. */
function isSecretAt(path: Path, value: string, parent: Document): boolean {
  if (value === '' || !maySecretStandAt(path)) return false;
  // A template that the token is put into, in the settings of the adapter http.
  if (path[0] === 'tools' && value.includes('{token}')) return false;
  if (path[0] === 'database' || path[0] === 'mail') return URL.canParse(value) && new URL(value).password !== '';
  // Who knows where signed requests go can do nothing with it.
  if (path[0] === 'notifications') return path.at(-1) === 'secret' || parent['type'] === 'slack';
  return path[0] !== 'tools' || path.slice(2).some((key) => secretName.test(String(key)));
}
