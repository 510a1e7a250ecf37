import { createHash } from 'node:crypto';
import { toInstantText } from '../domain/marketplace-text.ts';

const instantBytes = 6;
const digestBytes = 32;

/**
 * What identifies a body of an install: when it says that it was created, in milliseconds since 1970 (6 bytes, the
 * greatest first; zero where it says nothing readable, or a time before 1970), then its SHA-256 (32 bytes). It begins
 * with the time so that bodies that come together lie together in the index: by digests alone, each lies in a page
 * that has to be read from the disk. It follows from the body alone, so a repeat meets it whenever and however it
 * comes. Do not change it: stored deliveries would no longer be met.
 *
 * @param json the body, parsed; undefined if it is no JSON
 */
export function toBodyKey(body: Uint8Array, json: unknown): Buffer {
  const key = Buffer.alloc(instantBytes + digestBytes);
  key.writeUIntBE(createdMsOf(json), 0, instantBytes);
  createHash('sha256').update(body).digest().copy(key, instantBytes);
  return key;
}

/** The SHA-256 of the body. */
export function digestOf(bodyKey: Buffer): Buffer {
  return bodyKey.subarray(-digestBytes);
}

function createdMsOf(json: unknown): number {
  const createdAt = toInstantText((json as { createdAt?: unknown } | null | undefined)?.createdAt);
  return createdAt === undefined ? 0 : Math.max(0, Date.parse(createdAt));
}
