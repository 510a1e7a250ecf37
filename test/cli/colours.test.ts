import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toTrouble } from '../../src/lib/troubles.ts';
import { toCheckText } from '../../src/operations/doctor/check.ts';
import { sayTrouble } from '../../src/operations/trouble.ts';

afterEach(() => void vi.unstubAllEnvs());

describe('on a terminal', () => {
  it.each([
    ['ok', '\u001b[32m ok \u001b[39m'],
    ['warning', '\u001b[33mwarn\u001b[39m'],
    ['failure', '\u001b[31mFAIL\u001b[39m'],
  ] as const)('the mark of a check that is %s has its colour', (status, mark) => {
    const check = { name: 'clock', status, says: 'is \u001b[31mlate', action: null };
    const pipe = new PassThrough();
    expect(toCheckText(check, pipe)).not.toContain('\u001b');
    vi.stubEnv('FORCE_COLOR', '1');
    expect(toCheckText(check, pipe)).toBe(`${mark}  clock: is late`);
    vi.stubEnv('FORCE_COLOR', '0');
    expect(toCheckText(check, pipe)).not.toContain('\u001b');
  });

  it('the severity of a trouble has its colour', () => {
    const trouble = toTrouble({ kind: 'tool_left_alone', tool: 'studio' });
    expect(sayTrouble(trouble)).toMatch(/^ {2}down {5}\S/);
    vi.stubEnv('FORCE_COLOR', '1');
    expect(sayTrouble(trouble)).toMatch('  \u001b[31mdown   \u001b[39m  ');
  });
});
