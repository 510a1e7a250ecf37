import { describe, expect, it } from 'vitest';
import {
  emptyContract,
  emptyLink,
  statusOfContract,
  statusOfLink,
} from '../../src/domain/evidence.ts';

const noon = '2026-03-15T12:00:00.000Z';
const justBefore = '2026-03-15T12:09:59.999Z';
const almost = '2026-03-15T12:09:59.000Z';
const tenPast = '2026-03-15T12:10:00.000Z';
const nextDay = '2026-03-16T12:00:00.000Z';

describe('statusOfContract', () => {
  it.each([
    ['unknown', 'of which nothing is known', {}],
    ['unknown', 'of which only the budget was heard', { budgetEventAt: noon }],
    ['active', 'that started', { startedEventAt: noon }],
    ['active', 'that a read lists active', { activeReadAt: noon }],
    ['ended', 'whose end was delivered', { endedEventAt: noon }],
    ['ended', 'whose end came before its start', { startedEventAt: nextDay, endedEventAt: noon }],
    ['ended', 'listed active before its end', { endedEventAt: tenPast, activeReadAt: noon }],
    ['ended', 'listed active as it ended', { endedEventAt: noon, activeReadAt: noon }],
    ['ended', 'listed active 9:59 after its end', { endedEventAt: noon, activeReadAt: almost }],
    ['ended', 'a millisecond too early', { endedEventAt: noon, activeReadAt: justBefore }],
    ['disputed', 'listed active 10:00 after', { endedEventAt: noon, activeReadAt: tenPast }],
    ['disputed', 'listed active a day after', { endedEventAt: noon, activeReadAt: nextDay }],
    ['ended', 'that a read lists ended', { endedReadAt: noon }],
    ['ended', 'read ended, later read active', { endedReadAt: noon, activeReadAt: nextDay }],
    [
      'ended',
      'disputed until a read lists it ended',
      { endedEventAt: noon, activeReadAt: tenPast, endedReadAt: noon },
    ],
  ])('is %s for one %s', (status, _, registers) => {
    expect(statusOfContract({ ...emptyContract('acme', 'c1'), ...registers })).toBe(status);
  });
});

describe('statusOfLink', () => {
  it.each([
    ['unknown', 'of which only the id is known', {}],
    ['unknown', 'that is known by its name alone', { externalProjectName: 'Signs' }],
    ['live', 'that leads to a project', { externalProjectId: 'p1' }],
    ['removed', 'that was removed', { externalProjectId: 'p1', removedEventAt: noon }],
    ['removed', 'whose removal came first', { removedEventAt: noon }],
  ])('is %s for one %s', (status, _, attributes) => {
    expect(statusOfLink({ ...emptyLink('acme', 'l1'), ...attributes })).toBe(status);
  });
});
