import { expect, it } from 'vitest';
import { aboutOf } from '../../src/notify/alert-rules.ts';

it.each([
  ['https://pay.example/inv?a=1', true],
  ['http://127.0.0.1:8799', true],
  [`https://pay.example/${'x'.repeat(900)}`, true],
  [`https://pay.example/${'x'.repeat(1000)}`, false],
  ['javascript:alert(1)', false],
  ['https://pay.example/ and more', false],
  ['https://ada:secret@pay.example/', false],
  ['https://pay.example/ot_pat_0123456789', false],
])('shows a URL whole or not at all: %s', (url, isShown) => {
  const about = aboutOf({ install: 'own', payment: 'inv_1', held: 50, url });
  expect(about).toEqual({ install: 'own', payment: 'inv_1', ...(isShown && { url }) });
});
