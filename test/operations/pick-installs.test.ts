import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { askEach, sayUnread } from '../../src/operations/pick-installs.ts';

describe('asking several installs', () => {
  const installs = ['acme', 'beta', 'globex'];

  async function ask(install: string): Promise<string[]> {
    if (install === 'beta') throw new AppError('unavailable', 'The marketplace refused ada@example.com');
    return [`of ${install}`];
  }

  it('lists the others if one cannot be asked, and says why without addresses', async () => {
    const answer = await askEach(installs, new AbortController().signal, ask);
    expect(answer.found).toEqual(['of acme', 'of globex']);
    expect(sayUnread(answer)).toEqual([expect.stringMatching(/^beta: The marketplace refused (?!ada@)/)]);
  });

  it('stops when it is aborted', async () => {
    await expect(askEach(installs, AbortSignal.abort(new Error('stopped')), ask)).rejects.toThrow('stopped');
  });
});
