import { describe, expect, it } from 'vitest';
import { type Customer, describeOtherCustomer, isOtherServer, type Server } from '../../src/domain/binding.ts';

const acme: Customer = { grantId: 'g1', organizationId: 'o1', appId: 'a1' };
const unknown = { organizationId: null, appId: null };

describe('the customer that an install is bound to', () => {
  const same: [what: string, bound: Customer | undefined, seen: Customer, holder?: string][] = [
    ['of the first customer', undefined, acme],
    ['as before', acme, acme],
    ['of the same customer, who has connected again', acme, { ...acme, grantId: 'g2' }],
    ['that does not say whose it is', acme, { ...acme, ...unknown }],
    ['that says it for the first time', { ...acme, ...unknown }, acme],
    // Two names of one customer from before this was asked: neither is known to be the wrong one.
    ['that both have always had', acme, acme, 'globex'],
  ];
  it.each(same)('is that of a token %s', (_, bound, seen, holder) => {
    expect(describeOtherCustomer(bound, seen, holder)).toBeNull();
  });

  const others: [what: string, seen: Customer, holder: string | undefined, how: RegExp][] = [
    ['another customer', { ...acme, organizationId: 'o2' }, undefined, /another customer \(o2\)/],
    ['another app', { ...acme, appId: 'a2' }, undefined, /another app \(a2\)/],
    ['another install', { grantId: 'g2', ...unknown }, 'globex', /that of globex/],
  ];
  it.each(others)('is not that of %s', (_, seen, holder, how) => {
    expect(describeOtherCustomer(acme, seen, holder)).toMatch(how);
  });
});

describe('the server that a tool is bound to', () => {
  const here: Server = { identity: 'one', location: 'a.example' };
  const cases: [what: string, bound: Server, seen: Server, isOther: boolean][] = [
    ['the same', here, here, false],
    ['the same that has moved', here, { ...here, location: 'b.example' }, false],
    ['another at the same address', here, { ...here, identity: 'two' }, true],
    ['one that says nothing about itself at the same address', here, { ...here, identity: null }, false],
    ['one that says nothing about itself at another address', here, { identity: null, location: 'b.example' }, true],
    ['one without an address', { identity: null, location: null }, here, false],
  ];
  it.each(cases)('is compared with %s', (_, bound, seen, isOther) => {
    expect(isOtherServer(bound, seen)).toBe(isOther);
  });
});
