import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { readTraceparent, withSpan } from '../../src/lib/tracing.ts';
import { recordSpans } from '../support/recorded-spans.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const valid = `00-${traceId}-00f067aa0ba902b7-01`;

describe('a traceparent', () => {
  it.each([
    ['sampled', valid, valid],
    ['not sampled', valid.replace(/01$/, '00'), valid.replace(/01$/, '00')],
    ['of another version', valid.replace(/^00/, '01'), null],
    ['in upper case', valid.toUpperCase(), null],
    ['with more behind it', `${valid}-more`, null],
    ['with a line behind it', `${valid}\n`, null],
    ['of no trace', valid.replace(traceId, '0'.repeat(32)), null],
    ['of no span', valid.replace('00f067aa0ba902b7', '0'.repeat(16)), null],
    ['twice', [valid, valid], null],
    ['missing', undefined, null],
  ])('%s is read strictly', (_, header, expected) => {
    expect(readTraceparent(header)).toBe(expected);
  });
});

describe('a span', () => {
  it('is none where there is no SDK: the work runs all the same', async () => {
    expect(await withSpan('work', {}, async (span) => span.context())).toBeNull();
    expect(await withSpan('work', { parent: valid }, async (span) => span.context())).toBe(valid);
    await expect(withSpan('work', {}, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });

  it('belongs to its parent, and says a failure by its code alone', async () => {
    const spans = recordSpans();
    const fail = () => Promise.reject(new AppError('forbidden', 'refused for amara@opentrain.work'));
    const inner = () => withSpan('inner', { attributes: { 'gangway.tool': 'studio' } }, fail);
    await expect(withSpan('outer', { parent: valid }, inner)).rejects.toThrow('refused');
    expect(spans.of(traceId)).toEqual([
      ['inner', 'outer'],
      ['outer', '00f067aa0ba902b7'],
    ]);
    expect(spans.attributes()).toBe(
      JSON.stringify([{ 'gangway.tool': 'studio', 'error.type': 'forbidden' }, { 'error.type': 'forbidden' }]),
    );
  });
});
