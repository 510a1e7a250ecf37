import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { platformEventTypes as eventTypes } from '../../src/domain/event.ts';
import { Grant, Link } from '../../src/marketplace/contract/platform.ts';
import { Endpoint } from '../../src/marketplace/contract/records.ts';
import { neededScopes, remedies } from '../../src/marketplace/platform/create-platform-source.ts';
import { checkExpiry, checkGrant, checkJobs, checkUnanswered } from '../../src/operations/check-install.ts';
import { checkContract, checkDrift, checkEndpoints } from '../../src/operations/check-marketplace.ts';
import { endpointUrlOf } from '../../src/subscription/decide-subscription.ts';

const platform = { neededScopes, remedies };
const scopes = [
  'project-links:read',
  'contracts:read',
  'participants:read',
  'participants:email',
  'webhooks:manage',
  'usage:write',
];

describe('a check of a grant', () => {
  const grant = (changes: object = {}, granted: string[] | undefined = scopes) =>
    checkGrant(
      'acme',
      platform,
      Grant.parse({ id: 'cmi1', status: 'ACTIVE', piiConsent: true, token: { scopes: granted }, ...changes }),
    );

  it('finds no problem if all scopes are granted, or if the consent is not reported', () => {
    expect(grant()).toEqual([]);
    expect(grant({ piiConsent: undefined })).toEqual([]);
  });

  it.each(['project-links:read', 'contracts:read', 'participants:read', 'participants:email'])(
    'fails without %s',
    (scope) => {
      const granted = scopes.filter((one) => one !== scope);
      expect(grant({ scopes }, granted)).toEqual([
        {
          name: `scope ${scope} of acme`,
          status: 'failure',
          says: expect.stringContaining(`The token lacks the scope ${scope}: `),
          action: 'Have the customer connect again and grant it',
        },
      ]);
    },
  );

  it.each(['webhooks:manage', 'usage:write'])('warns without %s', (scope) => {
    const granted = scopes.filter((one) => one !== scope);
    expect(grant({}, granted)).toMatchObject([{ status: 'warning' }]);
  });

  it('accepts a scope for writing as one for reading', () => {
    const written = scopes.map((scope) => scope.replace('links:read', 'links:write'));
    expect(grant({}, written)).toEqual([]);
  });

  it('warns if the scopes are not reported, or work addresses are not shared', () => {
    const says = 'The marketplace does not show the scopes of the token';
    expect(grant({ token: undefined })).toMatchObject([{ status: 'warning', says }]);
    expect(grant({ piiConsent: false })).toMatchObject([
      { status: 'warning', says: expect.stringMatching(/^The customer does not share work emails/) },
    ]);
  });

  it('fails if the grant is no longer active, and says only that', () => {
    expect(grant({ status: 'REVOKED', piiConsent: false }, [])).toMatchObject([
      { status: 'failure', says: 'The install is REVOKED at the marketplace, no longer ACTIVE' },
    ]);
  });
});

describe('a missing answer', () => {
  it.each([
    ['unauthenticated', 'failure', /^Ask the customer for a new token, then run gangway connect acme$/],
    ['forbidden', 'failure', /^Ask the customer, .+ the install, your app .+ is not active/],
    ['rate_limited', 'warning', /^Wait a minute/],
    ['unavailable', 'failure', /^Check marketplace\.baseUrl,/],
    ['not_found', 'failure', /^Check marketplace\.baseUrl,/],
  ] as const)('%s is a %s, with its remedy', (code, status, action) => {
    const check = checkUnanswered('acme', platform, new AppError(code, 'no answer to ada@lab.example'));
    expect(check).toMatchObject({ name: 'install acme', status });
    expect(check.says).toBe('no answer to a…@lab.example');
    expect(check.action).toMatch(action);
  });
});

describe('a check of the jobs', () => {
  const link = (id: string, changes: object = {}) =>
    Link.parse({ id, externalProjectId: 'lamps', provisioningMode: 'PARTNER_WEBHOOK', jobId: null, ...changes });

  it('warns about links without a job, except those that the marketplace provisions', () => {
    expect(checkJobs('acme', [link('cml1', { jobId: 'cmj1' })])).toEqual([]);
    expect(checkJobs('acme', [link('cml1', { jobId: undefined })])).toEqual([]);
    expect(checkJobs('acme', [link('cml1', { provisioningMode: 'MANAGED_ADAPTER' })])).toEqual([]);
    expect(checkJobs('acme', [link('cml1'), link('cml2')])).toMatchObject([
      { status: 'warning', says: expect.stringMatching(/: cml1 on lamps, cml2 on lamps$/) },
    ]);
  });

  it('names the first few of many links', () => {
    const many = Array.from({ length: 300 }, (_, index) => link(`cml${index}`));
    expect(checkJobs('acme', many)[0]?.says).toMatch(/cml4 on lamps and 295 more$/);
  });
});

describe('a check of the endpoints', () => {
  const url = endpointUrlOf('https://bridge.example.com', 'acme');
  const endpoint = (changes: object = {}) =>
    Endpoint.parse({ id: 'cme1', url, status: 'ACTIVE', eventTypes, consecutiveFailures: 0, ...changes });
  const look = (...endpoints: object[]) =>
    checkEndpoints('acme', eventTypes, endpoints.map(endpoint), url).map(({ status, says }) => [status, says]);

  it('uses the address below the public URL', () => {
    expect(url).toBe('https://bridge.example.com/webhooks/acme');
  });

  it('finds no problem with an endpoint that gets every event, whatever the others do', () => {
    expect(look({})).toEqual([]);
    expect(look({ url: 'HTTPS://bridge.example.com:443/webhooks/acme' })).toEqual([]);
    expect(look({ url: 'https://else.example/', status: 'DISABLED' }, {})).toEqual([]);
    const [first, ...others] = eventTypes;
    expect(look({ eventTypes: [first] }, { eventTypes: others })).toEqual([]);
    expect(look({ eventTypes: undefined })).toEqual([]);
    expect(look({ status: 'DISABLED' }, {})).toEqual([]);
  });

  it.each<[string, object[], 'failure' | 'warning', RegExp]>([
    ['none', [], 'failure', /^No webhook endpoint at https:\S+\/acme, so the install is only read/],
    ['one elsewhere', [{ url: 'https://else.example/' }], 'failure', /acme, only 1 elsewhere, so /],
    [
      'one of another install',
      [{ url: 'https://bridge.example.com/webhooks/globex' }],
      'failure',
      /^No webhook endpoint at/,
    ],
    ['one at no address', [{ url: 'bridge' }], 'failure', /^No webhook endpoint at/],
    [
      'one that is disabled',
      [{ status: 'DISABLED', disabledReason: '10 failures in a row' }],
      'failure',
      /^The webhook endpoint is DISABLED \(10 failures in a row\), so events are not delivered/,
    ],
    [
      'one that misses events',
      [{ eventTypes: eventTypes.slice(2) }],
      'warning',
      /does not receive contract\.started, contract\.ended, so /,
    ],
    ['one that fails', [{ consecutiveFailures: 7 }], 'warning', /^7 deliveries in a row failed; after 10 /],
  ])('reports %s', (_name, endpoints, status, says) => {
    expect(look(...endpoints)).toEqual([[status, expect.stringMatching(says)]]);
  });

  it('fails if the marketplace would not deliver to the address', () => {
    const plain = endpointUrlOf('http://bridge.example.com', 'acme');
    expect(checkEndpoints('acme', eventTypes, [endpoint({ url: plain })], plain)).toMatchObject([
      { status: 'failure', says: expect.stringMatching(/^The marketplace delivers to https only/) },
    ]);
    const local = endpointUrlOf('http://localhost:8787', 'acme');
    expect(checkEndpoints('acme', eventTypes, [endpoint({ url: local })], local)).toEqual([]);
  });
});

describe('a check of the marketplace', () => {
  it.each([
    [59_999, 'ok', '60 s ahead of'],
    [60_000, 'warning', '60 s ahead of'],
    [-239_999, 'warning', '240 s behind'],
    [240_000, 'failure', '240 s ahead of'],
    [-240_000, 'failure', '240 s behind'],
  ])('finds a drift of %i ms: %s', (driftMs, status, says) => {
    expect(checkDrift([0, driftMs, 1])).toMatchObject([
      { name: 'marketplace clock', status, says: expect.stringContaining(says) },
    ]);
  });

  it('says nothing about a clock that it could not measure', () => {
    expect(checkDrift([])).toEqual([]);
  });

  it('names broken parts of the API, and sums up other differences', () => {
    const deviation = (where: string, isFailure: boolean) => ({ where, says: 'gone', isFailure });
    expect(checkContract([])).toMatchObject([{ name: 'marketplace API', status: 'ok' }]);
    const some = [deviation('a', false), deviation('b', true), deviation('c', false)];
    expect(checkContract(some)).toMatchObject([
      { status: 'failure', says: 'b: gone' },
      { status: 'warning', says: expect.stringMatching(/: a: gone; and 1 more like it$/) },
    ]);
    const many = Array.from({ length: 15 }, (_, index) => deviation(`${index}`, true));
    const said = checkContract(many).map(({ says }) => says);
    expect(said).toHaveLength(11);
    expect(said.at(-1)).toBe('5 more differences like these');
  });
});

describe('a check of a token', () => {
  const grant = Grant.parse({ id: 'acc_1', status: 'ACTIVE', token: { id: 'tok_2', scopes: [] } });
  const record = { name: null, scopes: [], status: 'active' as const, lastUsedAt: null };
  const tokens = (expiresAt: string | null) => [
    { ...record, id: 'tok_1', createdAt: null, expiresAt: '2026-03-02T00:00:00.000Z' },
    { ...record, id: 'tok_2', createdAt: '2026-01-01T00:00:00.000Z', expiresAt },
  ];

  it.each([
    ['nothing about a token that never expires', null, []],
    ['when it expires', '2026-03-09T00:00:00.000Z', ['ok: The token expires at 2026-03-09T00:00:00.000Z']],
    [
      'what to do in the last seven days',
      '2026-03-08T00:00:00.000Z',
      [
        'warning: The token expires at 2026-03-08T00:00:00.000Z: Run gangway token rotate own, with --keep for each scope that you hire with',
      ],
    ],
  ])('says %s', (_, expiresAt, said) => {
    const checks = checkExpiry('own', grant, tokens(expiresAt), new Date('2026-03-01T00:00:00.000Z'));
    expect(checks.map(({ status, says, action }) => [status, says, ...(action ? [action] : [])].join(': '))).toEqual(
      said,
    );
  });
});
