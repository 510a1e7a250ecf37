import { expect, it } from 'vitest';
import type { Install } from '../../src/domain/install.ts';
import { ofPlatform, warningsOfInstalls } from '../../src/installs/install.ts';

const acme: Install = {
  token: 'ot_ptk_1',
  ...ofPlatform,
  webhookSecrets: ['whsec_1'],
  tool: 'studio',
  projects: ['*'],
  livesIn: 'configuration',
};
const publicUrl = 'https://bridge.example.com';

it.each([
  ['no customer is connected', [], publicUrl, [/^No customer is connected/]],
  ['all is well', [acme], publicUrl, []],
  ['nothing could be verified', [{ ...acme, webhookSecrets: [] }], publicUrl, [/secret of acme /]],
  ['nothing is delivered anyway', [{ ...acme, webhookSecrets: [] }], undefined, []],
])('where %s', (_, [install], url, expected) => {
  const installs = new Map(install === undefined ? [] : [['acme', install]]);
  const warnings = warningsOfInstalls(installs, url);
  expect(warnings).toEqual(expected.map((line) => expect.stringMatching(line)));
});
