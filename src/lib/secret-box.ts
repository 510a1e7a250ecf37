import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
} from 'node:crypto';
import { AppError } from '../domain/errors.ts';

/**
 * Encryption at rest: AES-256-GCM, each value bound to the place it stands in, so that a value
 * moved to another table, column or row does not open.
 */
export interface SecretBox {
  /** `place` names table, column and row, e.g. `delivery.body:acme/3f9a…`. */
  seal(plain: Uint8Array, place: string): Buffer;
  /** @throws AppError `internal` where the value was changed, moved or sealed with another key. */
  open(sealed: Uint8Array, place: string): Buffer;
  /** A keyed digest of a value, to find it by without storing it in the clear. */
  digest(value: string): string;
  /** Tells one key from another without telling anything about either. */
  readonly fingerprint: string;
}

const formatVersion = 1;
const ivBytes = 12;
const tagBytes = 16;
const headBytes = 1 + ivBytes;

/** @param key 32 random bytes; each purpose uses a key of its own derived from it. */
export function createSecretBox(key: Uint8Array): SecretBox {
  const sealingKey = deriveKey(key, 'seal');
  const digestKey = deriveKey(key, 'digest');
  return {
    seal(plain, place) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', sealingKey, iv).setAAD(Buffer.from(place));
      const head = Buffer.of(formatVersion, ...iv);
      return Buffer.concat([head, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, place) {
      try {
        return openSealed(sealingKey, sealed, place);
      } catch (error) {
        const message = `Could not decrypt ${place}: wrong key or changed value`;
        throw new AppError('internal', message, { cause: error });
      }
    },
    digest: (value) => createHmac('sha256', digestKey).update(value).digest('base64url'),
    fingerprint: createHmac('sha256', deriveKey(key, 'fingerprint')).digest('hex').slice(0, 16),
  };
}

function openSealed(key: ReturnType<typeof deriveKey>, sealed: Uint8Array, place: string): Buffer {
  if (sealed[0] !== formatVersion || sealed.length < headBytes + tagBytes) {
    throw new Error('not a sealed value');
  }
  const tagAt = sealed.length - tagBytes;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, headBytes))
    .setAAD(Buffer.from(place))
    .setAuthTag(sealed.subarray(tagAt));
  return Buffer.concat([decipher.update(sealed.subarray(headBytes, tagAt)), decipher.final()]);
}

/** A `KeyObject` rather than bytes: Node then prepares the key once, not at every use. */
function deriveKey(key: Uint8Array, purpose: string) {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `gangway/${purpose}`, 32)));
}
