import { describe, expect, it } from 'vitest';
import type { Row } from '../../src/db/schema.ts';
import { emptyContract } from '../../src/domain/evidence.ts';
import type { ToolTrouble } from '../../src/domain/tool-trouble.ts';
import { sayInstant } from '../../src/lib/units.ts';
import { at, explainOne, healthy, later, membership, usual } from '../support/explaining.ts';

type Shown = Partial<Row<'membership'>> & Pick<Row<'membership'>, 'state'>;

describe('an explained membership', () => {
  const ended = { ...emptyContract('acme', 'cmc1'), startedEventAt: at, endedEventAt: at };
  const left = { wanted: false, cause: 'contract_ended', updatedAt: at } as const;
  const stillIn: [Shown, RegExp, RegExp][] = [
    [
      { ...left, state: 'removing' },
      /^Still in street-signs of studio, to be removed now \(because the contract has ended\)$/,
      /^Wait\. They are still in\. Gangway is working on it\. .+"gangway doctor"/,
    ],
    [
      { ...left, state: 'removing', removeAfter: later },
      /^Still in street-signs of studio, to be removed after /,
      /^Nothing\. They are still in until 2026-03-15 12:15 UTC, or until there is other evidence$/,
    ],
    [
      { ...left, state: 'removing', memberId: null },
      /^May still be in street-signs of studio, /,
      /^Wait\. They are still in\. /,
    ],
    [
      { ...left, state: 'removing', missedAt: at, nextAttemptAt: later },
      /^Not found in street-signs of studio; Gangway checks once more before it settles the removal/,
      /^Nothing\. Gangway checks studio again at 2026-03-15 12:15 UTC/,
    ],
    [{ ...left, state: 'failed' }, /^Still in .+: their removal failed/, /^Fix what studio/],
    // The end has come in, and what follows from it has not been worked out.
    [{ state: 'active' }, /^Active in street-signs/, /^Wait\. They are still in, and a running/],
  ];

  it.each(stillIn)('%o of a contract that has ended is still in', (row, says, action) => {
    const memberships = [{ ...membership, ...row }];
    const explained = explainOne({ ...healthy(), contracts: [ended], memberships });
    expect(explained.says('membership')).toMatch(says);
    expect(explained.action).toMatch(action);
  });

  it('that is to be removed names the reading that it waits for, and the deadline', () => {
    const memberships = [{ ...membership, ...left, state: 'removing', removeAfter: at } as const];
    const readings = [{ kind: 'install', of: 'acme', since: at } as const];
    const required = new Map([
      [membership.id, { stage: 'installs', waitsSince: at, readings, deadline: later } as const],
    ]);
    const explained = explainOne({ ...healthy(), contracts: [ended], memberships }, { ...usual, required });
    expect(explained.says('membership')).toBe(
      `Still in street-signs of studio, to be removed once acme has been read, at ${sayInstant(later)} at the latest (because the contract has ended)`,
    );
    expect(explained.action).toBe(
      `Nothing. They are still in until ${sayInstant(later)} at the latest, or until there is other evidence`,
    );
  });

  it('that has been removed needs nothing once the contract has ended', () => {
    const memberships = [{ ...membership, ...left, state: 'removed' } as const];
    const { action } = explainOne({ ...healthy(), contracts: [ended], memberships });
    expect(action).toBe('Nothing. Access ends with the contract');
  });

  const trouble: ToolTrouble = {
    tool: 'studio',
    errorCode: 'unavailable',
    message: 'no answer',
    since: at,
    asksAgainAt: later,
  };
  const refusal: ToolTrouble = { ...trouble, errorCode: 'unauthenticated' };

  it.each([
    [{ state: 'active' }, trouble, /^Check studio\. They are in, but studio is not answering/],
    [{ state: 'active' }, refusal, /^Nothing\. They can sign in$/],
    [{ state: 'active', nextAttemptAt: at }, undefined, /^Wait\. They were in, and Gangway checks studio/],
    [{ state: 'pending' }, trouble, /^Check that the tool runs, .+\. Tool studio is not answering \(si/],
    [{ state: 'pending' }, refusal, /^Check that the tool runs, .+\. Tool studio refuses its token/],
  ] as [Shown, ToolTrouble | undefined, RegExp][])(
    '%o says what stands between them and the tool: %o',
    (row, known, action) => {
      const troubles = new Map(known && [['studio', known]]);
      const memberships = [{ ...membership, ...row }];
      const explained = explainOne({ ...healthy(), memberships }, { ...usual, troubles });
      expect(explained.action).toMatch(action);
    },
  );

  it('of an ended contract is still in while the tool is down', () => {
    const memberships = [{ ...membership, ...left, state: 'removing' } as const];
    const rules = { ...usual, troubles: new Map([['studio', trouble]]) };
    const { action } = explainOne({ ...healthy(), contracts: [ended], memberships }, rules);
    expect(action).toMatch(/^Check that the tool runs, .+\. They are still in\. Tool studio is not answering/);
  });
});
