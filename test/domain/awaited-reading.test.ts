import { describe, expect, it } from 'vitest';
import {
  type DueEnd,
  findReadingWait,
  type InstallReadings,
  longestLookMs,
  type ReasonInstall,
} from '../../src/domain/awaited-reading.ts';

const gracePeriods = { graceMs: 15 * 60_000, revokedGraceMs: 24 * 3_600_000 };
const noonMs = Date.parse('2026-03-15T12:00:00.000Z');

function at(min: number): string {
  return new Date(noonMs + min * 60_000).toISOString();
}

/** Derived and due at noon. */
const end: DueEnd = { cause: 'contract_ended', install: 'acme', derivedAt: at(0), dueAt: at(0), waitsSince: null };
const weak: DueEnd = { ...end, cause: 'link_removed' };

/** Read whole at noon, and never silent. */
const acme: ReasonInstall = {
  install: 'acme',
  heldSince: null,
  removalsHeldSince: null,
  activeListedAt: at(0),
  endedAt: at(0),
  canBeAsked: true,
};
const globex: InstallReadings = { install: 'globex', heldSince: null, removalsHeldSince: null, activeListedAt: at(0) };

function waitOf(due: DueEnd, source: Partial<ReasonInstall>, other: Partial<InstallReadings> = {}, now = at(0)) {
  return findReadingWait(due, [{ ...acme, ...source }], [{ ...globex, ...other }], now, gracePeriods);
}

describe('a removal after an outright end', () => {
  it('waits until the active contracts were listed after the end, since a renewal may be lost', () => {
    expect(waitOf(end, { activeListedAt: at(-1) })).toEqual({ isOver: false, toList: ['acme'] });
    expect(waitOf(end, { activeListedAt: null })).toEqual({ isOver: false, toList: ['acme'] });
    expect(waitOf(end, {})).toEqual({ isOver: true, toList: [] });
  });

  it('waits for that no longer than it may', () => {
    const waiting = { ...end, waitsSince: at(0) };
    const later = (ms: number) => new Date(noonMs + ms).toISOString();
    expect(waitOf(waiting, { activeListedAt: null }, {}, later(longestLookMs - 1)).isOver).toBe(false);
    expect(waitOf(waiting, { activeListedAt: null }, {}, later(longestLookMs)).isOver).toBe(true);
  });

  it('needs no list of an install that can no longer be asked', () => {
    expect(waitOf(end, { activeListedAt: null, canBeAsked: false }).isOver).toBe(true);
  });

  it('waits for a reading where the end is older than a silence', () => {
    const since = { ...end, waitsSince: at(0) };
    expect(waitOf(since, { heldSince: at(1) }, {}, at(60)).isOver).toBe(false);
    expect(waitOf(since, { heldSince: at(-1) }, {}, at(60)).isOver).toBe(true);
  });

  it('waits where another install may have missed a hire', () => {
    const read: DueEnd = { ...end, cause: 'contract_read_ended', waitsSince: at(0) };
    expect(waitOf(read, {}, { heldSince: at(-1) }, at(60)).isOver).toBe(false);
    expect(waitOf({ ...end, waitsSince: at(0) }, {}, { heldSince: at(1) }, at(60)).isOver).toBe(false);
    // It was delivered after the silence.
    expect(waitOf({ ...end, waitsSince: at(0) }, {}, { heldSince: at(-1) }, at(60)).isOver).toBe(true);
  });

  it('waits for none of this where an operator has decided', () => {
    const retired: DueEnd = { ...end, cause: 'retired' };
    expect(waitOf(retired, { heldSince: at(1), activeListedAt: null })).toEqual({ isOver: true, toList: [] });
  });
});

describe('a removal after a weaker end', () => {
  it('asks for no list', () => {
    expect(waitOf(weak, { activeListedAt: null })).toEqual({ isOver: true, toList: [] });
  });

  it('waits for a reading where its evidence is from before a pause, or became due soon after it', () => {
    expect(waitOf(weak, { removalsHeldSince: at(1) }).isOver).toBe(false);
    const dueLater = { ...weak, derivedAt: at(1), dueAt: at(15) };
    expect(waitOf(dueLater, { removalsHeldSince: at(0) }, {}, at(15)).isOver).toBe(false);
    expect(waitOf({ ...dueLater, dueAt: at(16) }, { removalsHeldSince: at(0) }, {}, at(16)).isOver).toBe(true);
  });

  it('waits for the reading of another install, but for no reading for ever', () => {
    const waiting = { ...weak, waitsSince: at(0) };
    expect(waitOf(waiting, {}, { heldSince: at(-60) }, at(24 * 60 - 1)).isOver).toBe(false);
    expect(waitOf(waiting, {}, { heldSince: at(-60) }, at(24 * 60)).isOver).toBe(true);
  });
});
