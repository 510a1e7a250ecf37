import { expect, it } from 'vitest';
import { namesPerson } from '../../src/privacy/forget-person.ts';
import { fullEvent, minimalEvent } from '../support/event-bodies.ts';

const names = {
  trainerId: 'cmu1',
  addresses: new Set(['amara.o@opentrain.work']),
  contractIds: new Set(['cmc1']),
};

const other = { type: 'contract.started', trainer: 'cmu2', workEmail: null };

it.each<[string, string, boolean]>([
  ['their id', fullEvent({ ...other, trainer: 'cmu1', contract: 'cmc9' }), true],
  ['another id that begins with theirs', fullEvent({ ...other, trainer: 'cmu10' }), false],
  ['another person on their contract', fullEvent(other), false],
  ['their address, however it is written', fullEvent({ ...other, workEmail: 'Amara.O@OpenTrain.work' }), true],
  ['somebody without an id, on their contract', '{"resourceId":"cmc1","data":{"freelancer":{}}}', true],
  [
    'somebody without an id, on their contract, after a byte order mark',
    '\ufeff{"resourceId":"cmc1","data":{"freelancer":{}}}',
    true,
  ],
  ['somebody without an id, on another contract', '{"resourceId":"cmc9","data":{"freelancer":{}}}', false],
  ['nobody, on their contract', '{"resourceId":"cmc1","data":{}}', false],
  ['them with no id, on another contract', minimalEvent('contract.started', 'cmc9'), true],
  ['their id in escapes', String.raw`{"a":[{"b":"\u0063mu1"}]}`, true],
  ['their id, in text that is not JSON', 'x cmu1', true],
  ['their address, in text that is not JSON', 'x AMARA.O@opentrain.work', true],
  ['nobody, in text that is not JSON', 'x', false],
  ['nobody, in JSON that is not an object', 'null', false],
  ['their id, however deep', `${'['.repeat(5000)}"cmu1"${']'.repeat(5000)}`, true],
])('a body that names %s is about them: %#', (_, body, isAboutThem) => {
  expect(namesPerson(Buffer.from(body), names)).toBe(isAboutThem);
});
