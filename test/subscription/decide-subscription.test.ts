import { describe, expect, it } from 'vitest';
import { platformEventTypes as eventTypes } from '../../src/domain/event.ts';
import type { Endpoint } from '../../src/marketplace/source-records.ts';
import { decideEnsured } from '../../src/subscription/change-endpoint.ts';
import {
  decideSubscription,
  type KnownEndpoint,
  type SubscriptionView,
} from '../../src/subscription/decide-subscription.ts';

const url = 'https://bridge.example.com/webhooks/acme';
const now = '2026-03-15T12:00:00.000Z';
const ago = (ms: number) => new Date(Date.parse(now) - ms).toISOString();
const minute = 60_000;
const hour = 60 * minute;

function endpoint(id: string, changes: Partial<Endpoint> = {}): Endpoint {
  return {
    id,
    url,
    status: 'ACTIVE',
    eventTypes: [...eventTypes],
    createdAt: ago(hour),
    consecutiveFailures: 0,
    disabledAt: null,
    disabledReason: null,
    ...changes,
  };
}

const stored = (endpointId: string, changes: Partial<KnownEndpoint> = {}): KnownEndpoint => ({
  endpointId,
  hasSecret: true,
  storedAt: ago(hour),
  ...changes,
});

function view(changes: Partial<SubscriptionView> = {}): SubscriptionView {
  return {
    url,
    now,
    eventTypes,
    isChangeable: true,
    listed: [],
    stored: [],
    hasConfiguredSecrets: false,
    creatingSince: null,
    enabledAt: [],
    unmatchedAt: null,
    acceptedAt: null,
    ...changes,
  };
}

const elsewhere = { url: 'https://old.example.com/webhooks/acme' };
const disabled = { status: 'DISABLED', consecutiveFailures: 10 };
const byHand = { hasConfiguredSecrets: true };
const being = { creatingSince: ago(minute) };
const known = { listed: [endpoint('a')], stored: [stored('a')] };
const failing = { listed: [endpoint('a', disabled)], stored: [stored('a')] };
const two = {
  listed: [endpoint('a'), endpoint('b')],
  stored: [stored('a', { storedAt: ago(hour) }), stored('b', { storedAt: ago(minute) })],
};
const fewer = endpoint('a', { eventTypes: ['contract.started', 'payout.sent'] });
const manyTypes = ['contract.started', 'payout.sent', ...eventTypes.slice(1)];

const adopt = (endpointId: string) => ({ kind: 'adopt', endpointId });
const remove = (endpointId: string) => ({ kind: 'delete', endpointId });
const forget = (endpointId: string) => ({ kind: 'forget', endpointId });
const enable = { kind: 'enable', endpointId: 'a' };
const renew = { kind: 'renew', endpointId: 'a' };
const settle = { kind: 'settle' };
const fixed = { isChangeable: false };
const create = (...replaces: string[]) => ({ kind: 'create', replaces });

/** What is done where nothing is wrong that an operator must see to. */
const cases: [what: string, changes: Partial<SubscriptionView>, steps: object[]][] = [
  ['one in order', known, []],
  [
    'one written otherwise',
    {
      ...known,
      listed: [endpoint('a', { url: url.replace('b', 'B').replace('.com', '.com:443') })],
    },
    [],
  ],
  ['one that lacks what is only counted', { ...known, eventTypes: [...eventTypes, 'proposal.received'] }, []],
  ['one that tells no event types', { ...known, listed: [endpoint('a', { eventTypes: undefined })] }, []],
  ['one by hand, with a secret configured', { listed: [endpoint('a')], ...byHand }, [adopt('a')]],
  [
    'two by hand, with a secret configured',
    { listed: [endpoint('b', { createdAt: ago(2 * hour) }), endpoint('a')], ...byHand },
    [adopt('a')],
  ],
  ['one made whose secret was never stored', { listed: [endpoint('a')], ...being }, [create('a')]],
  ['none, though one was being made', being, [create()]],
  ['one stored just before the note was cleared', { ...known, ...being }, [settle]],
  [
    'a second one that was being made',
    { ...known, listed: [endpoint('a'), endpoint('x')], ...being },
    [remove('x'), settle],
  ],
  [
    'a second one of another hand, with a secret configured',
    { ...known, listed: [endpoint('a'), endpoint('x')], ...byHand },
    [],
  ],
  ['one that was deleted by hand', { stored: [stored('a')] }, [create(), forget('a')]],
  [
    'one that was replaced by hand',
    { listed: [endpoint('b')], stored: [stored('a')], ...byHand },
    [adopt('b'), forget('a')],
  ],
  ['two of ours, as a rotation leaves them', two, [remove('a')]],
  [
    'two of ours, and another instance may not know the second yet',
    { ...two, stored: [stored('a'), stored('b', { storedAt: ago(4999) })] },
    [],
  ],
  [
    'missing event types',
    { ...known, listed: [fewer] },
    [{ kind: 'subscribe', endpointId: 'a', eventTypes: manyTypes }],
  ],
  ['a disabled one', failing, [enable]],
  ['a disabled one by hand', { listed: [endpoint('a', disabled)], ...byHand }, [adopt('a'), enable]],
  [
    'one disabled by hand again and again',
    {
      listed: [endpoint('a', { status: 'DISABLED' })],
      stored: [stored('a')],
      enabledAt: [ago(2 * minute), ago(minute)],
    },
    [enable],
  ],
  [
    'the fourth time, the first a day ago',
    { ...failing, enabledAt: [ago(24 * hour), ago(12 * hour), ago(6 * hour)] },
    [enable],
  ],
  [
    'one that nothing came from in the hour since it was enabled',
    { ...failing, enabledAt: [ago(hour)], acceptedAt: ago(2 * hour) },
    [enable],
  ],
  [
    'one that did deliver since it was enabled',
    { ...failing, enabledAt: [ago(30 * minute)], acceptedAt: ago(29 * minute) },
    [enable],
  ],
  ['one that delivers, beside deliveries with an unknown secret', { ...known, unmatchedAt: ago(minute) }, []],
  [
    'one that was given the right secret since',
    {
      listed: [endpoint('a', { consecutiveFailures: 2 })],
      stored: [stored('a')],
      unmatchedAt: ago(2 * minute),
      acceptedAt: ago(minute),
    },
    [],
  ],
  [
    'a disabled one, and what came last was accepted',
    { ...failing, unmatchedAt: ago(2 * minute), acceptedAt: ago(minute) },
    [enable],
  ],
  ['a disabled one that cannot be changed', { ...failing, ...fixed }, [renew]],
  ['one that cannot be changed and lacks event types and works', { ...known, ...fixed, listed: [fewer] }, [renew]],
  [
    'the same, though it was renewed within the hour',
    { ...known, ...fixed, listed: [fewer], enabledAt: [ago(59 * minute)] },
    [],
  ],
  [
    'the same, though it was renewed three times within a day',
    { ...known, ...fixed, listed: [fewer], enabledAt: [ago(23 * hour), ago(12 * hour), ago(6 * hour)] },
    [],
  ],
  ['two of ours that cannot be changed, the newer in order', { ...two, ...fixed }, [remove('a')]],
  ['one that lacks no event that its source has', { ...known, listed: [fewer], eventTypes: ['contract.started'] }, []],
];

/** What an operator is told, where nothing is done. */
const troubles: [what: string, changes: Partial<SubscriptionView>, says: RegExp][] = [
  ['nothing anywhere', {}, /has no webhook endpoint/],
  ['one by hand, without', { listed: [endpoint('a')] }, /does not know the secret of acme.*endpoint a/],
  [
    'one adopted, whose secret was taken out of the configuration',
    { listed: [endpoint('a')], stored: [stored('a', { hasSecret: false })] },
    /does not know the secret of acme.*endpoint a/,
  ],
  [
    'a second one of another hand',
    { ...known, listed: [endpoint('a'), endpoint('x')] },
    /Another webhook endpoint of acme, x,/,
  ],
  [
    'one that delivers elsewhere',
    { listed: [endpoint('a', elsewhere)], stored: [stored('a')] },
    /a delivers to https:\/\/old\.example\.com.*/,
  ],
  [
    'one elsewhere, with a password in its address',
    {
      listed: [endpoint('a', { url: 'https://user:hunter2@old.example.com/' })],
      stored: [stored('a')],
    },
    /delivers to https:\/\/user:…+@old\.example\.com/,
  ],
  ['one elsewhere that is not ours', { listed: [endpoint('a', elsewhere)] }, /has no webhook/],
  [
    'one here, and another of ours elsewhere',
    { listed: [endpoint('a'), endpoint('b', elsewhere)], stored: [stored('a'), stored('b')] },
    /b delivers to/,
  ],
  [
    'the fourth time in a day',
    { ...failing, enabledAt: [ago(23 * hour), ago(12 * hour), ago(6 * hour)] },
    /keeps disabling/,
  ],
  [
    'one that nothing came from since it was enabled',
    { ...failing, enabledAt: [ago(30 * minute)], acceptedAt: ago(31 * minute) },
    /no webhook arrived since it was enabled/,
  ],
  [
    'one whose deliveries are signed with a wrong secret',
    {
      listed: [endpoint('a', { consecutiveFailures: 2 })],
      stored: [stored('a')],
      unmatchedAt: ago(minute),
      acceptedAt: ago(2 * minute),
    },
    /signed with an unknown secret and refused, last at 2026-03-15T11:59:00/,
  ],
  ['a disabled one with a wrong secret', { ...failing, unmatchedAt: ago(hour) }, /signed with/],
  [
    'the same, and what came last was refused',
    { ...failing, unmatchedAt: ago(minute), acceptedAt: ago(2 * minute) },
    /signed with/,
  ],
  [
    'one that cannot be changed and is disabled the fourth time in a day',
    { ...failing, ...fixed, enabledAt: [ago(23 * hour), ago(12 * hour), ago(6 * hour)] },
    /keeps disabling/,
  ],
];

describe('the watch of a subscription', () => {
  it.each(cases)('with %s', (_, changes, steps) => {
    expect(decideSubscription('acme', view(changes))).toEqual({ steps, trouble: null });
  });

  it.each(troubles)('with %s, tells the operator', (_, changes, says) => {
    const trouble = { says: expect.stringMatching(says), action: expect.any(String) };
    expect(decideSubscription('acme', view(changes))).toEqual({ steps: [], trouble });
  });

  it('names the command that helps', () => {
    const actions = [{}, { ...failing, unmatchedAt: ago(hour) }].map(
      (changes) => decideSubscription('acme', view(changes)).trouble?.action,
    );
    expect(actions).toEqual(['Create one: gangway connect acme', 'Give it a new secret: gangway endpoint rotate acme']);
  });
});

type EnsureCase = [what: string, changes: Partial<SubscriptionView>, mayMove: boolean, how: string, steps: object[]];

const move = { kind: 'move', endpointId: 'a' };
const far = { listed: [endpoint('a', elsewhere)] };
const anySteps: EnsureCase[] = [
  ['nothing anywhere', {}, false, 'created', [create()]],
  ['nothing left of ours', { stored: [stored('a')] }, false, 'created', [create(), forget('a')]],
  ['one in order', known, true, 'kept', []],
  ['a disabled one, however often', { ...failing, unmatchedAt: ago(1) }, false, 'kept', [enable]],
  ['one by hand', { listed: [endpoint('a')], ...byHand }, false, 'adopted', [adopt('a')]],
  ['one of an unknown secret', { listed: [endpoint('a')] }, false, 'replaced', [create('a')]],
  ['one half made', { listed: [endpoint('a')], ...being }, false, 'replaced', [create('a')]],
  [
    'one half made, with a secret configured that is none of its',
    { listed: [endpoint('a')], ...being, ...byHand },
    false,
    'replaced',
    [create('a')],
  ],
  ['an unknown one elsewhere', far, false, 'created', [create()]],
  ['an unknown one elsewhere, to be moved', far, true, 'replaced', [create('a')]],
  ['an unknown one elsewhere that cannot be changed', { ...far, ...fixed }, true, 'created', [create()]],
  ['one by hand elsewhere', { ...far, ...byHand }, true, 'moved', [move, adopt('a')]],
  ['one of ours elsewhere', { ...far, stored: [stored('a')] }, true, 'moved', [move]],
  [
    'one of ours elsewhere that is disabled and lacks event types',
    { listed: [{ ...fewer, ...elsewhere, ...disabled }], stored: [stored('a')] },
    true,
    'moved',
    [move, enable, { kind: 'subscribe', endpointId: 'a', eventTypes: manyTypes }],
  ],
  [
    'one of ours elsewhere whose secret is lost',
    { ...far, stored: [stored('a', { hasSecret: false })] },
    true,
    'replaced',
    [create('a')],
  ],
  [
    'one of ours elsewhere that cannot be changed',
    { ...far, ...fixed, stored: [stored('a')] },
    true,
    'replaced',
    [create('a')],
  ],
  ['a disabled one that cannot be changed', { ...failing, ...fixed }, false, 'replaced', [renew]],
  [
    'two elsewhere, of which none is ours',
    { listed: [endpoint('a', elsewhere), endpoint('b', elsewhere)] },
    true,
    'created',
    [create()],
  ],
];

describe('what connecting takes', () => {
  it.each(anySteps)('with %s', (_, changes, mayMove, how, steps) => {
    expect(decideEnsured('acme', view(changes), mayMove)).toMatchObject({ how, steps });
  });

  it('with one of ours elsewhere is refused, unless it may be moved', () => {
    const moved = view({ ...far, stored: [stored('a')] });
    expect(() => decideEnsured('acme', moved, false)).toThrow(
      expect.objectContaining({ code: 'conflict', message: expect.stringContaining('--move') }),
    );
  });
});
