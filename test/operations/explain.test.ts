import { beforeEach, describe, expect, it } from 'vitest';
import type { Row } from '../../src/db/schema.ts';
import { emptyContract, emptyGrant, emptyLink, toPair } from '../../src/domain/evidence.ts';
import { membershipStates } from '../../src/domain/membership.ts';
import type { Bearing } from '../../src/memberships/explain-store.ts';
import type { RoutedInstalls } from '../../src/memberships/wall.ts';
import { explain } from '../../src/operations/explain-reasons.ts';
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

  it('a trainer who can log in passes every step, and nothing is to be done', () => {
    expect(explain(bearing, usual)).toEqual([
      {
        trainerId: 'cmu1',
        displayName: 'Amara O.',
        install: 'acme',
        contractId: 'cmc1',
        steps: [
          { step: 'install', holds: true, says: 'acme is connected' },
          { step: 'contract', holds: true, says: 'The contract is active' },
          { step: 'person', holds: true, says: 'Amara O. is on the contract' },
          { step: 'link', holds: true, says: 'The job is linked to project street-signs' },
          { step: 'address', holds: true, says: 'Work email known, at opentrain.work' },
          { step: 'membership', holds: true, says: 'Active in street-signs of studio' },
        ],
        action: 'Nothing. They can sign in',
      },
    ]);
  });

  it('a trainer without an address keeps the access that was given before', () => {
    const person = { ...bearing.people[0], hasAddress: false, workEmailDomain: null, workEmailDigest: null };
    const reasons = [{ ...ids, membershipId: 7, linkId: 'cml1', isNamed: false }];
    const known = { ...bearing, people: [person as Bearing['people'][number]], reasons };
    expect(explain(known, usual)[0]?.steps[4]?.says).toBe('Work email not known; access given earlier keeps them in');
  });

  const ended = { ...emptyContract('acme', 'cmc1'), startedEventAt: at };

  it.each<[string, string[], Partial<Bearing>, RegExp, RegExp]>([
    [
      'a revoked grant',
      ['install'],
      { grants: [{ ...emptyGrant('acme', 'cmi1'), revokedEventAt: at, revokedReceivedAt: at }] },
      /^The customer disconnected at 2026-03-15 /,
      /^Have the customer connect acme again/,
    ],
    [
      'a contract of which no source said that it started',
      ['contract'],
      { contracts: [emptyContract('acme', 'cmc1')] },
      /^The contract is unknown: no source has reported its start$/,
      /^Wait for its event/,
    ],
    [
      'a delivered end',
      ['contract'],
      { contracts: [{ ...ended, endedEventAt: later }] },
      /^The contract ended at 2026-03-15 12:15 UTC, by event$/,
      /^Nothing\. Access ends with the contract$/,
    ],
    [
      'an end that was delivered, and read later',
      ['contract'],
      { contracts: [{ ...ended, endedEventAt: at, endedReadAt: later }] },
      /^The contract ended at 2026-03-15 12:00 UTC, by event$/,
      /^Nothing\. Access ends with the contract$/,
    ],
    [
      'an end that was read',
      ['contract'],
      { contracts: [{ ...ended, endedReadAt: later }] },
      /^The marketplace listed the contract as ended at 2026-03-15 12:15 UTC$/,
      /^Nothing\. Access ends with the contract$/,
    ],
    [
      'an end by an operator, after an older one was taken back',
      ['contract'],
      {
        contracts: [{ ...ended, endedEventAt: at, reopenedAt: later, endedByOperatorAt: '2026-03-16' }],
      },
      /^An operator ended the contract at 2026-03-16$/,
      /^Nothing\. Access ends with the contract$/,
    ],
    [
      'a trainer who left the contract',
      ['person'],
      { participations: [{ ...ids, trainerId: 'cmu1', seenAt: at, absences }] },
      /^Amara O\. is no longer on the contract, since 2026-03-15 12:20 UTC$/,
      /^Nothing\. Access ends when a trainer leaves the contract$/,
    ],
    [
      'a removed link',
      ['link'],
      { links: [{ ...link, removedEventAt: at }] },
      /^Link cml1 to project street-signs was removed$/,
      /^Have the customer link the job again/,
    ],
    [
      'a link that is listed no more',
      ['link'],
      { links: [{ ...link, seenAt: at, absences }] },
      /^Link cml1 to project street-signs is no longer listed$/,
      /^Have the customer link the job again/,
    ],
    [
      'a contract that is listed under another job',
      ['link'],
      { pairs: [{ ...toPair('acme', 'cmc1', 'cml1', at), omissions: absences }] },
      /^The contract is listed under another job, not the one of project street-signs, since 2026-03-15 12:20 UTC/,
      /^Nothing\. Access ends when a contract moves to another job$/,
    ],
    [
      'a project that the marketplace provisions',
      ['link'],
      { links: [{ ...link, provisioningMode: 'MANAGED_ADAPTER' }] },
      /^The marketplace itself provisions project street-signs$/,
      /^Nothing\. The marketplace adds and removes its members$/,
    ],
    [
      'a project in a mode that this version does not know',
      ['link'],
      { links: [{ ...link, provisioningMode: 'CUSTOM_MODE' }] },
      /^Project street-signs is provisioned in mode CUSTOM_MODE, which this version does not know$/,
      /^Check whether a newer version knows it\. Members stay, and no trainer is added$/,
    ],
  ])('%s: the step that fails, and what to do', (_, failing, changes, says, action) => {
    const out = { ...membership, state: 'removed', wanted: false } as const;
    const explained = explainOne({ ...bearing, memberships: [out], ...changes });
    expect(explained.failing).toEqual([...failing, 'membership']);
    expect(explained.says(failing[0] ?? '')).toMatch(says);
    expect(explained.action).toMatch(action);
  });

  it('a disputed contract holds, and says so', () => {
    const disputed = { ...ended, endedEventAt: at, activeReadAt: '2026-03-15T13:00:00.000Z' };
    const { failing, says } = explainOne({ ...bearing, contracts: [disputed] });
    expect(failing).toEqual([]);
    expect(says('contract')).toMatch(
      /^The contract is disputed: an event ended it, and the marketplace listed it as active later$/,
    );
  });

  it('a contract without a known trainer', () => {
    const noTrainer = { ...bearing, participations: [], memberships: [], people: [], reasons: [] };
    expect(explain(noTrainer, usual)).toMatchObject([{ trainerId: null, displayName: null }]);
    const { failing, action } = explainOne(noTrainer);
    expect(failing).toEqual(['person', 'address', 'membership']);
    expect(action).toMatch(/^Wait for the next reading of the marketplace/);
  });

  it.each<[string, Partial<Bearing>]>([
    ['without a link', { pairs: [], links: [] }],
    ['with a link of which nothing is known', { links: [emptyLink('acme', 'cml1')] }],
  ])('a contract %s', (_, changes) => {
    const none = { memberships: [], reasons: [] };
    const { failing, says, action } = explainOne({ ...bearing, ...none, ...changes });
    expect(failing).toEqual(['link', 'membership']);
    expect(says('link')).toBe('No project is known to be linked to the job');
    expect(action).toMatch(/^Have the customer link the job to a project/);
  });

  it('an unknown address', () => {
    const waiting = { ...membership, state: 'waiting_email' } as const;
    const { failing, action } = explainOne({ ...bearing, people: [], memberships: [waiting] });
    expect(failing).toEqual(['address', 'membership']);
    expect(action).toMatch(/^Ask the customer for consent to share work emails/);
  });

  it('an address outside the managed domains', () => {
    const rules = rulesFor(usual.installs as RoutedInstalls, ['lab.example']);
    const waiting = { ...membership, state: 'waiting_email' } as const;
    const { failing, says, action } = explainOne({ ...bearing, memberships: [waiting] }, rules);
    expect(failing).toEqual(['address', 'membership']);
    expect(says('address')).toBe('The work email is at opentrain.work, which is not a managed domain');
    expect(action).toMatch(/^Add opentrain\.work to marketplace\.managedDomains/);
  });

  it('an install that is not configured, whose people are found by their recorded reasons', () => {
    const orphaned = { ...membership, state: 'orphaned' } as const;
    const { failing, says, action } = explainOne({ ...bearing, memberships: [orphaned] }, rulesFor(new Map()));
    expect(failing).toEqual(['install', 'membership']);
    expect(says('membership')).toBe('Kept in street-signs of studio, which the configuration no longer covers');
    expect(action).toMatch(/^Configure acme again\. To give up its people, .+accept-orphans.+retire --install acme"$/);
  });

  it('a trainer who was retired with their install', () => {
    const retired = { ...membership, state: 'removed', wanted: false, cause: 'retired' } as const;
    const rules = rulesFor(new Map());
    const { failing, action } = explainOne({ ...bearing, memberships: [retired] }, rules);
    expect(failing).toEqual(['install', 'membership']);
    expect(action).toBe('Nothing. An operator retired them');
  });

  it('a project outside the wall of its install', () => {
    const rules = rulesFor(new Map([['acme', { ...acme, projects: ['lamps'] }]]));
    const none = { memberships: [], reasons: [] };
    const { failing, says, action } = explainOne({ ...bearing, ...none }, rules);
    expect(failing).toEqual(['link', 'membership']);
    expect(says('link')).toBe('Project street-signs is not one of the projects of acme');
    expect(action).toMatch(/^Add it to installs\.acme\.projects/);
  });

  it('a membership that does not exist yet', () => {
    const { failing, action } = explainOne({ ...bearing, memberships: [], reasons: [] });
    expect(failing).toEqual(['membership']);
    expect(action).toMatch(/^Wait\. A running "gangway start"/);
  });

  it('both memberships of a trainer whose project now leads elsewhere', () => {
    const elsewhere = { ...membership, id: 6, groupId: 'old', state: 'orphaned' } as const;
    const { steps, action } = explainOne({
      ...bearing,
      memberships: [elsewhere, membership],
      reasons: [{ ...ids, membershipId: 6, linkId: 'cml1', isNamed: true }],
    });
    expect(steps.filter(({ step }) => step === 'membership')).toMatchObject([
      { holds: false, says: expect.stringContaining('old of studio') },
      { holds: true, says: 'Active in street-signs of studio' },
    ]);
    expect(action).toMatch(/^Put the name .+ back, or run "gangway retire --install acme"$/);
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
    expect(says('link')).toBe('The job is linked to project street-signs');
    expect(failing).toEqual(['address', 'membership']);
  });

  it('names another install of the tool that knows another address for the trainer', () => {
    const theirs = { ...bearing.people[0], install: 'globex', workEmailDigest: 'another' };
    const people = [...bearing.people, theirs as Bearing['people'][number]];
    const installs = new Map([
      ['acme', acme],
      ['globex', acme],
      ['elsewhere', { ...acme, tool: 'atelier' }],
    ]);
    const says = (one: typeof people) =>
      explain({ ...bearing, people: one }, rulesFor(installs))[0]?.steps.find(({ step }) => step === 'address')?.says;
    expect(says(people)).toBe('Work email known, at opentrain.work; globex has another, and each access keeps its own');
    const elsewhere = people.map((one) => (one === theirs ? { ...one, install: 'elsewhere' } : one));
    expect(says(elsewhere)).toBe('Work email known, at opentrain.work');
  });

  it('explains only the membership of the install if each install has its own', () => {
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
      { holds: true, says: 'Active in street-signs of studio' },
    ]);
  });

  it('covers all trainers on a contract, for each of its links', () => {
    const second = { ...ids, trainerId: 'cmu2', seenAt: at, absences: null };
    const pairs = [...bearing.pairs, toPair('acme', 'cmc1', 'cml2', at)];
    const participations = [...bearing.participations, second];
    const all = explain({ ...bearing, participations, pairs }, usual);
    expect(all.map(({ trainerId }) => trainerId)).toEqual(['cmu1', 'cmu1', 'cmu2', 'cmu2']);
  });

  it('shows no address, wherever a tool or a stranger put one', () => {
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
    [
      'invited',
      undelivered,
      /^Invited to .+; their invitation link has not been sent yet$/,
      /^Send them their login: /,
    ],
    [
      'active',
      { ...undelivered, kind: 'password' } as const,
      /; their password has not been sent yet$/,
      /^Send them their login: /,
    ],
    [
      'invited',
      { ...undelivered, deliveredAt: at, deliveredBy: 'mail' } as const,
      /; their invitation link was mailed to them at 2026-03-15 12:00 UTC$/,
      /^Have them accept the invitation$/,
    ],
    ['failed', undelivered, /^Sync with street-signs of studio failed$/, /^Fix what/],
  ] as const)('says of an %s one whether their invitation was handed over', (state, invitation, said, advice) => {
    const memberships = [{ ...membership, state }];
    const invitations = new Map([[membership.id, invitation]]);
    const { says, action } = explainOne({ ...healthy(), memberships, invitations });
    expect([says('membership'), action]).toEqual([expect.stringMatching(said), expect.stringMatching(advice)]);
  });

  type Shown = Partial<Row<'membership'>> & Pick<Row<'membership'>, 'state'>;

  const gone: Partial<Row<'membership'>> = { wanted: false, cause: 'link_absent' };
  const whileWanted: [Shown, RegExp, RegExp][] = [
    [{ state: 'active' }, /^Active in street-signs of studio$/, /^Nothing\. They can sign in$/],
    [{ state: 'invited' }, /^Invited to /, /^Have them accept the invitation$/],
    [
      { state: 'active', doubtedId: '17' },
      /^Active in .+; account 17, which was theirs, now shows an email that no source has reported/,
      /^Find out in studio whose account it is, then run: gangway members adopt 7 --address .+, or gangway members release 7 --doubted/,
    ],
    [
      { state: 'pending' },
      /^Not in street-signs of studio yet$/,
      /^Wait\. Gangway is working on it\. .+"gangway doctor"/,
    ],
    [
      { state: 'pending', failure: 'answered 503', nextAttemptAt: later },
      /^Not in street-signs of studio yet: answered 503$/,
      /^Check studio with gangway doctor\. Gangway retries at 2026-03-15 12:15 UTC/,
    ],
    [{ state: 'waiting_email' }, /^Not in .+ yet: work email missing$/, /^Wait\. A running/],
    [
      { state: 'failed', failure: 'answered 403', nextAttemptAt: later },
      /^Sync with street-signs of studio failed: answered 403$/,
      /^Fix what studio reports\. Gangway retries at 2026-03-15 12:15 UTC/,
    ],
    [{ state: 'released' }, /not Gangway's to remove$/, /^Nothing\. The account is protected/],
    [{ state: 'orphaned' }, /no longer covers$/, /"gangway retire --install acme"$/],
    [{ state: 'removed', wanted: false }, /^Removed from street-signs/, /^Wait\. A running/],
    [
      { state: 'removed', wanted: false, cause: 'retired' },
      /^Removed from street-signs/,
      /^Nothing\. An operator retired them$/,
    ],
    [
      { ...gone, state: 'held' },
      /^Still in .+: their removal was rejected \(because the link to the project is no longer listed\)$/,
      /^Nothing\. An operator decided to keep them/,
    ],
    [
      { ...gone, state: 'removing', cause: 'retired', removeAfter: at },
      /^Still in street-signs of studio, to be removed after 2026-03-15 12:00 UTC \(because an operator retired the membership\)$/,
      /^Nothing\. They are still in until 2026-03-15 12:00 UTC, or /,
    ],
  ];

  it.each(whileWanted)('%o with an active reason', (row, says, action) => {
    const explained = explainOne({ ...healthy(), memberships: [{ ...membership, ...row }] });
    expect(explained.says('membership')).toMatch(says);
    expect(explained.action).toMatch(action);
    expect(explained.failing).toEqual(row.state === 'active' ? [] : ['membership']);
  });

  const linkAgain = /^Have the customer link the job again if these people are to stay$/;
  const onceEnded: [Shown, RegExp, RegExp][] = [
    [{ state: 'active' }, /^Active in/, /^Nothing\. Another reason keeps them in: .+explain cmu1"$/],
    [{ state: 'invited' }, /^Invited to/, /^Nothing\. Another reason keeps them invited/],
    [{ state: 'pending' }, /^Not in .+ yet$/, linkAgain],
    [{ ...gone, state: 'waiting_email' }, /^Not in .+ yet: work email missing$/, linkAgain],
    [
      { ...gone, state: 'removing', removeAfter: later },
      /^Still in .+, to be removed after 2026-03-15 12:15 UTC \(because the link to the project is no/,
      linkAgain,
    ],
    [{ ...gone, state: 'removing' }, /^Still in street-signs of studio, to be removed now/, linkAgain],
    [
      { ...gone, state: 'removing', failure: 'answered 503', nextAttemptAt: later },
      /^Still in .+, to be removed now \(.+\): answered 503$/,
      /^Check studio with gangway doctor\. Gangway retries at /,
    ],
    [{ ...gone, state: 'removed' }, /^Removed from/, linkAgain],
    [
      { ...gone, state: 'failed', failure: 'answered 403' },
      /^Still in .+: their removal failed \(.+\): answered 403$/,
      /^Fix what studio reports\. Gangway retries when there is new evidence$/,
    ],
    [
      { ...gone, state: 'released', releasedBy: 'operator' },
      /^Kept in street-signs of studio/,
      /^Nothing\. They stay\. To remove them, run gangway members adopt 7$/,
    ],
    [
      { ...gone, state: 'released' },
      /^Kept in street-signs of studio/,
      /^Decide: gangway members adopt 7 \(remove\), or gangway members release 7 \(keep\)$/,
    ],
    [{ ...gone, state: 'held' }, /was rejected \(/, /^Nothing\. An operator decided to keep them/],
    [{ state: 'orphaned' }, /^Kept in/, /, or run "gangway retire --install acme"$/],
  ];

  const unlinked: Partial<Bearing> = { links: [{ ...link, seenAt: at, absences }] };

  it.each(onceEnded)('%o with an ended reason', (row, says, action) => {
    const memberships = [{ ...membership, ...row }];
    const other = { ...ids, membershipId: 7, linkId: 'cml1', isNamed: true, contractId: 'cmc2' };
    const reasons = [...healthy().reasons, other];
    const explained = explainOne({ ...healthy(), ...unlinked, memberships, reasons });
    expect(explained.says('membership')).toMatch(says);
    expect(explained.action).toMatch(action);
  });

  it('that is held names the plan to decide on', () => {
    const held = { ...membership, ...gone, state: 'held' } as const;
    const explained = explainOne({ ...healthy(), ...unlinked, memberships: [held], plans: new Map([[7, 3]]) });
    expect(explained.says('membership')).toBe(
      'Still in street-signs of studio: plan 3 holds their removal (because the link to the project is no longer listed)',
    );
    expect(explained.action).toBe('Decide on plan 3: gangway plans show 3');
  });

  it.each(membershipStates)('in the state %s says what to do', (state) => {
    for (const change of [{}, unlinked]) {
      const memberships = [{ ...membership, state, cause: 'link_absent' } as const];
      const { action } = explainOne({ ...healthy(), ...change, memberships });
      expect(action).toMatch(/^(Nothing\. |Wait\. |Have |Ask |Fix |Decide|Put |Send )\S/);
    }
  });

  it('covers every state, with an active and with an ended reason', () => {
    for (const table of [whileWanted, onceEnded]) {
      expect(new Set(table.map(([{ state }]) => state))).toEqual(new Set(membershipStates));
    }
  });
});
