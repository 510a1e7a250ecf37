import { stripBom } from '../lib/strip-bom.ts';

/** What a delivery may name a person by. */
export interface Names {
  trainerId: string;
  /** In lower case. */
  addresses: ReadonlySet<string>;
  contractIds: ReadonlySet<string>;
}

/**
 * Whether a stored body names a person: by id or address anywhere in it, or by a record without an id on one of the
 * person's contracts. A body that is not JSON is searched as text.
 */
export function namesPerson(body: Uint8Array, names: Names): boolean {
  const text = stripBom(Buffer.from(body).toString('utf8'));
  const json = tryParse(text);
  if (json === undefined) return isInText(text, names);
  const strings = [...stringsOf(json)];
  if (strings.some((value) => isTheirs(value, names))) return true;
  return hasNamelessPerson(json) && strings.some((value) => names.contractIds.has(value));
}

function isTheirs(value: string, { trainerId, addresses }: Names): boolean {
  return value === trainerId || addresses.has(value.toLowerCase());
}

function isInText(text: string, { trainerId, addresses }: Names): boolean {
  const lower = text.toLowerCase();
  return text.includes(trainerId) || [...addresses].some((address) => lower.includes(address));
}

function hasNamelessPerson(json: unknown): boolean {
  const data = fieldOf(json, 'data');
  const freelancer = fieldOf(data, 'freelancer');
  return isObject(freelancer) && typeof fieldOf(freelancer, 'opentrainUserId') !== 'string';
}

/** Every string in it, at any depth. A stack replaces recursion, because strangers may nest very deep. */
function* stringsOf(json: unknown): Generator<string> {
  const stack = [json];
  while (stack.length > 0) {
    const value = stack.pop();
    if (typeof value === 'string') yield value;
    else if (isObject(value)) for (const child of Object.values(value)) stack.push(child);
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
