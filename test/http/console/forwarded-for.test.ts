import type { Request, Response } from 'express';
import { expect, it } from 'vitest';
import { dropForwardedPorts } from '../../../src/http/console/console-app.ts';

it.each([
  ['203.0.113.7:51234', '203.0.113.7'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['"[2001:db8::1]:443"', '2001:db8::1'],
  ['2001:db8:0:0:1:2:3:4:443', '2001:db8:0:0:1:2:3:4'],
  ['[fe80::1%eth0]:443', 'fe80::1%eth0'],
  ['unknown:443', 'unknown'],
  ['198.51.100.1,203.0.113.7:1 ,[2001:db8::1]:2', '198.51.100.1, 203.0.113.7, 2001:db8::1'],
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '::ffff:203.0.113.7'],
  ['2001:db8::1', '2001:db8::1'],
  ['', ''],
  [undefined, undefined],
])('reads the forwarded address %j as %j', (written, read) => {
  const headers = { 'x-forwarded-for': written };
  dropForwardedPorts({ headers } as unknown as Request, {} as Response, () => {});
  expect(headers).toEqual({ 'x-forwarded-for': read });
});
