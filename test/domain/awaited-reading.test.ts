import { describe, expect, it } from 'vitest';
import {
  type AskedEnd,
  findListWait,
  type InstallReadings,
  isReadingOver,
  longestLookMs,
  type ReasonInstall,
} from '../../src/domain/awaited-reading.ts';

const gracePeriods = { graceMs: 15 * 60_000, revokedGraceMs: 24 * 3_600_000 };
const noonMs = Date.parse('2026-03-15T12:00:00.000Z');

function at(min: number): string {
  return new Date(noonMs + min * 60_000).toISOString();
}

/** Derived and due at noon. */
const end: AskedEnd = {
  cause: 'contract_ended',
  install: 'acme',
  derivedAt: at(0),
  dueAt: at(0),
  waitsSince: null,
  listsWaitedSince: null,
  hasWaited: false,
};
const weak: AskedEnd = { ...end, cause: 'link_removed' };
const retired: AskedEnd = { ...end, cause: 'retired' };
const over = { isOver: true, toList: [] };

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

function isRead(due: AskedEnd, source: Partial<ReasonInstall>, other: Partial<InstallReadings> = {}, now = at(0)) {
  return isReadingOver(due, [{ ...acme, ...source }], [{ ...globex, ...other }], now, gracePeriods);
}

function listsOf(due: AskedEnd, source: Partial<ReasonInstall>, other: Partial<InstallReadings> = {}, now = at(0)) {
  return findListWait(due, [{ ...acme, ...source }], [{ ...globex, ...other }], now);
}

describe('a removal after an outright end', () => {
  it('waits until the active contracts were listed after the end, since a renewal may be lost', () => {
    expect(listsOf(end, { activeListedAt: at(-1) })).toEqual({ isOver: false, toList: ['acme'] });
    expect(listsOf(end, { activeListedAt: null })).toEqual({ isOver: false, toList: ['acme'] });
    expect(listsOf(end, {})).toEqual(over);
  });

  it('waits for that no longer than it may', () => {
    const waiting = { ...end, listsWaitedSince: at(0) };
    const later = (ms: number) => new Date(noonMs + ms).toISOString();
    expect(listsOf(waiting, { activeListedAt: null }, {}, later(longestLookMs - 1)).isOver).toBe(false);
    expect(listsOf(waiting, { activeListedAt: null }, {}, later(longestLookMs)).isOver).toBe(true);
  });

  it('waits for a list that began after all else that it has waited for', () => {
    const first = { ...end, waitsSince: at(0), hasWaited: true };
    expect(listsOf(first, { activeListedAt: at(4) }, {}, at(5))).toEqual({ isOver: false, toList: ['acme'] });
    const next = { ...first, listsWaitedSince: at(5) };
    const soon = new Date(noonMs + 5 * 60_000 + 1000).toISOString();
    expect(listsOf(next, { activeListedAt: at(4) }, {}, soon)).toEqual({ isOver: false, toList: ['acme'] });
    expect(listsOf(next, { activeListedAt: at(5) }, {}, soon)).toEqual(over);
    // Half a minute counts from there too.
    expect(listsOf(next, { activeListedAt: at(4) }, {}, at(6))).toEqual(over);
  });

  it('needs no list of an install that can no longer be asked', () => {
    expect(listsOf(end, { activeListedAt: null, canBeAsked: false }).isOver).toBe(true);
  });

  it('waits for a reading where the end is older than a silence', () => {
    const since = { ...end, waitsSince: at(0) };
    expect(isRead(since, { heldSince: at(1) }, {}, at(60))).toBe(false);
    expect(isRead(since, { heldSince: at(-1) }, {}, at(60))).toBe(true);
  });

  it('waits where another install may have missed a hire', () => {
    const read: AskedEnd = { ...end, cause: 'contract_read_ended', waitsSince: at(0) };
    expect(isRead(read, {}, { heldSince: at(-1) }, at(60))).toBe(false);
    expect(isRead({ ...end, waitsSince: at(0) }, {}, { heldSince: at(1) }, at(60))).toBe(false);
    // It was delivered after the silence, and waits for that install no longer than for a list.
    const delivered = { ...end, waitsSince: at(0), listsWaitedSince: at(0) };
    expect(isRead(delivered, {}, { heldSince: at(-1) }, at(60))).toBe(true);
    expect(listsOf(delivered, {}, { heldSince: at(-1) }, at(0))).toEqual({ isOver: false, toList: [] });
    expect(listsOf(delivered, {}, { heldSince: at(-1) }, at(60))).toEqual(over);
  });

  it('waits for none of this where an operator has decided', () => {
    expect(isRead(retired, { heldSince: at(1) })).toBe(true);
    expect(listsOf(retired, { activeListedAt: null })).toEqual(over);
  });
});

describe('a removal after a weaker end', () => {
  it('asks for no list', () => {
    expect(listsOf(weak, { activeListedAt: null })).toEqual(over);
    expect(listsOf({ ...weak, hasWaited: true }, { activeListedAt: null })).toEqual(over);
  });

  it('waits for a reading where its evidence is from before a pause, or became due soon after it', () => {
    expect(isRead(weak, { removalsHeldSince: at(1) })).toBe(false);
    const dueLater = { ...weak, derivedAt: at(1), dueAt: at(15) };
    expect(isRead(dueLater, { removalsHeldSince: at(0) }, {}, at(15))).toBe(false);
    expect(isRead({ ...dueLater, dueAt: at(16) }, { removalsHeldSince: at(0) }, {}, at(16))).toBe(true);
  });

  it('waits for the reading of another install, but for no reading for ever', () => {
    const waiting = { ...weak, waitsSince: at(0) };
    expect(isRead(waiting, {}, { heldSince: at(-60) }, at(24 * 60 - 1))).toBe(false);
    expect(isRead(waiting, {}, { heldSince: at(-60) }, at(24 * 60))).toBe(true);
  });
});
