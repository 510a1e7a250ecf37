import { describe, expect, it } from 'vitest';
import { emptyContract } from '../../../src/domain/evidence.ts';
import { findCandidates } from '../../../src/usage/attribute/share-work.ts';
import type { Engagement } from '../../../src/usage/read/scope-store.ts';

type Known = Partial<Engagement>;

/** Turns evidence of a contract into a candidate. */
function find(known: Known, timeZone = 'UTC') {
  const link = { linkId: 'l1', externalProjectId: 'signs', externalProjectName: null };
  const engagement = { ...emptyContract('acme', 'c1'), ...link, trainerId: 't1', ...known };
  const candidatesOf = findCandidates([engagement], () => ({ scope: { tool: 'studio', scope: '7' }, timeZone }));
  const [candidate] = candidatesOf({ workedOn: { by: 'scope', tool: 'studio', scope: '7' }, trainerId: 't1' });
  return candidate;
}

function run(startDate: string, endDate: string): Known {
  const instants = { startDate: toText(startDate), endDate: toText(endDate) };
  return { ...instants, endedReadAt: '2030-01-01T00:00:00.000Z' };
}

function toText(instant: string): string {
  return new Date(instant).toISOString();
}

describe('the first and the last day of a contract', () => {
  it.each([
    ['Europe/Berlin', '2026-03-28T22:59:59Z', '2026-03-29T21:59:59Z', '2026-03-28', '2026-03-29'],
    ['Europe/Berlin', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z', '2026-03-29', '2026-03-30'],
    ['America/New_York', '2026-11-01T03:59:59Z', '2026-11-02T05:00:00Z', '2026-10-31', '2026-11-02'],
    ['Australia/Lord_Howe', '2026-04-04T13:00:00Z', '2026-04-05T13:29:59Z', '2026-04-05', '2026-04-05'],
    ['Pacific/Kiritimati', '2026-03-14T10:00:00Z', '2026-03-15T09:59:59Z', '2026-03-15', '2026-03-15'],
    ['Etc/GMT+12', '2026-03-15T12:00:00Z', '2026-03-16T11:59:59Z', '2026-03-15', '2026-03-15'],
  ])('of %s, from %s to %s, are %s and %s', (timeZone, start, end, firstDay, lastDay) => {
    expect(find(run(start, end), timeZone)).toMatchObject({ firstDay, lastDay });
  });

  it('do not depend on the zone if the dates have no time', () => {
    const dates = run('2026-03-10', '2026-03-15');
    expect(find(dates, 'America/New_York')).toMatchObject({ firstDay: '2026-03-09', lastDay: '2026-03-15' });
    expect(find(dates, 'Pacific/Kiritimati')).toMatchObject({ firstDay: '2026-03-10', lastDay: '2026-03-15' });
  });
});

describe('the instants of a contract', () => {
  const noon = '2026-03-15T12:00:00.000Z';
  const soon = '2026-03-15T12:00:02.000Z';
  const plan = '2026-03-20T12:00:00.000Z';
  const read = '2026-03-15T18:00:00.000Z';

  it.each([
    ['is the end date of the marketplace', { endDate: noon, endedReadAt: read }, noon],
    ['is that of the event', { endedEventAt: noon }, noon],
    ['is the end date, if the event followed within minutes', { endDate: noon, endedEventAt: soon }, noon],
    ['is that of the event, if the end was planned later', { endDate: plan, endedEventAt: noon }, noon],
    ['is that of the event, if the end was planned earlier', { endDate: noon, endedEventAt: read }, read],
    ['is the last reading that listed it as active', { activeReadAt: noon, endedReadAt: read }, noon],
    ['is the last reading that listed it as ended, if none listed it as active', { endedReadAt: read }, read],
    ['is when an operator said so', { endedByOperatorAt: read }, read],
  ])('the end %s', (_what, known, endsAt) => {
    expect(find(known)).toMatchObject({ endsAt, lastDay: '2026-03-15' });
  });

  it.each([
    ['goes on', { activeReadAt: read }],
    ['goes on beyond a planned end', { activeReadAt: read, endDate: noon }],
  ])('is unknown for a contract that %s', (_what, known) => {
    expect(find(known)).toMatchObject({ endsAt: null, lastDay: null });
  });

  it('are unknown for dates without a time', () => {
    expect(find(run('2026-03-10', '2026-03-15'))).toEqual({
      install: 'acme',
      contractId: 'c1',
      timeZone: 'UTC',
      firstDay: '2026-03-10',
      lastDay: '2026-03-15',
      startsAt: null,
      endsAt: null,
    });
    const endedEventAt = '2026-03-15T00:05:00.000Z';
    const event = { endDate: '2026-03-15T00:00:00.000Z', endedEventAt };
    expect(find(event)).toMatchObject({ endsAt: endedEventAt });
  });
});
