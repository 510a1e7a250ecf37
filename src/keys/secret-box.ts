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

/** The first byte of a sealed value. */
const format = 1;
const ivBytes = 12;
const tagBytes = 16;

export type SecretBox = ReturnType<typeof createSecretBox>;

/**
 * Encryption at rest with AES-256-GCM. Each value is bound to its context, which names table, column and row, such as
 * `delivery.body:acme/3f9a…`. A value that was moved does not open.
 *
 * @param key 32 random bytes, from which each purpose derives a key of its own
 */
export function createSecretBox(key: Uint8Array) {
  const sealing = deriveKey(key, 'seal');
  const digesting = deriveKey(key, 'digest');
  const proof = createHmac('sha256', deriveKey(key, 'fingerprint')).digest('hex');
  return {
    seal(plain: Uint8Array, context: string): Buffer {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', sealing, iv).setAAD(Buffer.from(context));
      return Buffer.concat([Buffer.of(format), iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    /** @throws AppError `internal` if the value was changed, moved or sealed with another key */
    open(sealed: Uint8Array, context: string): Buffer {
      try {
        return decrypt(sealing, Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length), context);
      } catch (error) {
        const message = `Could not decrypt ${context}: wrong key or changed value`;
        throw new AppError('internal', message, { cause: error });
      }
    },
    /** A keyed digest, by which a value is found without being stored in plain text. */
    digest: (value: string) => createHmac('sha256', digesting).update(value).digest('base64url'),
    /** Identifies the key without revealing anything about it. */
    fingerprint: proof.slice(0, 16),
  };
}

function decrypt(sealing: KeyObject, sealed: Buffer, context: string): Buffer {
  const tagAt = sealed.length - tagBytes;
  if (sealed[0] !== format || tagAt < 1 + ivBytes) throw new Error('not a sealed value');
  const decipher = createDecipheriv('aes-256-gcm', sealing, sealed.subarray(1, 1 + ivBytes))
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(tagAt));
  return Buffer.concat([decipher.update(sealed.subarray(1 + ivBytes, tagAt)), decipher.final()]);
}

/** A `KeyObject` instead of bytes, so that Node does not prepare the key at every use. */
function deriveKey(key: Uint8Array, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `gangway/${purpose}`, 32)));
}
