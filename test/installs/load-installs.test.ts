import { expect, it } from 'vitest';
import { warningsOfInstalls } from '../../src/installs/load-installs.ts';
import { inStudio } from '../support/engine-harness.ts';

const acme = { ...inStudio(), webhookSecrets: ['whsec_1'] };
const publicUrl = 'https://bridge.example.com';

it.each([
  ['no customer is connected', [], publicUrl, [/^No customer is connected/]],
  ['deliveries can be verified', [acme], publicUrl, []],
  ['nothing could be verified', [{ ...acme, webhookSecrets: [] }], publicUrl, [/secret of acme /]],
  ['nothing is delivered anyway', [{ ...acme, webhookSecrets: [] }], undefined, []],
])('where %s', (_, [install], url, expected) => {
  const installs = new Map(install === undefined ? [] : [['acme', install]]);
  const warnings = warningsOfInstalls(installs, url);
  expect(warnings).toEqual(expected.map((line) => expect.stringMatching(line)));
});
