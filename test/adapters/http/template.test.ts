import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expandJson, expandPath, expandText, placeholdersOf } from '../../../src/adapters/http/http-schema.ts';
import { anyText } from '../../support/any-text.ts';

describe('a template', () => {
  it('inserts values once and does not expand them again', () => {
    const values = new Map([
      ['group', '{email}$&$1'],
      ['email', 'amara@opentrain.work'],
    ]);
    expect(expandText('{group}/{email}', values)).toBe('{email}$&$1/amara@opentrain.work');
    expect(expandJson({ '{email}': ['{group}', 7, null, true, { a: '{email}' }] }, values)).toEqual({
      '{email}': ['{email}$&$1', 7, null, true, { a: 'amara@opentrain.work' }],
    });
  });

  it('has a value for each placeholder, or is refused', () => {
    expect(() => expandText('{email}', new Map())).toThrow(
      'The request needs {email}, which this member does not have',
    );
    expect(() => expandText('{constructor}', new Map())).toThrow('needs {constructor}');
  });

  it('names its placeholders at any depth', () => {
    expect(placeholdersOf(['{a} {b}', { c: { d: '{e}' }, '{no}': 1 }, null])).toEqual(['a', 'b', 'e']);
  });
});

describe('a placeholder in a path', () => {
  it.each(['', '.', '..', '\ud800'])('is never %j', (group) => {
    expect(() => expandPath('/groups/{group}', new Map([['group', group]]))).toThrow('cannot be in a path');
  });

  it('is exactly one segment, whatever its value contains', () => {
    fc.assert(
      fc.property(anyText({ minLength: 1 }), (group) => {
        fc.pre(group !== '.' && group !== '..');
        const path = expandPath('/a/{group}/b', new Map([['group', group]]));
        const url = new URL(`https://tool.example.com/v1${path}`);
        const [empty, root, before, segment = '', after, ...more] = url.pathname.split('/');
        expect([empty, root, before, after, more]).toEqual(['', 'v1', 'a', 'b', []]);
        expect(url.search + url.hash).toBe('');
        expect(decodeURIComponent(segment)).toBe(group);
      }),
    );
  });

  it.each(['%2e%2e', '%2E.', '..\\x', 'a/../..', ';', '\t..'])('cannot climb by %j', (group) => {
    const path = expandPath('/a/{group}/b', new Map([['group', group]]));
    expect(new URL(`https://tool.example.com${path}`).pathname).toBe(path);
    expect(path.split('/')).toHaveLength(4);
  });
});
