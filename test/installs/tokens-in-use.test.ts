import { expect, it } from 'vitest';
import { openTokenWorld } from '../support/token-world.ts';
import { describeAnyDatabase } from '../support/tries.ts';

describeAnyDatabase('a token that was replaced', (openFresh) => {
  async function open(freshForMs: number) {
    const world = await openTokenWorld(await openFresh());
    const { registry, tokenId } = await world.open({ freshForMs });
    const command = await world.open({ drainMs: 0 });
    return { ...world, tokens: registry.tokens, tokenId, command };
  }

  it('is sent until the next look, and no longer', async () => {
    const { tokens, token, command } = await open(60_000);
    await command.rotate();
    expect(await tokens.current(token)).toBe(token);
    await tokens.look();
    expect(await tokens.current(token)).toMatch(/^ot_pat_/);
    expect(await tokens.current(token)).not.toBe(token);
  });

  it('is looked at again where it was refused, and another one is left alone', async () => {
    const { tokens, token, tokenId, command } = await open(60_000);
    const { tokenId: made } = await command.rotate();
    await command.finish();
    expect(await tokenId()).toBe(made);
    expect(await tokens.current(token, token)).not.toBe(token);
    expect(await tokens.current('ot_pat_another')).toBe('ot_pat_another');
  });
});
