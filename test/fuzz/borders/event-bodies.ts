import assert from 'node:assert/strict';
import { eventTypes } from '../../../src/domain/event.ts';
import { evidenceOfEvent } from '../../../src/evidence/read-delivery.ts';
import { readEvent } from '../../../src/inbox/event-schema.ts';
import { fullEvent, minimalEvent } from '../../support/event-bodies.ts';
import type { Mutator } from '../mutator.ts';
import type { Target } from '../target.ts';

const receivedAt = '2026-03-15T12:00:00.000Z';
const staleAfterMs = 30 * 86_400_000;

const corpus: readonly unknown[] = eventTypes
  .flatMap((type) => [fullEvent({ type, startDate: '2026-03-15' }), minimalEvent(type, 'cmc1')])
  .map((body) => JSON.parse(body) as unknown);

export const eventBodies: Target = {
  name: 'event bodies',
  inputs: { long: 200_000, short: 1000 },
  reaches: ['event', 'ignored', 'unprocessable'],
  open: () => ({ judge }),
};

function judge(chance: Mutator): string {
  const body = chance.oneIn(200) ? makeDeep(chance) : chance.json(chance.pick(corpus));
  const read = readEvent(body);
  if (read.outcome === 'event') {
    const made = evidenceOfEvent('acme', read.event, receivedAt, staleAfterMs);
    for (const row of Object.values(made.evidence).flat()) checkRow(row);
    if (made.contractToRead !== null) checkId(made.contractToRead);
    checkId(read.event.resourceId);
  }
  assert.deepEqual(Object.keys(Object.prototype), []);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  return read.outcome;
}

/** As deep as the largest body that is taken can be. */
function makeDeep(chance: Mutator): Buffer {
  const depth = 1 + chance.below(120_000);
  const [open, close] = chance.pick([['[', ']'] as const, ['{"a":', '}'] as const]);
  const inner = `${open.repeat(depth)}0${close.repeat(depth)}`;
  return Buffer.from(`{"type":"contract.started","resourceId":"cmc1","data":${inner}}`.slice(0, 262_144));
}

function checkRow(row: object): void {
  assert.equal(Object.getPrototypeOf(row), Object.prototype);
  for (const [key, value] of Object.entries(row)) {
    if (value === null) continue;
    if (/[iI]d$/.test(key)) checkId(value);
    if (key.endsWith('At') || key === 'startDate') checkInstant(value);
    // None is later than it came: a time from the future would win over all that is said later.
    if (key.endsWith('At')) assert.ok(Date.parse(String(value)) <= Date.parse(receivedAt), `${key} ${value}`);
  }
}

function checkId(id: unknown): void {
  assert.ok(typeof id === 'string' && id !== '' && id.length <= 200 && !/\p{Cc}|\p{Cs}/u.test(id), String(id));
}

/** Instants are compared as text. */
function checkInstant(value: unknown): void {
  assert.match(String(value), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
}
