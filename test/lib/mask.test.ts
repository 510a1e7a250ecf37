import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskEmail, maskText } from '../../src/lib/mask.ts';
import { tries } from '../support/tries.ts';

describe('a masked address', () => {
  it.each([
    ['amara.o@opentrain.work', 'a…@opentrain.work'],
    ['a@b.example', 'a…@b.example'],
    ['"odd@name"@example.com', '"…@example.com'],
    ['@example.com', '…'],
    ['nothing', '…'],
    ['', '…'],
  ])('of %j is %j', (email, masked) => {
    expect(maskEmail(email)).toBe(masked);
  });
});

describe('a masked text', () => {
  it.each([
    ['no user amara.o@opentrain.work here', 'no user a…@opentrain.work here'],
    ['{"email":"amara@opentrain.work","x":1}', '{"email":"a…@opentrain.work","x":1}'],
    ['Key (email)=(amara@opentrain.work) exists', 'Key (email)=(a…@opentrain.work) exists'],
    ['<amara@opentrain.work>,<bo@x.example>', '<a…@opentrain.work>,<b…@x.example>'],
    ['to:amara+x@mail.opentrain.work.', 'to:a…@mail.opentrain.work.'],
    ['mailto:amara@opentrain.work?subject=x', 'mailto:a…@opentrain.work?subject=x'],
    ['x@amara.o@opentrain.work and a@b.example@host', 'x…@opentrain.work and a…@b.example@host'],
    ['token ot_ptk_AbC-123_x was refused', 'token … was refused'],
    ['secret whsec_c2VjcmV0/x+y==, and more', 'secret whsec_…, and more'],
    ['it said ot_ptk_AbC-123_x', 'it said ot_ptk_…'],
    ['Authorization: Bearer abc.def-ghi_jkl=', 'Authorization: Bearer …'],
    ['authorization: bearer abcdefghijkl', 'authorization: bearer …'],
    ['Authorization: Basic dXNlcjpwYXNz', 'Authorization: Basic …'],
    ['Authorization: Token 0123456789abcdef', 'Authorization: Token …'],
    ['token abcdefghijklmnop', 'token …'],
    ['under Access Token Settings; a token authorization', null],
    ['postgres://gangway:s3cret-pass@db/gangway', 'postgres://gangway:…@db/gangway'],
    ['nothing to hide: 12:30, a @ b, x@y', 'nothing to hide: 12:30, a @ b, x@y'],
    ['', ''],
  ])('from %j is %j', (text, masked) => {
    expect(maskText(text)).toBe(masked ?? text);
  });

  it('has none of its addresses, wherever they were', () => {
    const part = fc.stringMatching(/^[a-z0-9]{2,10}$/);
    const around = fc.constantFrom(' ', '"', "'", '<', '>', '(', ')', ',', ';', ':', '\n', '');
    const check = fc.property(part, part, around, around, (name, domain, before, after) => {
      const email = `${name}@${domain}.example`;
      expect(maskText(`x${before}${email}${after}`)).not.toContain(email);
    });
    fc.assert(check, { numRuns: tries(500) });
  });

  it('takes linear time', () => {
    const begunAt = performance.now();
    for (const piece of ['a@', 'a.', '@', 'ot_', 'Bearer ', 'a:']) maskText(piece.repeat(50_000));
    expect(performance.now() - begunAt).toBeLessThan(1000);
  });
});

describe('a text with secrets that are known', () => {
  const secret = 'a/b+c"d';

  it.each([
    ['as it is', secret],
    ['in a URL', encodeURIComponent(secret)],
    ['in JSON', JSON.stringify({ it: secret })],
    ['in basic authentication', Buffer.from(secret).toString('base64')],
  ])('shows none %s', (_where, guise) => {
    const masked = maskText(`before ${guise} after`, [secret]);
    expect(masked).toMatch(/^before .*…/);
    expect(masked).not.toMatch(/c|YS9i/);
  });

  it('shows nothing of a secret that contains another', () => {
    expect(maskText('it is abcdef', ['abc', 'abcdef'])).toBe('it is …');
  });

  it('is not changed by an empty secret', () => {
    expect(maskText('plain', [''])).toBe('plain');
  });
});
