import { describe, expect, it } from 'vitest';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';
import { exampleSettings } from '../../support/http-tool-settings.ts';

const example = exampleSettings({ url: 'https://tool.example.com/v1/', token: 'hunter2' });
const { requests } = example;

function create(changes: object = {}) {
  return createAdapter('studio', 'http', { ...example, ...changes });
}

function withRequest(name: string, changes: object) {
  return { requests: { ...requests, [name]: { ...requests[name], ...changes } } };
}

describe('the settings of the adapter http', () => {
  it('declare what it can do', () => {
    expect(create().capabilities).toEqual({
      removal: { effect: 'locks_out' },
      readding: 'yes',
      exclusive: 'membership',
      removesUnseen: true,
    });
    const others = { readding: 'no', exclusive: 'tool', offboarding: 'membership_only' };
    expect(create({ ...others, offboardingReason: 'the login stays' }).capabilities).toEqual({
      removal: { effect: 'membership_only', reason: 'the login stays' },
      readding: 'no',
      exclusive: 'tool',
      removesUnseen: true,
    });
  });

  it('forbid a search through pages during a removal from the same group', () => {
    const { find: _, ...paged } = requests;
    expect(create({ requests: paged }).capabilities.exclusive).toBe('group');
    const whole = { ...paged['list'], pages: 'none' };
    expect(create({ requests: { ...paged, list: whole } }).capabilities.exclusive).toBe('membership');
    expect(create({ requests: paged, exclusive: 'tool' }).capabilities.exclusive).toBe('tool');
  });

  it('say which group a project has', () => {
    const link = { externalProjectId: '{externalProjectId}$&', externalProjectName: 'x' };
    expect(create().groupFor(link)).toBe('{externalProjectId}$&');
    expect(create({ group: 'team-{externalProjectId}' }).groupFor(link)).toBe('team-{externalProjectId}$&');
  });

  it.each(['find', 'findAccount', 'list'])('must say whether the answer to %s has pages', (name) => {
    const { pages: _, ...unsaid } = requests[name] as { pages: object };
    expect(() => create({ requests: { ...requests, [name]: unsaid } })).toThrow(
      `tools.studio.requests.${name}.pages: is missing: say how to get the next page`,
    );
    expect(() => create(withRequest(name, { pages: 'none' }))).not.toThrow();
  });

  it('say whether a member who is not found can be removed', () => {
    expect(create().capabilities.removesUnseen).toBe(true);
    const { list: _, findById: __, update: ___, ...blind } = requests;
    expect(create({ requests: blind }).capabilities.removesUnseen).toBe('if_never_seen');
    const byAddress = withRequest('remove', { path: '/projects/{group}/members/{email}' });
    expect(create(byAddress).capabilities).not.toHaveProperty('removesUnseen');
  });

  it('need no list if they have a search', () => {
    const { list: _, ...others } = requests;
    expect(create({ requests: others })).not.toHaveProperty('listMembers');
  });

  it('need a search by id if they change addresses, and change none by default', () => {
    const { findById: _, ...blind } = requests;
    expect(() => create({ requests: blind })).toThrow('with "update" also needs "findById"');
    const { find: __, ...listing } = blind;
    expect(create({ requests: listing })).toHaveProperty('updateEmail');
    const { update: ___, ...others } = requests;
    expect(create({ requests: others })).not.toHaveProperty('updateEmail');
  });

  it.each([
    ['http://localhost:8080', false],
    ['http://127.0.0.1', false],
    ['http://[::1]:80', false],
    ['http://tool.example.com', true],
    ['http://localhost.example.com', true],
    ['http://127.0.0.1.example.com', true],
  ])('let the token be sent over plain http to %s only if allowed (%s)', (url, isAsked) => {
    if (isAsked) expect(() => create({ url })).toThrow('tools.studio.url: is plain http');
    else expect(() => create({ url })).not.toThrow();
    expect(() => create({ url, allowHttp: true })).not.toThrow();
  });

  it.each<[string, object, string]>([
    ['no url', { url: undefined }, 'tools.studio.url: needs "url"'],
    ['a url with a query', { url: 'https://x.example?a=b' }, 'url: without credentials, query'],
    ['a url with a password', { url: 'https://u:p@x.example' }, 'url: without credentials'],
    ['no offboarding', { offboarding: undefined }, 'offboarding: say what a removal does'],
    ['no reason', { offboarding: 'membership_only' }, 'offboardingReason: is needed'],
    ['a token that no header can have', { token: 'hunter2\n' }, 'token: is printable ASCII'],
    ['no token where a header has it', { token: undefined, headers: { a: 'x {token}' } }, 'token: is missing'],
    ['a header that is none', { headers: { 'a b': 'x' } }, 'headers.a b: '],
    ['an address in a header', { headers: { a: '{email}' } }, 'no {email} here; there is: {token}'],
    ['a header on two lines', { headers: { a: 'x\r\nb: y' } }, 'a header is printable ASCII'],
    ['a group for all', { group: 'all' }, 'group: must name {externalProjectId}'],
    ['a key that it does not know', { colour: 'red' }, 'unknown key: colour'],
    [
      'neither find nor list',
      { requests: { ...requests, find: undefined, list: undefined } },
      'requests: needs "find" or "list"',
    ],
    ['no removal', { requests: { ...requests, remove: undefined } }, 'requests.remove: '],
    [
      'half a segment',
      withRequest('list', { path: '/groups/{group}.json' }),
      'requests.list.path: a placeholder is a whole segment',
    ],
    ['a path that is a URL', withRequest('list', { path: 'https://evil.example/' }), 'begins with'],
    ['a query in a path', withRequest('list', { path: '/x?y' }), 'requests.list.path: begins with'],
    ['the token in a path', withRequest('list', { path: '/{token}' }), 'there is no {token} here'],
    [
      'the token in a query',
      withRequest('list', { query: { key: '{token}' } }),
      'requests.list.query.key: there is no {token} here',
    ],
    [
      'the token in a body',
      withRequest('add', { body: { deep: ['{token}'] } }),
      'requests.add.body: there is no {token} here',
    ],
    [
      'a removal by what is not known then',
      withRequest('remove', { path: '/x/{trainerId}' }),
      'there is no {trainerId} here; there is: {group}, {memberId}, {email}',
    ],
    [
      'a refused token taken for an answer',
      withRequest('find', { absent: [401] }),
      'requests.find.absent.0: is never about a person',
    ],
    ['a broken tool taken for an answer', withRequest('remove', { absent: [503] }), 'requests.remove.absent.0: '],
    ['pages of no kind', withRequest('list', { pages: { by: 'scroll' } }), 'requests.list.pages'],
  ])('are refused with %s', (_what, changes, message) => {
    expect(() => create(changes)).toThrow(message);
    expect(() => create(changes)).toThrow(expect.objectContaining({ code: 'invalid' }));
    expect(() => create(changes)).not.toThrow('hunter2');
  });
});
