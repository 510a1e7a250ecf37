import { beforeEach, describe, expect, it } from 'vitest';
import type { Row } from '../../src/db/schema.ts';
import { emptyContract, emptyGrant, emptyLink, toPair } from '../../src/domain/evidence.ts';
import { membershipStates } from '../../src/domain/membership.ts';
import type { Bearing } from '../../src/memberships/explain-store.ts';
import type { RoutedInstalls } from '../../src/memberships/wall.ts';
import { explain } from '../../src/operator/explain.ts';
import {
  absences,
  acme,
  at,
  explainOne,
  healthy,
  ids,
  later,
  link,
  membership,
  rulesFor,
  usual,
} from '../support/explaining.ts';

describe('explaining', () => {
  let bearing: Bearing;

  beforeEach(() => {
    bearing = healthy();
  });

  it('a trainer who can log in goes through every step, and nothing is to be done', () => {
    expect(explain(bearing, usual)).toEqual([
      {
        trainerId: 'cmu1',
        displayName: 'Amara O.',
        install: 'acme',
        contractId: 'cmc1',
        steps: [
          { step: 'install', holds: true, says: 'acme is connected' },
          { step: 'contract', holds: true, says: 'the contract is active' },
          { step: 'person', holds: true, says: 'cmu1 is on it' },
          { step: 'link', holds: true, says: 'linked to street-signs' },
          { step: 'address', holds: true, says: 'a work address of opentrain.work is known' },
          { step: 'membership', holds: true, says: 'active in street-signs of studio' },
        ],
        action: 'nothing: they can log in',
      },
    ]);
  });

  it('a trainer who is in without an address is kept by an access that was given before', () => {
    const person = { ...bearing.people[0], hasAddress: false, workEmailDomain: null, workEmailDigest: null };
    const reasons = [{ ...ids, membershipId: 7, linkId: 'cml1', isNamed: false }];
    const known = { ...bearing, people: [person as Bearing['people'][number]], reasons };
    expect(explain(known, usual)[0]?.steps[4]?.says).toBe(
      'no work address is known; an access that was given before keeps them in',
    );
  });

  const ended = { ...emptyContract('acme', 'cmc1'), startedEventAt: at };

  it.each<[string, string[], Partial<Bearing>, RegExp, RegExp]>([
    [
      'a revoked grant',
      ['install'],
      { grants: [{ ...emptyGrant('acme', 'cmi1'), revokedEventAt: at, revokedReceivedAt: at }] },
      /^the customer has disconnected since 2026-03-15T/,
      /^have the customer connect acme again/,
    ],
    [
      'a contract of which no source said that it started',
      ['contract'],
      { contracts: [emptyContract('acme', 'cmc1')] },
      /^the contract is unknown: no source has said that it started$/,
      /^wait for its event/,
    ],
    [
      'a delivered end',
      ['contract'],
      { contracts: [{ ...ended, endedEventAt: later }] },
      /^the contract is ended \(delivered, of 2026-03-15T12:15:00.000Z\)$/,
      /^nothing: access ends with the contract$/,
    ],
    [
      'an end that was delivered, and read later',
      ['contract'],
      { contracts: [{ ...ended, endedEventAt: at, endedReadAt: later }] },
      /\(delivered, of 2026-03-15T12:00:00.000Z\)$/,
      /^nothing: access ends with the contract$/,
    ],
    [
      'an end that was read',
      ['contract'],
      { contracts: [{ ...ended, endedReadAt: later }] },
      /\(listed as ended at 2026-03-15T12:15:00.000Z\)$/,
      /^nothing: access ends with the contract$/,
    ],
    [
      'an end by an operator, after an older one was taken back',
      ['contract'],
      {
        contracts: [{ ...ended, endedEventAt: at, reopenedAt: later, endedByOperatorAt: '2026-03-16' }],
      },
      /\(by an operator, at 2026-03-16\)$/,
      /^nothing: access ends with the contract$/,
    ],
    [
      'a trainer who left the contract',
      ['person'],
      { participations: [{ ...ids, trainerId: 'cmu1', seenAt: at, absences }] },
      /^cmu1 is no longer on it since 2026-03-15T12:20:00.000Z$/,
      /^nothing: access ends with that$/,
    ],
    [
      'a removed link',
      ['link'],
      { links: [{ ...link, removedEventAt: at }] },
      /^the link cml1 to street-signs is removed$/,
      /^have the customer link the job again/,
    ],
    [
      'a link that is listed no more',
      ['link'],
      { links: [{ ...link, seenAt: at, absences }] },
      /^the link cml1 to street-signs is absent$/,
      /^have the customer link the job again/,
    ],
    [
      'a contract that is listed under another job',
      ['link'],
      { pairs: [{ ...toPair('acme', 'cmc1', 'cml1', at), omissions: absences }] },
      /^the contract is listed under another job than that of street-signs since 2026-03-15T12:20/,
      /^nothing: access ends with that$/,
    ],
    [
      'a project that the marketplace provisions',
      ['link'],
      { links: [{ ...link, provisioningMode: 'MANAGED_ADAPTER' }] },
      /^the marketplace itself provisions street-signs$/,
      /^nothing: the marketplace does it$/,
    ],
    [
      'a project in a mode that this version does not know',
      ['link'],
      { links: [{ ...link, provisioningMode: 'CUSTOM_MODE' }] },
      /^street-signs is provisioned in the mode CUSTOM_MODE, which this version does not know$/,
      /^see whether a newer version knows it; members stay, and no trainer is added$/,
    ],
  ])('%s: the step that fails, and what to do', (_, failing, changes, says, action) => {
    const out = { ...membership, state: 'removed', wanted: false } as const;
    const explained = explainOne({ ...bearing, memberships: [out], ...changes });
    expect(explained.failing).toEqual([...failing, 'membership']);
    expect(explained.says(failing[0] ?? '')).toMatch(says);
    expect(explained.action).toMatch(action);
  });

  it('a contract whose end is disputed holds, and says so', () => {
    const disputed = { ...ended, endedEventAt: at, activeReadAt: '2026-03-15T13:00:00.000Z' };
    const { failing, says } = explainOne({ ...bearing, contracts: [disputed] });
    expect(failing).toEqual([]);
    expect(says('contract')).toMatch(/^the contract is disputed: its end was delivered, and later/);
  });

  it('a contract without a known trainer', () => {
    const noTrainer = { ...bearing, participations: [], memberships: [], people: [], reasons: [] };
    expect(explain(noTrainer, usual)).toMatchObject([{ trainerId: null, displayName: null }]);
    const { failing, action } = explainOne(noTrainer);
    expect(failing).toEqual(['person', 'address', 'membership']);
    expect(action).toMatch(/^wait until the marketplace is read again/);
  });

  it.each<[string, Partial<Bearing>]>([
    ['without a link', { pairs: [], links: [] }],
    ['with a link of which nothing is known', { links: [emptyLink('acme', 'cml1')] }],
  ])('a contract %s', (_, changes) => {
    const none = { memberships: [], reasons: [] };
    const { failing, says, action } = explainOne({ ...bearing, ...none, ...changes });
    expect(failing).toEqual(['link', 'membership']);
    expect(says('link')).toBe('no project is known for it');
    expect(action).toMatch(/^have the customer link the job to a project/);
  });

  it('an address that is not known', () => {
    const waiting = { ...membership, state: 'waiting_email' } as const;
    const { failing, action } = explainOne({ ...bearing, people: [], memberships: [waiting] });
    expect(failing).toEqual(['address', 'membership']);
    expect(action).toMatch(/^ask the customer for consent to share work addresses/);
  });

  it('an address outside the managed domains', () => {
    const rules = rulesFor(usual.installs as RoutedInstalls, ['lab.example']);
    const waiting = { ...membership, state: 'waiting_email' } as const;
    const { failing, says, action } = explainOne({ ...bearing, memberships: [waiting] }, rules);
    expect(failing).toEqual(['address', 'membership']);
    expect(says('address')).toBe('the work address is of opentrain.work');
    expect(action).toMatch(/^add opentrain\.work to marketplace\.managedDomains/);
  });

  it('an install that is not configured, whose people are found by what was recorded', () => {
    const orphaned = { ...membership, state: 'orphaned' } as const;
    const { failing, says, action } = explainOne({ ...bearing, memberships: [orphaned] }, rulesFor(new Map()));
    expect(failing).toEqual(['install', 'membership']);
    expect(says('membership')).toBe('kept in street-signs of studio, where the configuration no longer leads');
    expect(action).toMatch(/^configure the install acme again; or .+accept-orphans.+retire --install acme"$/);
  });

  it('a trainer who was retired with their install', () => {
    const retired = { ...membership, state: 'removed', wanted: false, cause: 'retired' } as const;
    const rules = rulesFor(new Map());
    const { failing, action } = explainOne({ ...bearing, memberships: [retired] }, rules);
    expect(failing).toEqual(['install', 'membership']);
    expect(action).toBe('nothing: an operator retired them');
  });

  it('a project outside the wall of its install', () => {
    const rules = rulesFor(new Map([['acme', { ...acme, projects: ['lamps'] }]]));
    const none = { memberships: [], reasons: [] };
    const { failing, says, action } = explainOne({ ...bearing, ...none }, rules);
    expect(failing).toEqual(['link', 'membership']);
    expect(says('link')).toBe('street-signs is outside the projects of acme');
    expect(action).toMatch(/^add it to installs\.acme\.projects/);
  });

  it('a membership that is still to be made', () => {
    const { failing, action } = explainOne({ ...bearing, memberships: [], reasons: [] });
    expect(failing).toEqual(['membership']);
    expect(action).toMatch(/^wait: a running "gangway start"/);
  });

  it('a trainer whose project leads elsewhere by now has both memberships explained', () => {
    const elsewhere = { ...membership, id: 6, groupId: 'old', state: 'orphaned' } as const;
    const { steps, action } = explainOne({
      ...bearing,
      memberships: [elsewhere, membership],
      reasons: [{ ...ids, membershipId: 6, linkId: 'cml1', isNamed: true }],
    });
    expect(steps.filter(({ step }) => step === 'membership')).toMatchObject([
      { holds: false, says: expect.stringContaining('old of studio') },
      { holds: true, says: 'active in street-signs of studio' },
    ]);
    expect(action).toMatch(/its name back, or end this with "gangway retire --install acme"$/);
  });

  it("leaves out others' memberships, installs and links of the same ids", () => {
    const others: Partial<Bearing> = {
      memberships: [{ ...membership, id: 8, trainerId: 'cmu2' }],
      links: [{ ...link, install: 'globex', externalProjectId: 'lamps' }, link],
      people: [
        {
          install: 'globex',
          trainerId: 'cmu1',
          displayName: 'X',
          hasAddress: true,
          addressMissing: null,
          workEmailDomain: 'globex.com',
          workEmailDigest: 'globex',
        },
      ],
    };
    const { failing, says } = explainOne({ ...bearing, reasons: [], ...others });
    expect(says('link')).toBe('linked to street-signs');
    expect(failing).toEqual(['address', 'membership']);
  });

  it('says where another install of the same tool knows another address for them', () => {
    const theirs = { ...bearing.people[0], install: 'globex', workEmailDigest: 'another' };
    const people = [...bearing.people, theirs as Bearing['people'][number]];
    const installs = new Map([
      ['acme', acme],
      ['globex', acme],
      ['elsewhere', { ...acme, tool: 'atelier' }],
    ]);
    const says = (one: typeof people) =>
      explain({ ...bearing, people: one }, rulesFor(installs))[0]?.steps.find(({ step }) => step === 'address')?.says;
    expect(says(people)).toBe(
      'a work address of opentrain.work is known; globex knows another for them: each access stands by itself',
    );
    const elsewhere = people.map((one) => (one === theirs ? { ...one, install: 'elsewhere' } : one));
    expect(says(elsewhere)).toBe('a work address of opentrain.work is known');
  });

  it('explains the membership of the install where each install has one of its own', () => {
    const other = { ...membership, id: 9, install: 'globex', state: 'failed' } as const;
    const { steps } = explainOne({
      ...bearing,
      memberships: [membership, other],
      reasons: [
        { ...ids, membershipId: 7, linkId: 'cml1', isNamed: true },
        { ...ids, install: 'globex', membershipId: 9, linkId: 'cml1', isNamed: true },
      ],
    });
    expect(steps.filter(({ step }) => step === 'membership')).toMatchObject([
      { holds: true, says: 'active in street-signs of studio' },
    ]);
  });

  it('is about all trainers on a contract, by each of its links', () => {
    const second = { ...ids, trainerId: 'cmu2', seenAt: at, absences: null };
    const pairs = [...bearing.pairs, toPair('acme', 'cmc1', 'cml2', at)];
    const participations = [...bearing.participations, second];
    const all = explain({ ...bearing, participations, pairs }, usual);
    expect(all.map(({ trainerId }) => trainerId)).toEqual(['cmu1', 'cmu1', 'cmu2', 'cmu2']);
  });

  it('shows no address, wherever a tool or a stranger has put one', () => {
    const displayName = 'amara.o@opentrain.work';
    const failed = {
      ...membership,
      state: 'failed',
      failure: `no seat for ${displayName}`,
    } as const;
    const people = bearing.people.map((person) => ({ ...person, displayName }));
    const text = JSON.stringify(explain({ ...bearing, people, memberships: [failed] }, usual));
    expect(text).not.toContain('amara.o');
    expect(text).toContain('no seat for a…@opentrain.work');
  });
});

describe('explaining a membership', () => {
  const undelivered = { kind: 'link', deliveredAt: null, deliveredBy: null } as const;

  it.each([
    ['invited', undelivered, /^invited in .+; their link waits to be handed over$/, /^hand their invitation/],
    ['active', { ...undelivered, kind: 'password' } as const, /; their password waits/, /^hand their invitation/],
    [
      'invited',
      { ...undelivered, deliveredAt: at, deliveredBy: 'mail' } as const,
      /; their link was mailed to them at 2026-03-15T12:00:00.000Z$/,
      /^have them accept the invitation$/,
    ],
    ['failed', undelivered, /^failed in street-signs of studio$/, /^mend what/],
  ] as const)('says of an %s one whether their invitation was handed over', (state, invitation, said, advice) => {
    const memberships = [{ ...membership, state }];
    const invitations = new Map([[membership.id, invitation]]);
    const { says, action } = explainOne({ ...healthy(), memberships, invitations });
    expect([says('membership'), action]).toEqual([expect.stringMatching(said), expect.stringMatching(advice)]);
  });

  type Shown = Partial<Row<'membership'>> & Pick<Row<'membership'>, 'state'>;

  const gone: Partial<Row<'membership'>> = { wanted: false, cause: 'link_absent' };
  const whileWanted: [Shown, RegExp, RegExp][] = [
    [{ state: 'active' }, /^active in street-signs of studio$/, /^nothing: they can log in$/],
    [{ state: 'invited' }, /^invited in /, /^have them accept the invitation$/],
    [
      { state: 'active', doubtedId: '17' },
      /^active in .+; the account 17, which was theirs, shows an address that no source has reported/,
      /^see in studio whose it is, then: gangway members adopt 7 --address .+, gangway members release 7 --doubted/,
    ],
    [{ state: 'pending' }, /^pending in /, /^wait: it is worked on; .+"gangway doctor"/],
    [
      { state: 'pending', failure: 'answered 503', nextAttemptAt: later },
      /^pending in street-signs of studio: answered 503$/,
      /^see how studio is: gangway doctor; it is tried again at 2026-03-15T12:15/,
    ],
    [{ state: 'waiting_email' }, /^waiting_email in /, /^wait: a running/],
    [
      { state: 'failed', failure: 'answered 403', nextAttemptAt: later },
      /^failed in street-signs of studio: answered 403$/,
      /^mend what studio says; it is tried again at 2026-03-15T12:15/,
    ],
    [{ state: 'released' }, /not ours to remove$/, /^nothing: the account is protected/],
    [{ state: 'orphaned' }, /no longer leads$/, /"gangway retire --install acme"$/],
    [{ state: 'removed', wanted: false }, /^removed from street-signs/, /^wait: a running/],
    [
      { state: 'removed', wanted: false, cause: 'retired' },
      /^removed from street-signs/,
      /^nothing: an operator retired them$/,
    ],
    [
      { ...gone, state: 'held' },
      /^still in .+, as their removal was rejected \(because the link to the project is no longer listed\)$/,
      /^nothing: an operator decided to keep them/,
    ],
    [
      { ...gone, state: 'removing', cause: 'retired', removeAfter: at },
      /^still in street-signs of studio, to be removed after 2026-03-15T12:00:00.000Z \(because an operator retired the membership\)$/,
      /^nothing: they are still in until its time/,
    ],
  ];

  it.each(whileWanted)('%o whose reason stands', (row, says, action) => {
    const explained = explainOne({ ...healthy(), memberships: [{ ...membership, ...row }] });
    expect(explained.says('membership')).toMatch(says);
    expect(explained.action).toMatch(action);
    expect(explained.failing).toEqual(row.state === 'active' ? [] : ['membership']);
  });

  const linkAgain = /^have the customer link the job again if the people are to stay$/;
  const onceEnded: [Shown, RegExp, RegExp][] = [
    [{ state: 'active' }, /^active in/, /^nothing: something else keeps them in.+explain cmu1"$/],
    [{ state: 'invited' }, /^invited in/, /^nothing: something else keeps them invited/],
    [{ state: 'pending' }, /^pending in/, linkAgain],
    [{ ...gone, state: 'waiting_email' }, /^waiting_email in/, linkAgain],
    [
      { ...gone, state: 'removing', removeAfter: later },
      /^still in .+, to be removed after 2026-03-15T12:15:00.000Z \(because the link to the project is no/,
      linkAgain,
    ],
    [{ ...gone, state: 'removing' }, /^still in street-signs of studio, to be removed now/, linkAgain],
    [
      { ...gone, state: 'removing', failure: 'answered 503', nextAttemptAt: later },
      /^still in .+, to be removed now \(.+\): answered 503$/,
      /^see how studio is: gangway doctor; it is tried again at /,
    ],
    [{ ...gone, state: 'removed' }, /^removed from/, linkAgain],
    [
      { ...gone, state: 'failed', failure: 'answered 403' },
      /^still in .+, as their removal fails \(.+\): answered 403$/,
      /^mend what studio says; it is tried again when there is new evidence$/,
    ],
    [
      { ...gone, state: 'released', releasedBy: 'operator' },
      /^kept in street-signs of studio/,
      /^nothing: they stay; to have them removed: gangway members adopt 7$/,
    ],
    [
      { ...gone, state: 'released' },
      /^kept in street-signs of studio/,
      /^decide about it: gangway members adopt 7 has .+ gangway members release 7 lets/,
    ],
    [{ ...gone, state: 'held' }, /was rejected \(/, /^nothing: an operator decided to keep them/],
    [{ state: 'orphaned' }, /^kept in/, /or end this with "gangway retire --install acme"$/],
  ];

  const unlinked: Partial<Bearing> = { links: [{ ...link, seenAt: at, absences }] };

  it.each(onceEnded)('%o whose reason has ended', (row, says, action) => {
    const memberships = [{ ...membership, ...row }];
    const other = { ...ids, membershipId: 7, linkId: 'cml1', isNamed: true, contractId: 'cmc2' };
    const reasons = [...healthy().reasons, other];
    const explained = explainOne({ ...healthy(), ...unlinked, memberships, reasons });
    expect(explained.says('membership')).toMatch(says);
    expect(explained.action).toMatch(action);
  });

  it('that is held names the plan, which is what to decide about', () => {
    const held = { ...membership, ...gone, state: 'held' } as const;
    const explained = explainOne({ ...healthy(), ...unlinked, memberships: [held], plans: new Map([[7, 3]]) });
    expect(explained.says('membership')).toBe(
      'still in street-signs of studio, as plan 3 holds their removal (because the link to the project is no longer listed)',
    );
    expect(explained.action).toBe('decide about it: gangway plans show 3');
  });

  it.each(membershipStates)('in the state %s says one thing to do', (state) => {
    for (const change of [{}, unlinked]) {
      const memberships = [{ ...membership, state, cause: 'link_absent' } as const];
      const { action } = explainOne({ ...healthy(), ...change, memberships });
      expect(action).toMatch(/^(nothing: |wait: |have |ask |mend |decide |give |if )\S/);
    }
  });

  it('covers every state, whether its reason stands or has ended', () => {
    for (const table of [whileWanted, onceEnded]) {
      expect(new Set(table.map(([{ state }]) => state))).toEqual(new Set(membershipStates));
    }
  });
});
