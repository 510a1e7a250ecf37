import { expect, it } from 'vitest';
import { type RotateDeps, resumeRotation, rotateToken } from '../../../src/installs/tokens/rotate-token.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import type { Source } from '../../../src/sources/source.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { openTokenWorld, type Process, signal } from '../../support/token-world.ts';
import { describeAnyDatabase, isThorough } from '../../support/tries.ts';

const leaseMs = 120_000;
/** The old token has run dry, and every request that was given up has arrived. */
const longMs = 120_000;

/** At a desk, a third of the moments. */
const step = isThorough ? 1 : 3;

class Killed extends Error {}

/** Dies at the nth moment before or after a call to the marketplace or to the database, and does nothing more. */
function killAt(moment: number) {
  const life = { moments: 0, isOver: false };
  const pass = () => {
    life.moments += 1;
    if (life.moments === moment) life.isOver = true;
    if (life.isOver) throw new Killed();
  };
  const around = <T extends object>(parts: T, names: readonly (keyof T)[]): T => ({
    ...parts,
    ...Object.fromEntries(
      names.map((name) => [
        name,
        async (...given: unknown[]) => {
          pass();
          const answer: unknown = await (parts[name] as (...all: unknown[]) => unknown)(...given);
          pass();
          return answer;
        },
      ]),
    ),
  });
  return { life, around };
}

const calls: readonly (keyof Source)[] = ['readGrant', 'listTokens', 'createToken', 'revokeToken', 'listContracts'];

function mortal({ deps }: Process, moment: number): { deps: RotateDeps; life: { moments: number; isOver: boolean } } {
  const { life, around } = killAt(moment);
  const { registry, rotations, locks } = deps;
  return {
    life,
    deps: {
      ...deps,
      rotations: around(rotations, Object.keys(rotations) as (keyof typeof rotations)[]),
      locks: around(locks, ['hold', 'release']),
      registry: { ...registry, openWith: (...given) => around(registry.openWith(...given), calls) },
    },
  };
}

describeAnyDatabase('a rotation that is killed', (openFresh) => {
  it.each(['the same command', 'a running bridge'])('at any moment is finished by %s', async (resumedBy) => {
    const clock = createFakeClock(new Date().toISOString());
    const world = await openTokenWorld(await openFresh(), clock);
    const { registry, tokenId } = await world.open();
    let moment = 0;
    for (let isOver = true; isOver; ) {
      moment += step;
      const [old] = world.active();
      const dying = mortal(await world.open(), moment);
      await rotateAll(dying.deps, clock).catch((error: unknown) => {
        if (!dying.life.isOver) throw error;
      });
      isOver = dying.life.isOver;
      // Whatever was left behind: the install has a token that works, and at most one that it does not need.
      const used = await (await world.open()).tokenId();
      expect([moment, world.active().some(({ id }) => id === used), world.active().length <= 2]).toEqual([
        moment,
        true,
        true,
      ]);

      clock.advance(leaseMs);
      const { deps } = await world.open();
      const wasBegun = (await deps.rotations.find(world.accountId)) !== undefined;
      if (resumedBy === 'the same command') await rotateAll(deps, clock);
      else await resumeAll(deps, clock);
      const [left, ...unneeded] = world.active();
      expect([moment, unneeded, await deps.rotations.find(world.accountId)]).toEqual([moment, [], undefined]);
      if (wasBegun) expect(left?.id).not.toBe(old?.id);
      await registry.load();
      expect(await tokenId()).toBe(left?.id);
    }
    expect(moment).toBeGreaterThan(40);
    expect(world.tokens().filter(({ refused }) => refused > 0)).toEqual([]);
  });
});

/** As the command does it: up to where the new token counts, then until the old one is revoked. */
async function rotateAll(deps: RotateDeps, clock: FakeClock): Promise<void> {
  const by = { actor: 'ops', at: toInstant(clock.now()) };
  await rotateToken(deps, 'own', { keep: [], by }, signal);
  await resumeAll(deps, clock);
}

async function resumeAll(deps: RotateDeps, clock: FakeClock): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    for (const grantId of await deps.rotations.listDue(toInstant(clock.now()))) {
      await resumeRotation(deps, grantId, signal);
    }
    clock.advance(longMs);
  }
}
