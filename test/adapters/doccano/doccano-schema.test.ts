import { describe, expect, it } from 'vitest';
import { DoccanoSettings } from '../../../src/adapters/doccano/doccano-schema.ts';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';

const url = 'https://doccano.example.com';
const login = { username: 'gangway', password: 'hunter22' };

describe('the settings of doccano', () => {
  it('are a name and a password, or a token', () => {
    expect(DoccanoSettings.parse({ url: `${url}/`, ...login })).toEqual({
      url,
      role: 'annotator',
      allowHttp: false,
      credentials: login,
    });
    const { credentials, role } = DoccanoSettings.parse({ url, token: 'abc', role: 'checker' });
    expect({ credentials, role }).toEqual({ credentials: { token: 'abc' }, role: 'checker' });
  });

  it.each([
    ['no credential', { url }, 'needs either "username" and "password", or "token"'],
    ['half a login', { url, username: 'gangway' }, 'needs either'],
    ['both', { url, ...login, token: 'abc' }, 'needs either'],
    ['no url', login, 'needs "url", the root of doccano'],
    ['the root of the API', { url: `${url}/v1/`, ...login }, 'without "/v1"'],
    ['a password in the url', { url: 'https://a:b@x.example', ...login }, 'without credentials'],
    ['plain http', { url: 'http://x.example', ...login }, 'needs "allowHttp": true'],
    ['a token of two words', { url, token: 'Token abc' }, 'printable ASCII without spaces'],
    ['an unknown key', { url, ...login, rolle: 'annotator' }, 'tools.studio: unknown key: rolle'],
  ])('are refused with %s', (_what, settings, says) => {
    const create = () => createAdapter('studio', 'doccano', settings);
    expect(create).toThrow(says);
    expect(create).not.toThrow(login.password);
  });
});
