import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { tries } from '../support/tries.ts';

const box = createSecretBox(Buffer.alloc(32, 7));
const refused = expect.objectContaining({
  code: 'internal',
  message: 'Could not decrypt person.work_email:1: wrong key or changed value',
});

describe('a sealed value', () => {
  it('opens to any plain text', () => {
    const value = fc.uint8Array({ maxLength: 2000 });
    const check = fc.property(value, fc.string(), (plain, context) => {
      expect(box.open(box.seal(plain, context), context)).toEqual(Buffer.from(plain));
    });
    fc.assert(check, { numRuns: tries(300) });
  });

  it('opens only in its own context', () => {
    const sealed = seal('amara.o@opentrain.work');
    for (const context of ['person.work_email:2', 'person.name:1', 'person.work_email:1 ', '']) {
      expect(() => box.open(sealed, context)).toThrow('wrong key or changed value');
    }
  });

  it('does not open once any byte is changed', () => {
    const sealed = seal('secret');
    for (const index of sealed.keys()) {
      const changed = Buffer.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(() => box.open(changed, 'person.work_email:1')).toThrow(refused);
    }
  });

  it('does not open once it is cut or extended', () => {
    const sealed = seal('secret');
    for (const length of [0, 1, 12, 13, 28, sealed.length - 1]) {
      const cut = sealed.subarray(0, length);
      expect(() => box.open(cut, 'person.work_email:1')).toThrow(refused);
    }
    const grown = Buffer.concat([sealed, Buffer.of(0)]);
    expect(() => box.open(grown, 'person.work_email:1')).toThrow(refused);
  });

  it('opens with no other key', () => {
    const other = createSecretBox(randomBytes(32));
    expect(() => other.open(seal('secret'), 'person.work_email:1')).toThrow(refused);
  });

  it('opens with the same key in another process', () => {
    const again = createSecretBox(Buffer.alloc(32, 7));
    expect(again.open(seal('secret'), 'person.work_email:1').toString()).toBe('secret');
  });

  it('differs each time, and shows nothing of its content', () => {
    const sealed = [seal('secret secret'), seal('secret secret')];
    expect(sealed[0]).not.toEqual(sealed[1]);
    for (const one of sealed) expect(one.includes('secret')).toBe(false);
  });

  it('still opens after an upgrade, because the format is the same', () => {
    const sealed = Buffer.from(goldenHex, 'hex');
    expect(box.open(sealed, 'person.work_email:1').toString()).toBe('amara.o@opentrain.work');
  });
});

describe('a digest', () => {
  it('is the same for the same value and key, and tells others apart', () => {
    const digest = box.digest('amara.o@opentrain.work');
    expect(createSecretBox(Buffer.alloc(32, 7)).digest('amara.o@opentrain.work')).toBe(digest);
    expect(box.digest('amara.p@opentrain.work')).not.toBe(digest);
    expect(createSecretBox(randomBytes(32)).digest('amara.o@opentrain.work')).not.toBe(digest);
    expect(digest).toBe(goldenDigest);
  });
});

describe('a fingerprint', () => {
  it('tells keys apart, and contains none', () => {
    const key = randomBytes(32);
    const { fingerprint } = createSecretBox(key);
    expect(createSecretBox(key).fingerprint).toBe(fingerprint);
    expect(fingerprint).toMatch(/^[0-9a-f]{16}$/);
    expect(createSecretBox(randomBytes(32)).fingerprint).not.toBe(fingerprint);
    expect(key.toString('hex')).not.toContain(fingerprint);
  });
});

/** Made by the first version, with a key of 32 sevens. */
const goldenHex =
  '01102d93470a21b479c96495701b3e37472defc909846497881b392d256caec98f9f0459a0f9e7587656ff15982e60ab577cd4';
const goldenDigest = 'daJhxmymPyq1R0cF7ZptLhywikKNvVLxATxfg9dSy4Q';

function seal(text: string): Buffer {
  return box.seal(Buffer.from(text), 'person.work_email:1');
}
