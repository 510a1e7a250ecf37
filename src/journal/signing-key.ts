import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign, verify } from 'node:crypto';

/** The Ed25519 key that signs certificates. It follows from the secret key, so every instance has the same. */
export interface SigningKey {
  /** In base64, as `gangway audit verify --key` takes it. */
  publicKey: string;
  /** @returns in base64 */
  sign(text: string): string;
}

/** What comes before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410). */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');
const spki = { format: 'der', type: 'spki' } as const;

export function createSigningKey(secretKey: Uint8Array): SigningKey {
  const seed = hkdfSync('sha256', secretKey, '', 'gangway certificates', 32);
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Head, Buffer.from(seed)]), format: 'der', type: 'pkcs8' });
  return {
    publicKey: createPublicKey(key).export(spki).toString('base64'),
    sign: (text) => sign(null, Buffer.from(text), key).toString('base64'),
  };
}

/** False also for a key that is none. */
export function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  const key = readPublicKey(publicKey);
  return key !== undefined && verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
}

function readPublicKey(publicKey: string): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), ...spki });
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}
