import { describe, expect, it } from 'vitest';
import { toMember } from '../../../src/adapters/http/http-adapter.ts';
import { pick } from '../../../src/adapters/http/http-api.ts';

const settings = {
  id: 'id',
  email: 'user.email',
  invited: { at: 'status', is: ['pending', 0] },
  gone: { at: 'removed', is: [true] },
};

describe('a path into an answer', () => {
  const answer = { data: [{ id: 7 }], none: null, text: 'abc' };

  it.each([
    ['', answer],
    ['data.0.id', 7],
    ['none', null],
    ['none.id', undefined],
    ['data.1.id', undefined],
    ['text.length', undefined],
    ['constructor', undefined],
    ['__proto__.toString', undefined],
  ])('%j leads to own keys only', (path, found) => {
    expect(pick(answer, path)).toEqual(found);
  });
});

describe('an item', () => {
  it.each([
    ['with a text as id', { id: 'a1', user: { email: 'a@x' } }, { id: 'a1', email: 'a@x' }],
    ['with a number as id', { id: 7, user: { email: 'a@x' } }, { id: '7', email: 'a@x' }],
    ['without an address', { id: 7, user: null }, { id: '7', email: null }],
    ['with an empty address', { id: 7, user: { email: '' } }, { id: '7', email: null }],
    ['invited', { id: 7, status: 'pending' }, { id: '7', email: null, isInvited: true }],
    ['with another status', { id: 7, status: '0' }, { id: '7', email: null }],
    ['gone', { id: 7, removed: true }, null],
    ['without an id', { user: { email: 'a@x' } }, undefined],
    ['with an empty id', { id: '' }, undefined],
    ['with an id beyond the safe integers', { id: 2 ** 53 }, undefined],
    ['that is a text', 'text', undefined],
  ])('%s becomes the expected member', (_what, item, member) => {
    expect(toMember(item, settings)).toEqual(member);
  });
});
