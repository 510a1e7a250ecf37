import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';

const whole = { url: 'https://tool.example.com/scim/v2/', token: 'hunter2', offboarding: 'group' };

describe('the settings of scim', () => {
  it('are as the README shows them', () => {
    const readme = readFileSync('src/adapters/scim/README.md', 'utf8');
    const [, block = ''] = /```json\n([\s\S]*?)```/.exec(readme) ?? [];
    const { adapter, ...settings } = JSON.parse(block) as { adapter: string };
    const { capabilities } = createAdapter('studio', adapter, { ...settings, token: 'hunter2' });
    expect(capabilities.removal).toEqual({ effect: 'locks_out' });
  });

  it.each([
    ['as they are', {}],
    ['one group for all', { group: 'Trainers' }],
    ['no groups', { group: null, offboarding: 'deactivate' }],
    ['plain http on this machine', { url: 'http://localhost:8880/scim' }],
    ['plain http where it may be', { url: 'http://tool.example.com/scim', allowHttp: true }],
  ])('are accepted: %s', (_what, more) => {
    expect(createAdapter('studio', 'scim', { ...whole, ...more }).capabilities.readding).toBe('yes');
  });

  it.each([
    [{ url: undefined }, 'tools.studio.url: needs "url", the root of SCIM'],
    [{ url: 'https://a:b@tool.example' }, 'tools.studio.url: without credentials'],
    [{ url: 'http://tool.example' }, 'which needs "allowHttp": true'],
    [{ token: undefined }, 'tools.studio.token: needs "token"'],
    [{ token: 'two words' }, 'tools.studio.token: is printable ASCII without spaces'],
    [{ offboarding: undefined }, 'tools.studio.offboarding: say what a removal does: "deactivate"'],
    [{ offboarding: 'delete' }, 'tools.studio.offboarding: say what a removal does'],
    [{ group: null }, 'tools.studio.offboarding: must be "deactivate" without groups'],
    [{ group: ' ' }, 'tools.studio.group: is the name of a group, or null for none'],
    [{ group: '{project}' }, 'tools.studio.group: the only placeholder is {externalProjectId}'],
    [{ contentType: 'text/plain' }, 'tools.studio.contentType: '],
    [{ groups: 'Trainers' }, 'unknown key'],
  ])('are refused: %j', (more, message) => {
    expect(() => createAdapter('studio', 'scim', { ...whole, ...more })).toThrow(message);
  });
});
