import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { AppError } from '../domain/errors.ts';

/**
 * Encryption at rest with AES-256-GCM. Each value is bound to its context, so that a value that was
 * moved to another table, column or row does not open. The box seals with one key and opens with any of
 * its keys, so that keys can be replaced.
 */
export interface SecretBox {
  /** `context` names table, column and row, e.g. `delivery.body:acme/3f9a…`. */
  seal(plain: Uint8Array, context: string): Buffer;
  /** @throws AppError `internal` if the value was changed, moved or sealed with another key. */
  open(sealed: Uint8Array, context: string): Buffer;
  /** Whether the value was sealed in the current format and with the current key. */
  isCurrent(sealed: Uint8Array): boolean;
  /** A keyed digest of a value, by which it is found without being stored in plain text. */
  digest(value: string): string;
  /** The digests of a value with each of the keys, for a search. */
  digests(value: string): string[];
  /** Identifies the key without revealing anything about it. */
  readonly fingerprint: string;
  /** The fingerprints of all keys, first that of the key that seals. */
  readonly fingerprints: readonly string[];
}

/** The format of the first version, without the id of the key. */
const oldFormat = 1;
const format = 2;
const idBytes = 4;
const ivBytes = 12;
const tagBytes = 16;

interface DerivedKeys {
  sealing: KeyObject;
  digesting: KeyObject;
  fingerprint: string;
  /** The beginning of a sealed value: the format and the id of the key. */
  head: Buffer;
}

/**
 * @param key 32 random bytes; each purpose uses a key of its own derived from it
 * @param previous keys that values may still be sealed with
 */
export function createSecretBox(key: Uint8Array, previous: readonly Uint8Array[] = []): SecretBox {
  const current = deriveKeys(key);
  const all = [current, ...previous.map(deriveKeys)];
  return {
    seal(plain, context) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', current.sealing, iv).setAAD(Buffer.from(context));
      const sealed = [cipher.update(plain), cipher.final(), cipher.getAuthTag()];
      return Buffer.concat([current.head, iv, ...sealed]);
    },
    open(sealed, context) {
      try {
        return openSealed(all, Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length), context);
      } catch (error) {
        const message = `Could not decrypt ${context}: wrong key or changed value`;
        throw new AppError('internal', message, { cause: error });
      }
    },
    isCurrent: (sealed) => current.head.equals(sealed.subarray(0, current.head.length)),
    digest: (value) => digestOf(current, value),
    digests: (value) => all.map((keys) => digestOf(keys, value)),
    fingerprint: current.fingerprint,
    fingerprints: all.map(({ fingerprint }) => fingerprint),
  };
}

function openSealed(all: DerivedKeys[], sealed: Buffer, context: string): Buffer {
  if (sealed[0] === oldFormat) return openWithAny(all, sealed.subarray(1), context);
  const named = all.filter(({ head }) => head.equals(sealed.subarray(0, head.length)));
  return openWithAny(named, sealed.subarray(1 + idBytes), context);
}

/** Usually there is one candidate. @param sealed initialisation vector, ciphertext and tag */
function openWithAny(candidates: DerivedKeys[], sealed: Buffer, context: string): Buffer {
  if (sealed.length < ivBytes + tagBytes) throw new Error('not a sealed value');
  let failure: unknown = new Error('sealed with a key that is not known');
  for (const { sealing } of candidates) {
    try {
      return decrypt(sealing, sealed, context);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function decrypt(key: KeyObject, sealed: Buffer, context: string): Buffer {
  const tagAt = sealed.length - tagBytes;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, ivBytes))
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(tagAt));
  return Buffer.concat([decipher.update(sealed.subarray(ivBytes, tagAt)), decipher.final()]);
}

function digestOf({ digesting }: DerivedKeys, value: string): string {
  return createHmac('sha256', digesting).update(value).digest('base64url');
}

function deriveKeys(key: Uint8Array): DerivedKeys {
  const proof = createHmac('sha256', deriveKey(key, 'fingerprint')).digest();
  return {
    sealing: deriveKey(key, 'seal'),
    digesting: deriveKey(key, 'digest'),
    fingerprint: proof.toString('hex').slice(0, 16),
    head: Buffer.of(format, ...proof.subarray(0, idBytes)),
  };
}

/** A `KeyObject` instead of bytes, so that Node prepares the key once and not at every use. */
function deriveKey(key: Uint8Array, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `gangway/${purpose}`, 32)));
}
