import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withProgress } from '../../src/cli/session.ts';
import { toTrouble } from '../../src/lib/troubles.ts';
import { toCheckText } from '../../src/operations/check.ts';
import { sayTrouble } from '../../src/operations/trouble.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** Runs ten steps of a quarter of a second. @returns the output on stderr */
async function workOn(shape: { isTTY?: true; columns?: number }, sayStep: (step: number) => string): Promise<string[]> {
  const stderr = Object.assign(new PassThrough(), shape);
  const written: string[] = [];
  stderr.write = (text: unknown) => written.push(String(text)) > 0;
  const { stdin, stdout } = process;
  const terminal = { stdin, stdout, stderr, signal: AbortSignal.any([]) };
  const failing = withProgress(terminal, async (onProgress) => {
    for (let step = 0; step <= 10; step += 1) {
      onProgress(sayStep(step));
      // So soon after the one before, it is not worth showing.
      onProgress('too soon');
      vi.advanceTimersByTime(250);
    }
    throw new Error('failed');
  });
  await expect(failing).rejects.toThrow('failed');
  return written;
}

const sayStep = (step: number) => `${step} of 10 installs are read`;

it('progress is a line a second without a terminal', async () => {
  expect(await workOn({}, sayStep)).toEqual(['4 of 10 installs are read\n', '8 of 10 installs are read\n']);
});

it('progress is a bar on a terminal until the work ends or fails', async () => {
  const written = await workOn({ isTTY: true, columns: 200 }, sayStep);
  expect(written).toHaveLength(12);
  expect(written[0]).toBe(`\r\u001b[K${'░'.repeat(20)} 0 of 10 installs are read`);
  expect(written[5]).toBe(`\r\u001b[K${'█'.repeat(10)}${'░'.repeat(10)} 5 of 10 installs are read`);
  expect(written.at(-1)).toBe('\r\u001b[K');
});

it('progress fits on one line of a narrow terminal', async () => {
  const written = await workOn({ isTTY: true, columns: 30 }, sayStep);
  expect(Math.max(...written.map((text) => text.replace('\r\u001b[K', '').length))).toBe(29);
});

it('progress without a total has no bar', async () => {
  const [first] = await workOn({ isTTY: true, columns: 80 }, (step) => `${step} memberships are left`);
  expect(first).toBe('\r\u001b[K0 memberships are left');
});

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

  it('a trouble has the colour of its severity', () => {
    const trouble = toTrouble({ kind: 'tool_left_alone', tool: 'studio' });
    expect(sayTrouble(trouble)).toMatch(/^ {2}down {5}\S/);
    vi.stubEnv('FORCE_COLOR', '1');
    expect(sayTrouble(trouble)).toMatch('  \u001b[31mdown   \u001b[39m  ');
  });
});
