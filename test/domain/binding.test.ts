import { describe, expect, it } from 'vitest';
import { type Customer, describeOtherCustomer, isOtherServer, type Server } from '../../src/domain/binding.ts';

const acme: Customer = { grantId: 'g1', organizationId: 'o1', appId: 'a1' };
const untold = { organizationId: null, appId: null };

describe('the customer whom an install is bound to', () => {
  const same: [what: string, bound: Customer | undefined, told: Customer, holder?: string][] = [
    ['of nobody yet', undefined, acme],
    ['as before', acme, acme],
    ['of the same customer, who has connected again', acme, { ...acme, grantId: 'g2' }],
    ['that does not tell whose it is', acme, { ...acme, ...untold }],
    ['that tells it for the first time', { ...acme, ...untold }, acme],
    // Two names of one customer from before this was asked: neither can be told to be the wrong one.
    ['that both have always had', acme, acme, 'globex'],
  ];
  it.each(same)('is that of a token %s', (_, bound, told, holder) => {
    expect(describeOtherCustomer(bound, told, holder)).toBeNull();
  });

  const others: [what: string, told: Customer, holder: string | undefined, how: RegExp][] = [
    ['another customer', { ...acme, organizationId: 'o2' }, undefined, /another customer \(o2\)/],
    ['another app', { ...acme, appId: 'a2' }, undefined, /another app \(a2\)/],
    ['another install', { grantId: 'g2', ...untold }, 'globex', /that of globex/],
  ];
  it.each(others)('is not that of %s', (_, told, holder, how) => {
    expect(describeOtherCustomer(acme, told, holder)).toMatch(how);
  });
});

describe('the server that a tool is bound to', () => {
  const here: Server = { identity: 'one', place: 'a.example' };
  const cases: [what: string, bound: Server, told: Server, isOther: boolean][] = [
    ['the same', here, here, false],
    ['the same that has moved', here, { ...here, place: 'b.example' }, false],
    ['another at the same place', here, { ...here, identity: 'two' }, true],
    ['one that tells nothing at the same place', here, { ...here, identity: null }, false],
    ['one that tells nothing elsewhere', here, { identity: null, place: 'b.example' }, true],
    ['one without a place', { identity: null, place: null }, here, false],
  ];
  it.each(cases)('is compared with %s', (_, bound, told, isOther) => {
    expect(isOtherServer(bound, told)).toBe(isOther);
  });
});
