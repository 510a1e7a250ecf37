import { describe, expect, it } from 'vitest';
import { views } from '../../src/http/console/serve-pages.ts';
import { byUrgency, type TroubleFacts, type TroubleKind, toTrouble, troubleKinds } from '../../src/lib/troubles.ts';

const [acme, studio] = [{ install: 'acme' }, { tool: 'studio' }];
const of = ' of acme';

/** One of each kind, and its sentence. The compiler says which kind is missing. */
const sentences: Record<TroubleKind, [facts: Omit<TroubleFacts, 'kind'>, says: string]> = {
  nothing_runs: [
    { names: { never: 'is not running' } },
    'Gangway is not running. Webhooks are refused, and nobody is added or removed.',
  ],
  tool_left_alone: [
    { ...studio, names: { problem: 'is not answering', who: ' 6 trainers cannot get in.' } },
    'Tool “studio” is not answering. 6 trainers cannot get in.',
  ],
  members_hidden: [
    { ...studio, count: 1 },
    'Tool “studio” does not show who is in its groups. 1 membership cannot be verified.',
  ],
  install_unread: [acme, 'Gangway cannot read acme from the marketplace.'],
  endpoint_trouble: [acme, 'Webhooks of acme may not arrive.'],
  removals_held: [{ ...acme, count: 7 }, '7 removals of acme need your decision.'],
  usage_held: [{ count: 2, names: { of } }, '2 days of work of acme are held for your decision.'],
  usage_lowering: [{ count: 1, names: { of } }, '1 day of work of acme would be reported lower than before.'],
  usage_late: [{ count: 1, names: { of } }, '1 day of work of acme changed after the last report.'],
  no_customer: [{}, 'No customer is connected.'],
  tool_slow: [
    { ...studio, names: { who: ' 1 trainer cannot get in.' } },
    'Tool “studio” is slow, or fails for some trainers. 1 trainer cannot get in.',
  ],
  invitation_waiting: [{ count: 8 }, '8 trainers are waiting for you to send their login.'],
  work_email_missing: [{ ...acme, count: 2 }, '2 trainers of acme have no work email.'],
  membership_failed: [{ ...acme, ...studio, count: 1 }, 'Tool “studio” refuses 1 trainer of acme.'],
  membership_orphaned: [
    { ...acme, ...studio, count: 2 },
    '2 members of acme in “studio” are no longer covered by the configuration.',
  ],
  members_undecided: [{ count: 1 }, '1 member was in before Gangway could add them.'],
  members_left_in: [{ count: 2 }, '2 members still have access after their contract ended.'],
  link_outside: [{ ...acme, count: 1 }, '1 link of acme gives nobody access.'],
  link_uncounted: [{ ...acme, count: 2 }, 'The work of 2 links of acme is not read.'],
  contract_disputed: [{ ...acme, count: 1 }, '1 ended contract of acme is listed as active.'],
  contract_suspect: [
    { ...acme, count: 1000, names: { more: ' or more' } },
    '1000 or more contracts of acme are no longer listed, but not reported as ended.',
  ],
  delivery_failed: [{ count: 2 }, 'Gangway gave up on 2 webhooks.'],
  budget_depleted: [{ ...acme, count: 1 }, '1 contract of acme has no budget left.'],
  payment_waiting: [
    { ...acme, count: 1, names: { payment: 'A payment of 50 USD' } },
    'A payment of 50 USD of acme waits for you.',
  ],
  approval_waiting: [
    { ...acme, names: { approval: 'the hire by proposal p1' } },
    'A person at the marketplace must confirm the hire by proposal p1 of acme.',
  ],
  approval_lost: [
    { ...acme, names: { approval: 'the end of contract c1' } },
    'Nobody knows whether the end of contract c1 of acme waits for a person.',
  ],
  claim_waiting: [acme, 'The account acme waits to be claimed.'],
  usage_refused: [{ count: 2, names: { of } }, 'The marketplace refuses 2 days of work of acme.'],
  usage_unread: [{ ...studio, names: { scopes: 'lamps' } }, 'No work can be read from “studio”: lamps.'],
  usage_never_read: [{ ...studio, names: { scopes: 'lamps' } }, 'No work could be read yet from “studio”: lamps.'],
  usage_gone: [{ ...studio, count: 2, names: { scopes: '7, 8' } }, 'Tool “studio” has no projects 7, 8.'],
  guideline_unwritten: [
    { ...studio, names: { project: '7' } },
    'Project 7 in “studio” does not show the published guidelines.',
  ],
  channel_failing: [{ count: 1, names: { channel: 'ops' } }, 'Channel “ops” has not accepted 1 notice yet.'],
  clock_drift: [
    { about: { machine: 'host' } },
    'The clock of host differs from that of the marketplace. Webhooks are refused beyond 300 s.',
  ],
  marketplace_refuses: [acme, 'The marketplace refuses the token of acme.'],
  other_customer: [acme, 'The token of acme belongs to another customer or app than before.'],
  invitation_refused: [{ count: 2 }, 'The mail server refused the login of 2 trainers.'],
  feed_unread: [acme, 'The feed of acme cannot be read.'],
  absence_unproven: [studio, 'A trainer who must be out may still be in “studio”.'],
  job_unread: [
    { ...acme, names: { job: 'job1' } },
    'Gangway cannot read the contracts of job job1 of acme, so nobody new gets in by it.',
  ],
  token_expires: [acme, 'The token of acme expires soon.'],
  other_server: [studio, 'Tool “studio” is another server than the one that its members are in.'],
  managed_address_leaked: [
    studio,
    'An account with a managed email is in a group of “studio” without an active contract.',
  ],
  removed_member_returned: [
    studio,
    'A removed member is back in “studio”. Gangway removes them again, unless a contract starts.',
  ],
  member_keeps_vanishing: [
    studio,
    'Something outside Gangway keeps removing a member from “studio”. Gangway adds them back once an hour.',
  ],
  address_changed: [studio, 'The email of a member in “studio” is not their work email.'],
  id_of_another: [studio, "A trainer's account in “studio” may be another person's. Gangway leaves it alone."],
  address_disagreement: [
    studio,
    'Customers have different emails for one trainer in “studio”, so each email has its own access.',
  ],
  evidence_held: [acme, 'acme sends more than Gangway accepts. Gangway holds the rest.'],
  clock_set_back: [
    {},
    'The clock was ahead and was set back. Gangway reads every install before it acts on anything older.',
  ],
  endpoint_disabled: [acme, 'The marketplace disabled a webhook endpoint of acme.'],
  usage_miscounted: [{}, 'Stored work did not match the readings. Gangway corrected it.'],
  notification_failed: [{ about: { channel: 'ops' } }, 'Gangway gave up on a notice to channel “ops”.'],
  storage_used_up: [acme, 'Webhooks of acme are not stored: it has used what it may store.'],
  disk_short: [acme, 'Webhooks of acme are not stored: the disk is nearly full.'],
  disk_low: [{}, 'Less than 10 % of the disk of the database is free.'],
  disk_full: [{}, 'Less than 2 % of the disk of the database is free, so Gangway only stores webhooks.'],
  database_lost: [{}, 'The database file was deleted or replaced, so webhooks are refused.'],
  budget_low: [{ ...acme, count: 2 }, '2 contracts of acme are running out of budget.'],
  reading_fails: [{ ...acme, names: { what: 'manuals' } }, 'The manuals of acme cannot be read.'],
  job_failing: [{ about: { job: 'retention' } }, 'The background job “retention” keeps failing.'],
  delivery_unprocessable: [{ count: 1 }, 'Gangway could not understand 1 webhook.'],
  usage_gap: [{ ...studio, names: { scope: 'signs' } }, 'Some work in signs of “studio” cannot be counted.'],
  usage_fallen: [
    { ...studio, count: 1, names: { scope: 'signs' } },
    '1 trainer in signs of “studio” has less work than was counted.',
  ],
  install_new: [acme, 'Gangway is about to read acme from the marketplace.'],
  endpoint_unchecked: [acme, 'The webhook endpoint of acme could not be checked.'],
  instance_silent: [{ names: { instance: 'host/1' } }, 'Instance “host/1” no longer responds.'],
  config_changed: [{ names: { instance: 'host/1' } }, 'Instance “host/1” runs with an older configuration.'],
};

describe('a trouble', () => {
  it.each(troubleKinds)('%s is one plain sentence', (kind) => {
    const [facts, says] = sentences[kind];
    const trouble = toTrouble({ kind, ...facts });
    expect(trouble.says).toBe(says);
    expect(trouble.action).not.toContain('`');
  });

  it('fills in its action and page, and keeps the placeholder of an unknown name', () => {
    const hostile = '(a|b) <plan>';
    const names = { plan: '12', project: hostile };
    expect(toTrouble({ kind: 'removals_held', ...acme, names })).toMatchObject({
      action: 'Run gangway plans show 12, then gangway plans approve 12 or gangway plans reject 12',
      page: '/plans/12',
    });
    expect(toTrouble({ kind: 'contract_suspect', names }).action).toContain('gangway contracts end <contract>');
    expect(toTrouble({ kind: 'install_unread', install: 'a/b' }).page).toBe('/installs/a%2Fb');
    expect(toTrouble({ kind: 'guideline_unwritten', ...studio, names }).says).toContain(`Project ${hostile} in`);
  });

  it('comes before less severe ones, and before younger ones', () => {
    const facts: TroubleFacts[] = [
      { kind: 'budget_low', since: '2026-01-01' },
      { kind: 'no_customer' },
      { kind: 'invitation_waiting', since: '2026-01-03' },
      { kind: 'payment_waiting', since: '2026-01-02' },
      { kind: 'removals_held' },
      { kind: 'nothing_runs' },
    ];
    expect(
      facts
        .map(toTrouble)
        .sort(byUrgency)
        .map(({ kind }) => kind),
    ).toEqual(['nothing_runs', 'removals_held', 'payment_waiting', 'invitation_waiting', 'no_customer', 'budget_low']);
  });

  it('leads to existing pages of the console', () => {
    const pages = troubleKinds.flatMap((kind) => toTrouble({ kind }).page?.split('?')[0]?.split('/')[1] ?? []);
    const known = views.map(({ path }) => path.split('/')[1]);
    expect(pages.filter((page) => !known.includes(page))).toEqual([]);
  });
});
