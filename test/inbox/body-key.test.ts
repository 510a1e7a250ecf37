import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { digestOf, toBodyKey } from '../../src/inbox/append-store.ts';
import { readJson } from '../../src/inbox/event-schema.ts';

function keyOf(text: string): Buffer {
  const body = Buffer.from(text);
  return toBodyKey(body, readJson(body));
}

const created = (createdAt: unknown) => JSON.stringify({ type: 'contract.started', createdAt });

// As `date` and `sha256sum` have it.
it('is what it was when deliveries were stored by it', () => {
  const body = '{"type":"contract.started","createdAt":"2026-03-15T11:59:58.000Z"}';
  expect(keyOf(body).toString('hex')).toBe(
    '019cf15e0a30fdc2b3837527b21dc374a3082e0b6cdece275cf00baa46ee306c38244ef29f1a',
  );
});

it.each([
  ['an instant', created('2026-03-15T12:00:00Z'), Date.parse('2026-03-15T12:00:00Z')],
  ['the same in another zone', created('2026-03-15T14:00:00.000+02:00'), Date.parse('2026-03-15T12:00:00Z')],
  ['the last instant there is', created('9999-12-31T23:59:59.999Z'), 253_402_300_799_999],
  ['an instant in a year of five digits', created('9999-12-31T23:59:59.999-23:59'), 0],
  ['the first millisecond', created('1970-01-01T00:00:00.001Z'), 1],
  ['a time before 1970', created('1969-12-31T23:59:59.999Z'), 0],
  ['the year 0', created('0000-01-01T00:00:00Z'), 0],
  ['no such day', created('2026-13-45T00:00:00Z'), 0],
  ['a time without a zone', created('2026-03-15T12:00:00'), 0],
  ['a huge number', created(1e300), 0],
  ['a negative number', created(-1), 0],
  ['a year of six digits', created('+275760-09-13T00:00:00Z'), 0],
  ['a long text', created('9'.repeat(100_000)), 0],
  ['an object', created({ toString: 'x' }), 0],
  ['null', created(null), 0],
  ['none', '{"type":"contract.started"}', 0],
  ['the last of two', '{"createdAt":"x","createdAt":"2026-03-15T12:00:00Z"}', Date.parse('2026-03-15T12:00:00Z')],
  ['that of another record', '{"data":{"createdAt":"2026-03-15T12:00:00Z"}}', 0],
  ['a body that is a list', '["createdAt"]', 0],
  ['a body that is null', 'null', 0],
  ['a body that is no JSON', 'createdAt', 0],
  ['an empty body', '', 0],
])('begins with when the body was created: %s', (_what, body, ms) => {
  const key = keyOf(body);
  expect(key.readUIntBE(0, 6)).toBe(ms);
  expect(digestOf(key)).toEqual(createHash('sha256').update(body).digest());
});

it('lies in the order of time', () => {
  const instants = fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true });
  fc.assert(
    fc.property(instants, instants, (one, other) => {
      fc.pre(one < other);
      expect(Buffer.compare(keyOf(created(one)), keyOf(created(other)))).toBe(-1);
    }),
  );
});

it('is found of every body, and tells any two apart', () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), fc.oneof(fc.json(), fc.string()), (one, other) => {
      expect(keyOf(one)).toHaveLength(38);
      expect(keyOf(one).equals(keyOf(other))).toBe(one === other);
    }),
  );
});
