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

type Case = [name: string, end: DueEnd, known: Known, now: number, waits: ReturnType<typeof waitOf>];

describe('before a removal the installs are read', () => {
  it.each<Case>([
    // A delivered end waits only where it is older than a silence.
    [
      'after a delivered end from before a silence',
      delivered,
      { acme: silence(1) },
      60,
      ['install acme since 1', 60 + day],
    ],
    ['not after a delivered end since the silence', delivered, { acme: silence(-1) }, 0, null],
    [
      'not after a delivered end from before a pause',
      delivered,
      { acme: pause(1), waits: { listsSince: at(0) } },
      2,
      null,
    ],
    [
      'after a delivered end from before the silence of another',
      delivered,
      { globex: silence(1) },
      0,
      ['install globex since 1', day],
    ],

    // A reading tells an end later than it was, and another install may have hired the trainer meanwhile.
    ['after a listed end from before a silence', listed, { acme: silence(1) }, 0, ['install acme since 1', day]],
    ['not after a listed end since the silence', listed, { acme: silence(-1) }, 0, null],
    [
      'after a listed end and any silence of another',
      listed,
      { globex: silence(-1) },
      0,
      ['install globex since -1', day],
    ],

    ['after weak evidence from before a pause', weak, { acme: pause(1) }, 0, ['install acme since 1', day]],
    [
      'after weak evidence that is due soon after a pause',
      { ...weak, derivedAt: at(1), dueAt: at(15) },
      { acme: pause(0) },
      15,
      ['install acme since 0', 15 + day],
    ],
    [
      'not after weak evidence that is due longer after it',
      { ...weak, derivedAt: at(1), dueAt: at(16) },
      { acme: pause(0) },
      16,
      null,
    ],
    [
      'after weak evidence from before the pause of another',
      weak,
      { globex: pause(1) },
      0,
      ['install globex since 1', day],
    ],
    [
      'after weak evidence and any silence of another',
      weak,
      { globex: silence(-60) },
      0,
      ['install globex since -60', day],
    ],
    ['not after weak evidence since an older pause of another', weak, { globex: pause(-60) }, 0, null],
    [
      'of all that are not read',
      weak,
      { acme: pause(1), globex: silence(1) },
      0,
      ['install acme since 1, install globex since 1', day],
    ],

    ['not after an operator ended it', retired, { acme: silence(1) }, 0, null],
    ['not after an operator approved it', approved, { acme: pause(-1) }, 0, null],
    ['after an operator approved it before a pause', approved, { acme: pause(1) }, 0, ['install acme since 1', day]],
    [
      'after an operator approved it before the pause of another',
      approved,
      { globex: pause(1) },
      0,
      ['install globex since 1', day],
    ],

    ['for a day', weak, { acme: pause(1), waits: { installsSince: at(0) } }, day - 1, ['install acme since 1', day]],
    ['for no longer than a day', weak, { acme: pause(1), waits: { installsSince: at(0) } }, day, null],
    [
      'for a day from the first wait',
      delivered,
      { acme: silence(5), waits: { listsSince: at(0) } },
      5,
      ['install acme since 5', day],
    ],
  ])('%s', (_, end, known, now, waits) => {
    expect(waitOf(end, known, now)).toEqual(waits);
  });
});

describe('before a removal the work is read', () => {
  it.each<Case>([
    ['after every end', delivered, { signs: {} }, 0, ['work signs since 0', 5]],
    ['after weak evidence', weak, { signs: {} }, 0, ['work signs since 0', 5]],
    ['after an operator ended it', retired, { signs: {} }, 0, ['work signs since 0', 5]],
    ['after what a pause may have hidden', weak, { acme: pause(1), signs: {} }, 0, ['install acme since 1', day]],
    ['anew, whenever it was read before', retired, { signs: { readBeganAt: at(0) } }, 0, ['work signs since 0', 5]],
    ['for five minutes', retired, { signs: {}, waits: { workSince: at(0) } }, 4, ['work signs since 0', 5]],
    ['for no longer than five minutes', retired, { signs: {}, waits: { workSince: at(0) } }, 5, null],
    [
      'by a reading that began since',
      retired,
      { signs: { readBeganAt: at(-1) }, waits: { workSince: at(0) } },
      1,
      ['work signs since 0', 5],
    ],
    ['once', retired, { signs: { readBeganAt: at(0) }, waits: { workSince: at(0) } }, 1, null],
    ['unless that is refused', retired, { signs: { refusedAt: at(0) }, waits: { workSince: at(0) } }, 1, null],
    [
      'where that was refused before',
      retired,
      { signs: { refusedAt: at(-1) }, waits: { workSince: at(0) } },
      1,
      ['work signs since 0', 5],
    ],
  ])('%s', (_, end, known, now, waits) => {
    expect(waitOf(end, known, now)).toEqual(waits);
  });
});

describe('before a removal the active contracts are listed', () => {
  it.each<Case>([
    ['after a delivered end', delivered, { acme: { activeListedAt: at(-1) } }, 0, ['active_list acme since 0', look]],
    [
      'after a delivered end where they never were',
      delivered,
      { acme: unlisted },
      0,
      ['active_list acme since 0', look],
    ],
    ['not where they were since the end', delivered, {}, 0, null],
    [
      'after a listed end, unless that listed them',
      { ...listed, derivedAt: at(1) },
      { acme: { activeListedAt: at(0) } },
      1,
      null,
    ],
    [
      'of each install whose contract has ended',
      delivered,
      { initech: unlisted },
      0,
      ['active_list initech since 0', look],
    ],
    [
      'not of an install whose contracts have not ended',
      delivered,
      { initech: { ...unlisted, endedAt: null } },
      0,
      null,
    ],
    ['not of an install that is not configured', delivered, { acme: { ...unlisted, canBeAsked: false } }, 0, null],
    ['not after weak evidence', weak, { acme: unlisted, waits: { installsSince: at(0), workSince: at(0) } }, 0, null],
    ['not after an operator ended it', retired, { acme: unlisted }, 0, null],
    ['not after an operator approved it', { ...delivered, isApproved: true }, { acme: unlisted }, 0, null],
    ['after the work was read', delivered, { acme: unlisted, signs: {} }, 0, ['work signs since 0', 5]],

    [
      'for half a minute',
      delivered,
      { acme: unlisted, waits: { listsSince: at(0) } },
      look - 0.01,
      ['active_list acme since 0', look],
    ],
    ['for no longer than half a minute', delivered, { acme: unlisted, waits: { listsSince: at(0) } }, look, null],
    [
      'for half a minute after a pause',
      delivered,
      { acme: { ...unlisted, ...pause(9) }, waits: { listsSince: at(0) } },
      9,
      ['active_list acme since 9', 9 + look],
    ],

    // A contract may begin during another wait.
    [
      'after all else was read',
      delivered,
      { acme: { activeListedAt: at(4) }, waits: { installsSince: at(0) } },
      5,
      ['active_list acme since 5', 5 + look],
    ],
    [
      'after the work was read, and after that began',
      delivered,
      { acme: { activeListedAt: at(4) }, waits: { workSince: at(0) } },
      5,
      ['active_list acme since 5', 5 + look],
    ],
    [
      'by a list that began since',
      delivered,
      { acme: { activeListedAt: at(4) }, waits: { installsSince: at(0), listsSince: at(5) } },
      5.1,
      ['active_list acme since 5', 5 + look],
    ],
    [
      'once',
      delivered,
      { acme: { activeListedAt: at(5) }, waits: { installsSince: at(0), listsSince: at(5) } },
      5.1,
      null,
    ],

    // The end was delivered since the silence, so it waits for that install no longer than for a list.
    [
      'and another install is read after its silence',
      delivered,
      { globex: silence(-1) },
      0,
      ['install globex since -1', look],
    ],
    [
      'and another is read for no longer than that',
      delivered,
      { globex: silence(-1), waits: { listsSince: at(0) } },
      look,
      null,
    ],
  ])('%s', (_, end, known, now, waits) => {
    expect(waitOf(end, known, now)).toEqual(waits);
  });
});
