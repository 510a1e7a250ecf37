import { describe, expect, it } from 'vitest';
import {
  type DueEnd,
  type InstallReadings,
  longestLookMs,
  type ReasonInstall,
  requiredReadings,
  type ScopeReadings,
} from '../../src/domain/required-readings.ts';

const gracePeriods = { graceMs: 15 * 60_000, revokedGraceMs: 24 * 3_600_000 };
const noonMs = Date.parse('2026-03-15T12:00:00.000Z');
const day = 24 * 60;
const look = longestLookMs / 60_000;

/** Minutes after noon. */
function at(min: number): string {
  return new Date(noonMs + min * 60_000).toISOString();
}

const neverWaited = { installsSince: null, workSince: null, listsSince: null };
/** Derived and due at noon. */
const delivered: DueEnd = {
  cause: 'contract_ended',
  install: 'acme',
  derivedAt: at(0),
  dueAt: at(0),
  waits: neverWaited,
};
const listed: DueEnd = { ...delivered, cause: 'contract_read_ended' };
const weak: DueEnd = { ...delivered, cause: 'link_removed' };
const retired: DueEnd = { ...delivered, cause: 'retired' };
const approved: DueEnd = { ...weak, isApproved: true };

/** Read whole at noon, and never silent. */
const acme: ReasonInstall = {
  install: 'acme',
  heldSince: null,
  removalsHeldSince: null,
  activeListedAt: at(0),
  endedAt: at(0),
  canBeAsked: true,
};
/** Another reason of the same membership. */
const initech: ReasonInstall = { ...acme, install: 'initech' };
/** No reason, but its people may be in the same group. */
const globex: InstallReadings = { install: 'globex', heldSince: null, removalsHeldSince: null, activeListedAt: at(0) };
const signs: ScopeReadings = { scope: 'signs', readBeganAt: null, refusedAt: null };

const silence = (min: number) => ({ heldSince: at(min), removalsHeldSince: at(min) });
const pause = (min: number) => ({ removalsHeldSince: at(min) });
const unlisted = { activeListedAt: null };

interface Known {
  acme?: Partial<ReasonInstall>;
  initech?: Partial<ReasonInstall>;
  globex?: Partial<InstallReadings>;
  signs?: Partial<ScopeReadings>;
  waits?: Partial<DueEnd['waits']>;
}

/** What is waited for, and until how many minutes after noon. */
function waitOf(end: DueEnd, known: Known, now = 0): [string, number] | null {
  const facts = {
    sources: [{ ...acme, ...known.acme }, ...(known.initech ? [{ ...initech, ...known.initech }] : [])],
    others: [{ ...globex, ...known.globex }],
    scopes: known.signs ? [{ ...signs, ...known.signs }] : [],
  };
  const required = requiredReadings(
    { ...end, waits: { ...neverWaited, ...known.waits } },
    facts,
    at(now),
    gracePeriods,
  );
  if (required === null) return null;
  const { readings, deadline } = required;
  const minutesOf = (instant: string) => (Date.parse(instant) - noonMs) / 60_000;
  return [
    readings.map(({ kind, of, since }) => `${kind} ${of} since ${minutesOf(since)}`).join(', '),
    minutesOf(deadline),
  ];
}

type Case = [name: string, known: Known, now: number, waits: ReturnType<typeof waitOf>];

function waits(end: DueEnd, cases: Case[]): void {
  it.each(cases)('%s', (_, known, now, expected) => {
    expect(waitOf(end, known, now)).toEqual(expected);
  });
}

describe('before a removal the installs are read', () => {
  // A delivered end waits only where it is older than a silence.
  describe('after a delivered end', () => {
    waits(delivered, [
      ['from before a silence', { acme: silence(1) }, 60, ['install acme since 1', 60 + day]],
      ['but not since the silence', { acme: silence(-1) }, 0, null],
      ['but not from before a pause', { acme: pause(1), waits: { listsSince: at(0) } }, 2, null],
      ['from before the silence of another', { globex: silence(1) }, 0, ['install globex since 1', day]],
      [
        'for a day from the first wait',
        { acme: silence(5), waits: { listsSince: at(0) } },
        5,
        ['install acme since 5', day],
      ],
    ]);
  });

  // A reading tells an end later than it was, and another install may have hired the trainer meanwhile.
  describe('after a listed end', () => {
    waits(listed, [
      ['from before a silence', { acme: silence(1) }, 0, ['install acme since 1', day]],
      ['but not since the silence', { acme: silence(-1) }, 0, null],
      ['and any silence of another', { globex: silence(-1) }, 0, ['install globex since -1', day]],
    ]);
  });

  describe('after weak evidence', () => {
    waits(weak, [
      ['from before a pause', { acme: pause(1) }, 0, ['install acme since 1', day]],
      ['from before the pause of another', { globex: pause(1) }, 0, ['install globex since 1', day]],
      ['and any silence of another', { globex: silence(-60) }, 0, ['install globex since -60', day]],
      ['but not since an older pause of another', { globex: pause(-60) }, 0, null],
      [
        'and all that are not read',
        { acme: pause(1), globex: silence(1) },
        0,
        ['install acme since 1, install globex since 1', day],
      ],
      ['for a day', { acme: pause(1), waits: { installsSince: at(0) } }, day - 1, ['install acme since 1', day]],
      ['for no longer than a day', { acme: pause(1), waits: { installsSince: at(0) } }, day, null],
    ]);
    waits({ ...weak, derivedAt: at(1), dueAt: at(15) }, [
      ['that is due soon after a pause', { acme: pause(0) }, 15, ['install acme since 0', 15 + day]],
    ]);
    waits({ ...weak, derivedAt: at(1), dueAt: at(16) }, [
      ['but not where it is due longer after a pause', { acme: pause(0) }, 16, null],
    ]);
  });

  describe('after an operator', () => {
    waits(retired, [['ended it: not', { acme: silence(1) }, 0, null]]);
    waits(approved, [
      ['approved it: not', { acme: pause(-1) }, 0, null],
      ['approved it before a pause', { acme: pause(1) }, 0, ['install acme since 1', day]],
      ['approved it before the pause of another', { globex: pause(1) }, 0, ['install globex since 1', day]],
    ]);
  });
});

describe('before a removal the work is read', () => {
  const work: Case[3] = ['work signs since 0', 5];

  waits(delivered, [['after a delivered end', { signs: {} }, 0, work]]);
  waits(weak, [
    ['after weak evidence', { signs: {} }, 0, work],
    ['after what a pause may have hidden', { acme: pause(1), signs: {} }, 0, ['install acme since 1', day]],
  ]);
  waits(retired, [
    ['after an operator ended it', { signs: {} }, 0, work],
    ['anew, whenever it was read before', { signs: { readBeganAt: at(0) } }, 0, work],
    ['for five minutes', { signs: {}, waits: { workSince: at(0) } }, 4, work],
    ['for no longer than five minutes', { signs: {}, waits: { workSince: at(0) } }, 5, null],
    ['by a reading that began since', { signs: { readBeganAt: at(-1) }, waits: { workSince: at(0) } }, 1, work],
    ['once', { signs: { readBeganAt: at(0) }, waits: { workSince: at(0) } }, 1, null],
    ['unless that is refused', { signs: { refusedAt: at(0) }, waits: { workSince: at(0) } }, 1, null],
    ['where that was refused before', { signs: { refusedAt: at(-1) }, waits: { workSince: at(0) } }, 1, work],
  ]);
});

describe('before a removal the active contracts are listed', () => {
  const listedAt = (min: number) => ({ activeListedAt: at(min) });
  const list = (since: number): Case[3] => [`active_list acme since ${since}`, since + look];

  describe('after a delivered end', () => {
    waits(delivered, [
      ['where they were before it', { acme: listedAt(-1) }, 0, list(0)],
      ['where they never were', { acme: unlisted }, 0, list(0)],
      ['but not where they were since the end', {}, 0, null],
      ['of each install whose contract has ended', { initech: unlisted }, 0, ['active_list initech since 0', look]],
      ['but not of an install whose contracts have not ended', { initech: { ...unlisted, endedAt: null } }, 0, null],
      ['but not of an install that is not configured', { acme: { ...unlisted, canBeAsked: false } }, 0, null],
      ['after the work was read', { acme: unlisted, signs: {} }, 0, ['work signs since 0', 5]],
      ['for half a minute', { acme: unlisted, waits: { listsSince: at(0) } }, look - 0.01, list(0)],
      ['for no longer than half a minute', { acme: unlisted, waits: { listsSince: at(0) } }, look, null],
      [
        'for half a minute after a pause',
        { acme: { ...unlisted, ...pause(9) }, waits: { listsSince: at(0) } },
        9,
        list(9),
      ],
    ]);
  });

  describe('after other ends', () => {
    waits({ ...listed, derivedAt: at(1) }, [['not where the reading listed them', { acme: listedAt(0) }, 1, null]]);
    waits(weak, [
      ['not after weak evidence', { acme: unlisted, waits: { installsSince: at(0), workSince: at(0) } }, 0, null],
    ]);
    waits(retired, [['not after an operator ended it', { acme: unlisted }, 0, null]]);
    waits({ ...delivered, isApproved: true }, [['not after an operator approved it', { acme: unlisted }, 0, null]]);
  });

  // A contract may begin during another wait.
  describe('after another wait', () => {
    const others = { installsSince: at(0), listsSince: at(5) };
    waits(delivered, [
      ['for a reading', { acme: listedAt(4), waits: { installsSince: at(0) } }, 5, list(5)],
      ['for the work, and after that began', { acme: listedAt(4), waits: { workSince: at(0) } }, 5, list(5)],
      ['by a list that began since', { acme: listedAt(4), waits: others }, 5.1, list(5)],
      ['once', { acme: listedAt(5), waits: others }, 5.1, null],
    ]);
  });

  // The end was delivered since the silence, so it waits for that install no longer than for a list.
  describe('and another install is read after its silence', () => {
    waits(delivered, [
      ['as long as a list is waited for', { globex: silence(-1) }, 0, ['install globex since -1', look]],
      ['and no longer', { globex: silence(-1), waits: { listsSince: at(0) } }, look, null],
    ]);
  });
});
